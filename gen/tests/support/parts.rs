//! Parts of accelerators that stand in no catalogue, and their proofs.

use hdl::accelerators::kelle::{ArrayTurns, AttentionSpec, ImportanceUnit, KelleSpec, RecomputeSlots, TokenList};
use hdl::accelerators::kllm::{CodebookLoader, FactorRing, KllmSpec, TokenReader};
use hdl::accelerators::tender::{StripWalker, TurnBuffer};
use hdl::blocks::common::shell::{CommandList, OperationController};
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::lang::{Block, Design, elaborate};

/// A proof of a part.
pub struct Part {
    pub name: &'static str,
    pub design: Box<dyn Fn() -> Design + Send + Sync>,
    pub depth: u32,
    pub cover_depth: u32,
    pub induction: bool,
    /// It takes over ten seconds.
    pub long: bool,
}

fn part<B: Block + Send + Sync + 'static>(block: B, depth: u32, cover_depth: u32, induction: bool) -> Part {
    let design = Box::new(move || elaborate(&block).unwrap());
    Part { name: B::ABOUT.name, design, depth, cover_depth, induction, long: !induction }
}

/// All of them; buses are so wide that a row is a beat.
pub fn all() -> Vec<Part> {
    let axi = |data_width| AxiSpec { address_width: 32, data_width, id_width: 1 };
    let spec = |inputs, outputs| KllmSpec {
        lanes: 1,
        columns: 32,
        inputs,
        centroid_bits: 2,
        buffer: 2,
        depth: 2,
        kmax: 1,
        outputs,
        ..KllmSpec::default()
    };
    let heads = |heads, slots| {
        let spec = KelleSpec { axi: axi(32), rows: 2, columns: 2, tokens: 2, inner: 2, ..KelleSpec::default() };
        AttentionSpec {
            spec,
            heads,
            slots,
            width: 2,
            group: 1,
            score_width: 2,
            amount_width: 2,
            banks: 1,
            ..AttentionSpec::default()
        }
    };
    let turn = TurnBuffer { banks: 4, lanes: 2, columns: 32, ..TurnBuffer::default() };
    let strips = StripWalker { axi: axi(32), dma: DmaSpec::default(), rows: 4, turn };
    vec![
        part(CommandList { dmas: 2, times: 3, commands: 2 }, 10, 14, true),
        Part {
            long: true,
            ..part(OperationController { axi: axi(32), operands: 1, ..OperationController::default() }, 6, 28, true)
        },
        Part { long: true, ..part(CodebookLoader { axi: axi(32), spec: spec(2, 1) }, 8, 8, true) },
        part(FactorRing { axi: axi(1024), spec: spec(2, 16) }, 11, 16, false),
        part(TokenReader { axi: axi(64), spec: spec(2, 1) }, 9, 14, false),
        part(strips, 8, 10, false),
        part(ArrayTurns {}, 8, 8, true),
        part(TokenList { spec: heads(2, 2) }, 8, 14, true),
        part(RecomputeSlots { spec: AttentionSpec { recompute: 2, ..heads(2, 2) } }, 10, 16, true),
        part(ImportanceUnit { spec: AttentionSpec { group: 2, ..heads(1, 3) } }, 12, 20, true),
    ]
}
