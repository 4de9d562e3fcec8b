//! The engine for heads, between the shell's streams: controller, sequencer, cache, lists, evictor, softmax, and the
//! array.

mod asked;
mod ends;
mod hardware;
mod parts;

use super::attention_operation::AttentionOperation;
use super::attention_spec::AttentionSpec;
use super::attention_sums::AttentionSums;
use super::head_operations::{ClearOperation, RecomputeOperation, RefreshOperation, RestoreOperation, SaveOperation};
use super::integer_lanes::IntegerLane;
use super::retention_ports::RetentionPorts;
use super::sum_lanes::SumLane;
use super::token_saver::FRONT_BYTES;
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::blocks::common::bus::DmaSpec;
use crate::blocks::common::shell::OperationController;
use crate::blocks::kelle::{ArrayResult, ArrayRow, ArrayStep};
use crate::lang::operation::{Opcode, OperationBlock};
use crate::lang::{
    Group, In, InArray, InStream, Out, OutOption, OutStream, bit, bits_for, parameters, ports, sint, uint,
};

/// Numbers of the operations.
mod opcode {
    pub(super) const ATTENTION: u32 = 2;
    pub(super) const CLEAR: u32 = 4;
    pub(super) const REFRESH: u32 = 5;
    pub(super) const SAVE: u32 = 6;
    pub(super) const RESTORE: u32 = 7;
    pub(super) const RECOMPUTE: u32 = 8;
}

parameters! {
    /// Elaboration parameters.
    pub struct AttentionEngine {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
        /// Lowest high score after a reset.
        threshold: u32 = 16, in 0..=65_535, note "below 2^spec.score_width", tag "t";
        /// How an fp16 number becomes an integer.
        integer: IntegerLane = IntegerLane::default();
        /// How a sum becomes an fp16 number; as wide as the array's sums.
        sum: SumLane = SumLane::default();
        /// Operations overlap: this one waits for those of other engines. Others use the array meanwhile.
        overlaps: bool = false, tag "overlaps";
    }
    rules = |p, rules| {
        let top = (1u64 << p.spec.score_width) - 1;
        rules.demand(u64::from(p.threshold) <= top, "threshold", p.threshold, format!("0 to {top}"));
        let width = u64::from(p.spec.width);
        let saved = if p.spec.save { u64::from(FRONT_BYTES) + 4 * width } else { 0 };
        p.dma.demand_row(rules, saved.max(2 * u64::from(p.spec.group) * width));
        rules.part("dma", &p.controller());
        rules.part("spec", &p.spec.walk());
        rules.part("sum", &p.sums());
    };
}

impl AttentionEngine {
    /// Read DMAs: queries, keys, values.
    pub const READERS: u32 = 3;

    /// Its operations, also where a build lacks the part for one: software has the same tables for every build.
    #[must_use]
    pub fn operations(&self) -> Vec<Opcode> {
        let mut save = self.save_operation().layout();
        save.meaning += " Only in builds that save.";
        let mut restore = self.restore_operation().layout();
        restore.meaning += " Only in builds that save.";
        let mut recompute = self.recompute_operation().layout();
        recompute.meaning += " Only in builds with recomputation.";
        let all = [
            ("attention", opcode::ATTENTION, self.attention().layout()),
            ("clear", opcode::CLEAR, self.clear().layout()),
            ("refresh", opcode::REFRESH, self.refresh().layout()),
            ("save", opcode::SAVE, save),
            ("restore", opcode::RESTORE, restore),
            ("recompute", opcode::RECOMPUTE, recompute),
        ];
        all.map(|(name, number, layout)| Opcode { name: name.into(), number, layout }).into()
    }

    fn attention(&self) -> AttentionOperation {
        let AttentionSpec { heads, slots, group, width, recompute, .. } = self.spec;
        AttentionOperation { heads, slots, group, width, recompute }
    }

    fn clear(&self) -> ClearOperation {
        ClearOperation { heads: self.spec.heads }
    }

    fn refresh(&self) -> RefreshOperation {
        let AttentionSpec { score_width, interval_width, .. } = self.spec;
        RefreshOperation { rows: self.spec.rows(), score_width, interval_width }
    }

    fn save(&self) -> Option<SaveOperation> {
        self.spec.save.then(|| self.save_operation())
    }

    fn save_operation(&self) -> SaveOperation {
        let AttentionSpec { heads, slots, width, .. } = self.spec;
        SaveOperation { heads, slots, width }
    }

    fn restore(&self) -> Option<RestoreOperation> {
        self.spec.save.then(|| self.restore_operation())
    }

    fn restore_operation(&self) -> RestoreOperation {
        let AttentionSpec { heads, slots, width, .. } = self.spec;
        RestoreOperation { heads, slots, width }
    }

    fn recompute(&self) -> Option<RecomputeOperation> {
        (self.spec.recompute > 0).then(|| self.recompute_operation())
    }

    /// With a slot at least: a build without recomputation shows its table, too.
    fn recompute_operation(&self) -> RecomputeOperation {
        let AttentionSpec { heads, slots, recompute, .. } = self.spec;
        RecomputeOperation { heads, slots, recompute: recompute.max(1) }
    }

    fn controller(&self) -> OperationController {
        let of = OperationController::of(&self.spec.spec.axi, &self.dma, Self::READERS);
        OperationController { waits: self.overlaps, ..of }
    }

    fn sums(&self) -> AttentionSums {
        AttentionSums { spec: self.spec.clone(), integer: self.integer.clone(), sum: self.sum.clone() }
    }
}

ports! {
    /// Ports of [`AttentionEngine`].
    pub struct AttentionEnginePorts(p: &AttentionEngine) {
        /// To the shell. The DMAs read queries, keys, values. An abort empties the head of an operation of attention.
        /// Scores and results that are infinite or no number are not exact.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), p.spec.spec.lanes()),
        /// Empties all heads.
        forget_i: In = bit(),
        /// The array is to be cleared.
        clear_array_o: OutOption = bit().when(!p.overlaps),
        /// For one cycle: an operation is taken that uses the array.
        takes_o: OutOption = bit().when(p.overlaps),
        /// For one cycle: it has ended without an error.
        leaves_o: OutOption = bit().when(p.overlaps),
        /// Numbers that were saturated in this cycle.
        saturations_o: Out = uint(bits_for(p.spec.spec.lanes().into())),
        /// For one cycle: a token had to go.
        evicts_o: Out = bit(),
        /// Rows that were refreshed in this cycle, of all groups of banks.
        refreshes_o: Out = uint(3),
        /// An access to the cache waits for a refresh in this cycle.
        stalls_o: Out = bit(),
        /// Retention model: the cells, and the accesses to them.
        retention: Group<RetentionPorts, AttentionSpec> = p.spec.clone(),
        /// Rows of weights to the array.
        load: OutStream<ArrayRow> = p.spec.spec.array(),
        /// Steps of the array.
        step: OutStream<ArrayStep> = p.spec.spec.array(),
        /// Results of the array.
        result: InStream<ArrayResult> = p.spec.spec.array(),
        /// A row of the array has a sum.
        row_valid_i: InArray = bit().array(p.spec.spec.rows),
        /// The sum.
        row_sum_i: InArray = sint(p.spec.spec.accumulator_width).array(p.spec.spec.rows),
    }
}
