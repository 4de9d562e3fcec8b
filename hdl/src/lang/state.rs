//! State machines and memories.

use std::panic::Location;

use super::context::with;
use super::error::Loc;
use super::ir::{FsmIr, Item, MemoryIr, MemoryRead, MemoryWrite, NetKind, Op};
use super::module::Module;
use super::signal::{Operand, Signal, Want, build};
use super::types::{MAX_ELEMENTS, MAX_WIDTH, Type, bit, index_width, uint};

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
                e.claim(&format!("{name}_{}", s.to_ascii_lowercase()), loc);
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
            let next_signal = e.read(next, None);
            e.item(Item::Register { net: state, next: next_signal.node, enable: None, loc });
            (id, e.read(state, None), next_signal)
        });
        let dead = Signal { serial: u32::MAX, node: 0, ty };
        let (id, state, next) = made.unwrap_or((0, dead, dead));
        Fsm { id, state, next }
    }
}

impl Fsm {
    fn position(self, name: &str, loc: Loc) -> Option<usize> {
        with(|e| {
            if !e.admit(self.state, loc) {
                return None;
            }
            let fsm = &e.top().ir.fsms[self.id as usize];
            let at = fsm.states.iter().position(|s| s == name);
            if at.is_none() && !fsm.states.is_empty() {
                let message = format!("`{}` has no state `{name}`; its states are {}", fsm.name, fsm.states.join(", "));
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
                if e.is_not_a_bit(c) {
                    let c = e.describe(c);
                    e.error(loc, format!("a transition's condition is one unsigned bit, not {c}"));
                    return;
                }
                let ir = &e.current().ir;
                let home = ir.net(ir.fsms[self.id as usize].state).scope;
                if !e.reaches(c, home, "state machine", loc) {
                    return;
                }
                e.last_mention(home, &Item::Fsm(self.id));
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
    serial: u32,
    id: u32,
    depth: u32,
    width: u32,
    granule: u32,
}

impl Module {
    /// A memory of `depth` words of `width` bits, written in units of `granule` bits (the whole word when equal).
    /// Contents are unknown until written. Yosys maps it to block RAM; for a vendor macro place an [`ExternalModule`](super::ExternalModule) instead.
    #[track_caller]
    pub fn memory(&mut self, name: &str, depth: u32, width: u32, granule: u32) -> Memory {
        let loc = Location::caller();
        let id = with(|e| {
            let name = e.claim(name, loc);
            let depths = 2..=MAX_ELEMENTS;
            if !depths.contains(&depth) {
                e.error(loc, format!("memory `{name}` has depth {depth}, allowed: 2 to {MAX_ELEMENTS}"));
            }
            if !(1..=MAX_WIDTH).contains(&width) {
                e.error(loc, format!("memory `{name}` has width {width}, allowed: 1 to {MAX_WIDTH}"));
            } else if granule == 0 || !width.is_multiple_of(granule) {
                e.error(
                    loc,
                    format!("memory `{name}` has write granule {granule}, which does not divide its width {width}"),
                );
            }
            e.top().ir.clocked = true;
            let b = e.top();
            let id = b.ir.memories.len() as u32;
            let scope = b.scope;
            b.ir.memories.push(MemoryIr { name, depth, width, granule, scope, writes: vec![], reads: vec![] });
            e.item(Item::Memory(id));
            (id, e.top().serial)
        });
        let (id, serial) = id.unwrap_or((0, u32::MAX));
        Memory { serial, id, depth, width: width.clamp(1, MAX_WIDTH), granule: granule.max(1) }
    }
}

impl Memory {
    /// Address type of the memory.
    #[must_use]
    pub fn address_type(self) -> Type {
        uint(index_width(u64::from(self.depth)))
    }

    /// The node of a signal at one of the memory's ports, when memory and signal suit each other.
    fn check(self, what: &str, signal: Signal, ty: Type, loc: Loc) -> Option<u32> {
        with(|e| {
            if e.current().serial != self.serial {
                return None;
            }
            let s = signal.signal(e, Want::Exactly(ty), loc);
            let memory = &e.current().ir.memories[self.id as usize];
            let (name, home) = (memory.name.clone(), memory.scope);
            if s.ty != ty && e.differ(s, Signal { ty, ..s }) {
                let got = e.describe(s);
                e.error(loc, format!("{what} of memory `{name}` is {ty}, not {got}"));
            }
            e.reaches(s, home, "memory", loc).then(|| {
                e.last_mention(home, &Item::Memory(self.id));
                s.node
            })
        })
        .flatten()
    }

    /// The node of an address. A constant past the end is a mistake.
    fn check_address(self, what: &str, signal: Signal, loc: Loc) -> Option<u32> {
        let node = self.check(what, signal, self.address_type(), loc)?;
        with(|e| {
            let ir = &e.current().ir;
            if let Op::Literal(at) = &ir.node(node).op
                && *at >= self.depth.into()
            {
                let (name, last) = (&ir.memories[self.id as usize].name, self.depth - 1);
                e.error(loc, format!("{what} {at} is outside of memory `{name}`; its words are 0 to {last}"));
            }
        });
        Some(node)
    }

    /// Reports a memory of another module.
    fn admit(self, loc: Loc) -> bool {
        let admitted = with(|e| {
            let same = e.current().serial == self.serial;
            if !same {
                let here = e.current().ir.name.clone();
                e.error(loc, format!("a memory of another module is used inside {here}"));
            }
            same
        });
        admitted == Some(true)
    }

    /// Writes `data` at `address` on rising clock edges, each granule where its bit of `enable` is high. Addresses past
    /// the end of the memory are not written. Two ports must not write one granule in the same cycle: each port has an
    /// `always` block of its own, and the simulator chooses which one runs last.
    #[track_caller]
    pub fn write(self, enable: Signal, address: Signal, data: Signal) {
        let loc = Location::caller();
        if !self.admit(loc) {
            return;
        }
        let enable = self.check("the write enable", enable, uint((self.width / self.granule).max(1)), loc);
        let address = self.check_address("the write address", address, loc);
        let data = self.check("the write data", data, uint(self.width), loc);
        if let (Some(enable), Some(address), Some(data)) = (enable, address, data) {
            with(|e| e.top().ir.memories[self.id as usize].writes.push(MemoryWrite { enable, address, data }));
        }
    }

    /// Word at `address`, one cycle after `enable`; held while `enable` is low. A write to the same address in the
    /// same cycle does not show (read first).
    #[track_caller]
    pub fn read(self, name: &str, enable: Signal, address: Signal) -> Signal {
        let loc = Location::caller();
        self.read_port(name, Some(enable), address, loc)
    }

    /// Word at `address` in the same cycle (a register file).
    #[track_caller]
    pub fn read_async(self, name: &str, address: Signal) -> Signal {
        self.read_port(name, None, address, Location::caller())
    }

    fn read_port(self, name: &str, enable: Option<Signal>, address: Signal, loc: Loc) -> Signal {
        let ty = uint(self.width);
        if !self.admit(loc) {
            return build(loc, ty, |e| e.poison(ty));
        }
        let enable = enable.map(|s| self.check("the read enable", s, bit(), loc));
        let address = self.check_address("the read address", address, loc);
        build(loc, ty, |e| {
            let (Some(address), Some(enable)) = (address, enable.map_or(Some(None), |e| e.map(Some))) else {
                return e.poison(ty);
            };
            // The read data lives where the memory does, also when a loop or formal section asks for it.
            let home = e.current().ir.memories[self.id as usize].scope;
            let here = std::mem::replace(&mut e.top().scope, home);
            let net = e.net(name, ty, NetKind::MemoryRead, None, loc);
            e.top().scope = here;
            e.top().ir.memories[self.id as usize].reads.push(MemoryRead { net, address, enable });
            e.read(net, None)
        })
    }
}
