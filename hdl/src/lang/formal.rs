//! Checks for the prover: the formal section of a module.

use std::panic::Location;

use super::checks;
use super::context::with;
use super::error::Loc;
use super::ir::{CheckKind, Item, Op, Scope, ScopeKind};
use super::module::Module;
use super::signal::{Operand, Signal, Want};
use super::types::bit;

impl Module {
    /// Proofs of this module leave the outputs of an instance free: they hold for every module that does what the
    /// formal section assumes. A proof of the placed module has to show that it does so.
    #[track_caller]
    pub fn free_in_proofs(&mut self, instance: &str) {
        let loc = Location::caller();
        with(|e| match e.top().ir.instances.iter_mut().find(|placed| placed.name == instance) {
            Some(placed) => placed.free = true,
            None => e.error(loc, format!("there is no instance `{instance}` to leave free in proofs")),
        });
    }

    /// A section that exists for formal verification only (`ifdef FORMAL`): put checks and helper registers in it.
    #[track_caller]
    pub fn formal(&mut self, body: impl FnOnce(&mut Module)) {
        self.formal_section(body);
    }

    /// A formal section that exists only where this module is the top of the proof (`ifdef FORMAL_ALONE`). It is for
    /// checks that assume more of the environment than the contract does, such as beats that carry their numbers.
    /// Inside another block such an assumption would be false, and would make that block's proof worthless.
    #[track_caller]
    pub fn formal_alone(&mut self, body: impl FnOnce(&mut Module)) {
        with(|e| e.top().ir.formal_alone = true);
        self.formal_section(body);
    }

    #[track_caller]
    fn formal_section(&mut self, body: impl FnOnce(&mut Module)) {
        let loc = Location::caller();
        let opened = with(|e| {
            let b = e.top();
            if b.ir.scopes.iter().any(|s| s.kind == ScopeKind::Formal) {
                e.error(loc, "the module has a formal section already: all checks go into one");
                return None;
            }
            // The section watches the module's clock; registers inside it do not make the module clocked.
            let parent = b.scope;
            b.ir.scopes.push(Scope { kind: ScopeKind::Formal, parent: Some(parent), items: vec![] });
            b.scope = b.ir.scopes.len() as u32 - 1;
            Some((parent, b.scope, b.ir.clocked, b.ir.reset))
        });
        let Some((parent, scope, clocked, reset)) = opened.flatten() else { return };
        body(self);
        with(|e| {
            let b = e.top();
            b.scope = parent;
            if (b.ir.clocked, b.ir.reset) != (clocked, reset) && !(clocked && reset) {
                e.error(loc, "a formal section has registers but the module has no register with a reset");
            }
            e.item(Item::Loop(scope));
        });
    }

    /// Asserts `condition` at every rising clock edge out of reset. Printed under `ifdef FORMAL`.
    #[track_caller]
    pub fn assert_always(&mut self, name: &str, condition: Signal) {
        check(CheckKind::Assert, name, condition, Location::caller());
    }

    /// Assumes `condition` of the environment (proofs only).
    #[track_caller]
    pub fn assume(&mut self, name: &str, condition: Signal) {
        check(CheckKind::Assume, name, condition, Location::caller());
    }

    /// Asks the prover for a run in which `condition` holds: shows that the assertions are not vacuous.
    #[track_caller]
    pub fn cover(&mut self, name: &str, condition: Signal) {
        check(CheckKind::Cover, name, condition, Location::caller());
    }
}

fn check(kind: CheckKind, name: &str, condition: Signal, loc: Loc) {
    with(|e| {
        let c = condition.signal(e, Want::Exactly(bit()), loc);
        if e.is_not_a_bit(c) {
            let c = e.describe(c);
            e.error(loc, format!("a check's condition is one unsigned bit, not {c}"));
            return;
        }
        let b = e.top();
        if !checks::in_formal(&b.ir, b.scope) {
            e.error(loc, format!("check `{name}` stands outside of a formal section; put it in `m.formal(|m| ...)`"));
        }
        if let Op::Literal(value) = &e.current().ir.node(c.node).op {
            let (what, value) = (kind.word(), value.clone());
            e.error(loc, format!("{what} `{name}` is the constant {value}: it says nothing with these parameters; leave it out for them"));
            return;
        }
        let name = e.claim(name, loc);
        e.item(Item::Check { kind, name, condition: c.node });
    });
}
