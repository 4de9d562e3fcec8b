//! State machines and memories.

use std::panic::Location;

use super::context::with;
use super::error::Loc;
use super::ir::{FsmIr, Item, MemoryIr, MemoryRead, MemoryWrite, NetKind, Op};
use super::module::Module;
use super::signal::{Operand, Signal, Want, build};
use super::types::{Type, bit, index_width, uint};

/// A state machine with named states; the first is the reset state.
#[derive(Clone, Copy, Debug)]
pub struct Fsm {
    id: u32,
    state: Signal,
    next: Signal,
}

impl Module {
    /// Declares a state machine: registers `<name>_q`, next state `<name>_d`, one constant per state.
    #[track_caller]
    pub fn fsm(&mut self, name: &str, states: &[&str]) -> Fsm {
        let loc = Location::caller();
        let ty = uint(index_width(states.len() as u64));
        let made = with(|e| {
            if states.is_empty() {
                e.error(loc, format!("the state machine `{name}` has no states"));
            }
            e.top().ir.clocked = true;
            e.top().ir.reset = true;
            let state = e.net(&format!("{name}_q"), ty, NetKind::Register { init: Some(0.into()) }, None, loc);
            let next = e.net(&format!("{name}_d"), ty, NetKind::Wire { inline: false }, None, loc);
            for s in states {
                e.claim(&format!("{name}_{}", s.to_lowercase()), loc);
            }
            let b = e.top();
            let id = b.ir.fsms.len() as u32;
            b.ir.fsms.push(FsmIr {
                name: name.into(),
                states: states.iter().map(|s| (*s).to_string()).collect(),
                state,
                next,
                transitions: vec![],
            });
            e.item(Item::Fsm(id));
            let next_signal = e.push(Op::Net(next, None), ty);
            e.item(Item::Register { net: state, next: next_signal.node, enable: None });
            (id, e.push(Op::Net(state, None), ty), next_signal)
        });
        let dead = Signal { serial: u32::MAX, node: 0, ty };
        let (id, state, next) = made.unwrap_or((0, dead, dead));
        Fsm { id, state, next }
    }
}

impl Fsm {
    fn position(self, name: &str, loc: Loc) -> Option<usize> {
        with(|e| {
            let fsm = &e.top().ir.fsms[self.id as usize];
            let at = fsm.states.iter().position(|s| s == name);
            if at.is_none() {
                let message = format!("`{}` has no state {name}; its states are {}", fsm.name, fsm.states.join(", "));
                e.error(loc, message);
            }
            at
        })
        .flatten()
    }

    /// High while in `state`.
    #[track_caller]
    #[must_use]
    pub fn is(self, state: &str) -> Signal {
        let loc = Location::caller();
        let at = self.position(state, loc).unwrap_or(0);
        self.state.eq(at)
    }

    /// High in the last cycle before `state` is entered or kept.
    #[track_caller]
    #[must_use]
    pub fn next_is(self, state: &str) -> Signal {
        let loc = Location::caller();
        let at = self.position(state, loc).unwrap_or(0);
        self.next.eq(at)
    }

    /// In state `from`, go to `to` when `condition` holds; earlier transitions have priority.
    #[track_caller]
    pub fn goto(self, from: &str, condition: impl Operand, to: &str) {
        let loc = Location::caller();
        if let (Some(from), Some(to)) = (self.position(from, loc), self.position(to, loc)) {
            with(|e| {
                let c = condition.signal(e, Want::Exactly(bit()), loc);
                if c.ty != bit() {
                    let c = e.describe(c);
                    e.error(loc, format!("a transition's condition is one unsigned bit, not {c}"));
                    return;
                }
                let b = e.top();
                let always = b.ir.node(c.node).op == Op::Literal(1.into());
                let condition = (!always).then_some(c.node);
                b.ir.fsms[self.id as usize].transitions.push((from, condition, to));
            });
        }
    }
}

/// A memory: one or more write ports, any number of read ports.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    id: u32,
    depth: u32,
    width: u32,
    granule: u32,
}

impl Module {
    /// A memory of `depth` words of `width` bits, written in units of `granule` bits (the whole word when equal).
    /// Contents are unknown until written. Yosys maps it to block RAM; `common::Ram` can make it a black box.
    #[track_caller]
    pub fn memory(&mut self, name: &str, depth: u32, width: u32, granule: u32) -> Memory {
        let loc = Location::caller();
        let id = with(|e| {
            let name = e.claim(name, loc);
            if depth < 2 || width == 0 || granule == 0 || width % granule != 0 {
                e.error(
                    loc,
                    format!(
                        "memory `{name}`: depth {depth} (at least 2), width {width}, write granule {granule} (a divisor of the width)"
                    ),
                );
            }
            e.top().ir.clocked = true;
            let b = e.top();
            let id = b.ir.memories.len() as u32;
            b.ir.memories.push(MemoryIr { name, depth, width, granule, writes: vec![], reads: vec![] });
            e.item(Item::Memory(id));
            id
        });
        Memory { id: id.unwrap_or(0), depth, width, granule: granule.max(1) }
    }
}

impl Memory {
    /// Address type of the memory.
    #[must_use]
    pub fn address_type(self) -> Type {
        uint(index_width(u64::from(self.depth)))
    }

    fn check(self, what: &str, signal: Signal, ty: Type, loc: Loc) -> u32 {
        let checked = with(|e| {
            let s = signal.signal(e, Want::Exactly(ty), loc);
            if s.ty != ty {
                let got = e.describe(s);
                e.error(loc, format!("{what} of a memory is {ty}, not {got}"));
            }
            s.node
        });
        checked.unwrap_or(0)
    }

    /// Writes `data` at `address` on rising clock edges, each granule where its bit of `enable` is high.
    #[track_caller]
    pub fn write(self, enable: Signal, address: Signal, data: Signal) {
        let loc = Location::caller();
        let enable = self.check("the write enable", enable, uint(self.width / self.granule), loc);
        let address = self.check("the write address", address, self.address_type(), loc);
        let data = self.check("the write data", data, uint(self.width), loc);
        with(|e| e.top().ir.memories[self.id as usize].writes.push(MemoryWrite { enable, address, data }));
    }

    /// Word at `address`, one cycle after `enable`; held while `enable` is low. A write to the same address in the
    /// same cycle does not show (read first).
    #[track_caller]
    pub fn read(self, name: &str, enable: Signal, address: Signal) -> Signal {
        let loc = Location::caller();
        let enable = self.check("the read enable", enable, bit(), loc);
        self.read_port(name, Some(enable), address, loc)
    }

    /// Word at `address` in the same cycle (a register file).
    #[track_caller]
    pub fn read_async(self, name: &str, address: Signal) -> Signal {
        self.read_port(name, None, address, Location::caller())
    }

    fn read_port(self, name: &str, enable: Option<u32>, address: Signal, loc: Loc) -> Signal {
        let address = self.check("the read address", address, self.address_type(), loc);
        let ty = uint(self.width);
        build(ty, |e| {
            let net = e.net(name, ty, NetKind::MemoryRead, None, loc);
            e.top().ir.memories[self.id as usize].reads.push(MemoryRead { net, address, enable });
            e.push(Op::Net(net, None), ty)
        })
    }
}
