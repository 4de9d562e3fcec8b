//! How an operation on heads goes on and ends: heads that are emptied, a token that gets a slot.

use super::super::head_wiper::HeadWiperPorts;
use super::super::recompute_slots::{RecomputeSlots, RecomputeSlotsPorts};
use super::asked::Asked;
use super::{AttentionEngine, AttentionEnginePorts};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{OperationControllerPorts, Own, first_error};
use crate::lang::{Module, Signal, bit, mux, or_all};

/// The three cycles in which a token gets a slot.
pub(super) struct Keeper {
    /// The row of the token at `position` is looked for.
    pub seek: Signal,
    pub position: Signal,
    /// The row is here: score and slot are to be looked at.
    pub look: Signal,
    /// The last cycle.
    last: Signal,
    /// In it: the token has a slot, or the slot is in use.
    taken: Signal,
    /// In it: the token gets `slot`, and its key and value go.
    pub keep: Signal,
    pub slot: Signal,
}

impl AttentionEngine {
    /// A token gets a slot: its row is looked for, then its slot, if it has one.
    pub(super) fn keep(
        &self,
        m: &mut Module,
        asked: &Asked,
        (controller, abort): (&OperationControllerPorts, Signal),
        slots: &RecomputeSlotsPorts,
    ) -> Option<Keeper> {
        let (keeps, recompute) = asked.keeps.as_ref()?;
        m.comment("A token gets a slot: its row is looked for, then its slot, if it has one.");
        let turn = m.fsm("keep", &["Rest", "Seek", "Look", "Keep"]);
        for from in ["Rest", "Seek", "Look", "Keep"] {
            turn.goto(from, abort, "Rest");
        }
        turn.goto("Rest", controller.begin_o & *keeps, "Seek");
        for (from, to) in [("Seek", "Look"), ("Look", "Keep"), ("Keep", "Rest")] {
            turn.goto(from, bit().lit(1), to);
        }
        let in_use = RecomputeSlots { spec: self.spec.clone() }.holds(slots.held_o, recompute.slot);
        let last = m.wire("keep_ends", turn.is("Keep"));
        let taken = m.wire("slot_is_taken", slots.kept_o | in_use);
        Some(Keeper {
            seek: turn.is("Seek"),
            position: recompute.position,
            look: turn.is("Look"),
            last,
            taken,
            keep: m.wire("keep", last & !taken & !abort),
            slot: recompute.slot,
        })
    }

    /// Empties the heads asked for, or the head to which tokens come if the operation fails or is dropped.
    pub(super) fn wipe(
        &self,
        m: &mut Module,
        io: &AttentionEnginePorts,
        (asked, controller): (&Asked, &OperationControllerPorts),
        wiper: &HeadWiperPorts,
    ) {
        let abort = io.shell.abort_i;
        let empties = m.wire("empties", controller.begin_o & asked.clears & !abort);
        let loses = m.wire("loses", (controller.failed_o | (controller.runs_o & abort)) & asked.fills);
        m.connect(wiper.all_i, io.forget_i);
        m.connect(wiper.start_i, (empties | loses) & !io.forget_i);
        m.connect(wiper.first_i, mux(asked.fills, asked.head, asked.clear.first));
        m.connect(wiper.count_i, mux(asked.fills, wiper.count_i.ty().lit(1), asked.clear.heads));
    }

    /// When and how the operation ends; `tokens_done`: all tokens of attention, of a save or of a restore are done.
    /// `strange`: a saved row is not one that this build saves.
    pub(super) fn end(
        &self,
        m: &mut Module,
        (asked, controller): (&Asked, &OperationControllerPorts),
        (tokens_done, wiping, strange): (Signal, Signal, Option<Signal>),
        keeper: Option<(&RecomputeSlotsPorts, &Keeper)>,
    ) {
        m.comment("The end.");
        let own = controller.own();
        let inexact = controller.overflowed_o & asked.attention.exact & asked.attends;
        let mut done = tokens_done & !(asked.clears & wiping);
        let (mut refuse, mut result) = (own.refuse, own.result);
        if let (Some((slots, keeper)), Some((keeps, _))) = (keeper, &asked.keeps) {
            done = done & (!*keeps | keeper.last);
            result = first_error(&[(keeper.last & keeper.taken, job_error::FIELD)]);
            let again = asked.attention.again;
            let missing: Vec<Signal> = (0..self.spec.recompute).map(|k| slots.held_o.bit(k) & again.le(k)).collect();
            let missing = m.wire("does_not_come", or_all(bit(), &missing) & asked.attends);
            refuse = first_error(&[(missing, job_error::FIELD)]);
        }
        let mut fails = vec![(inexact, job_error::OVERFLOW)];
        fails.extend(strange.map(|strange| (strange, job_error::FIELD)));
        Own {
            checks: asked.moves,
            refuse,
            fail: first_error(&fails),
            done,
            result,
            settles: asked.fills,
            settled: !wiping,
            ..own
        }
        .connect(m, controller);
    }
}
