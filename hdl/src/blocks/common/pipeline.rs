//! Control of an elastic pipeline: valid bits and enables of stages that stop only when they must.
//!
//! A stage takes a new beat when it is empty, or when its beat moves on in the same cycle. So a pipeline runs at one
//! beat a cycle and closes its gaps during back-pressure. It needs no second register a stage. `ready` passes through
//! all stages within a cycle: a chain of one AND and one OR for each.

use crate::lang::{Module, Reg, Signal, bit};

/// One stage: data registers take their next value where `load` is high.
#[derive(Clone, Copy, Debug)]
pub struct PipelineStage {
    /// A beat enters the stage at the coming edge: the enable of its data registers.
    pub load: Signal,
    /// The stage holds a beat.
    pub valid: Signal,
}

/// The control of a pipeline, and whether its first stage takes a beat.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The first stage takes the beat that is offered.
    pub ready: Signal,
    /// The stages, first to last; `valid` of the last stage is `valid` of the output.
    pub stages: Vec<PipelineStage>,
}

impl Pipeline {
    /// Stages called `names`, fed by `valid`, emptied by `ready`.
    #[track_caller]
    pub fn new(m: &mut Module, names: &[&str], valid: Signal, ready: Signal) -> Self {
        let full: Vec<Reg> = names.iter().map(|n| m.reg_init(&format!("{n}_valid_q"), bit(), 0)).collect();
        let mut takes = vec![ready; names.len() + 1];
        for (i, name) in names.iter().enumerate().rev() {
            takes[i] = m.wire(&format!("{name}_ready"), !full[i].q | takes[i + 1]);
        }
        let mut offered = valid;
        let mut stages = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let load = m.wire(&format!("{name}_load"), offered & takes[i]);
            full[i].next(offered | (full[i].q & !takes[i]));
            offered = full[i].q;
            stages.push(PipelineStage { load, valid: full[i].q });
        }
        Self { ready: takes[0], stages }
    }

    /// Formal: numbers the beats that enter, lets the numbers travel with them, and asserts that they leave complete and
    /// in order. `taken` and `left` are the cycles in which a beat enters and leaves.
    #[track_caller]
    pub fn assert_order(&self, m: &mut Module, name: &str, taken: Signal, left: Signal) {
        let width = 3;
        let ty = crate::lang::uint(width);
        let entered = m.reg_init(&format!("{name}_entered_q"), ty, 0);
        entered.next_when(taken, entered.q.wrapping_add(1));
        let mut number = entered.q;
        let mut inside = ty.lit(0);
        for (i, stage) in self.stages.iter().enumerate() {
            let tag = m.reg(&format!("{name}_number_{i}_q"), ty);
            tag.next_when(stage.load, number);
            number = tag.q;
            inside = inside.wrapping_add(stage.valid.extend(width));
        }
        let gone = m.reg_init(&format!("{name}_left_q"), ty, 0);
        gone.next_when(left, gone.q.wrapping_add(1));
        let last = self.stages[self.stages.len() - 1];
        m.assert_always(&format!("{name}_in_order"), !last.valid | number.eq(gone.q));
        m.assert_always(&format!("{name}_none_lost"), entered.q.wrapping_sub(gone.q).eq(inside));
        m.cover(&format!("{name}_several_passed"), gone.q.eq(3));
    }
}

/// The value of the cycle before, in a register called `name`; unknown in the first cycle.
#[track_caller]
pub fn before(m: &mut Module, name: &str, value: Signal) -> Signal {
    let kept = m.reg(name, value.ty());
    kept.next(value);
    kept.q
}
