//! The module under construction: wires, connections, registers, choices, comments.

use std::panic::Location;

use super::context::{Elaboration, with};
use super::error::Loc;
use super::ir::{Compare, Item, NetKind, NodeId, Op, Target};
use super::signal::{Operand, Signal, Want, build, mux};
use super::types::{Type, bit};

/// The module under construction; `Block::build` receives it.
#[derive(Debug)]
pub struct Module {
    pub(crate) _private: (),
}

/// A register: `q` is its value; assign it once with [`Reg::next`] or [`Reg::next_when`].
#[derive(Clone, Copy, Debug)]
pub struct Reg {
    /// The value held since the last rising clock edge.
    pub q: Signal,
}

impl Module {
    /// Names a value. The name appears in the Verilog and in waveforms.
    #[track_caller]
    pub fn wire(&mut self, name: &str, value: impl Operand) -> Signal {
        let loc = Location::caller();
        build(loc, bit(), |e| {
            let value = value.signal(e, Want::Smallest { signed: false }, loc);
            let net = e.net(name, value.ty, NetKind::Wire { inline: true }, None, loc);
            let signal = e.read(net, None);
            e.item(Item::Drive { target: Target { net, index: None }, value: value.node, loc });
            signal
        })
    }

    /// Declares a wire that [`Module::connect`] drives later (feedback, or a driver in another place).
    #[track_caller]
    pub fn net(&mut self, name: &str, ty: Type) -> Signal {
        let loc = Location::caller();
        build(loc, ty, |e| {
            let net = e.net(name, ty, NetKind::Wire { inline: false }, None, loc);
            e.read(net, None)
        })
    }

    /// Drives an output port, an instance's input, a declared net or an array element. Types must be equal;
    /// a literal takes the target's type.
    #[track_caller]
    pub fn connect(&mut self, target: Signal, value: impl Operand) {
        connect(target, value, Location::caller());
    }

    /// Drives the first of each pair from the second.
    #[track_caller]
    pub fn connect_pairs<V: Operand>(&mut self, pairs: impl IntoIterator<Item = (Signal, V)>) {
        let loc = Location::caller();
        for (target, value) in pairs {
            connect(target, value, loc);
        }
    }

    /// Connects what some parameters leave out on both sides, such as an `InOption` port: nothing when a side has none.
    #[track_caller]
    pub fn connect_option(&mut self, target: Option<Signal>, value: Option<Signal>) {
        if let (Some(target), Some(value)) = (target, value) {
            self.connect(target, value);
        }
    }

    /// A register without reset, for data paths: its value is unknown until first written.
    #[track_caller]
    pub fn reg(&mut self, name: &str, ty: Type) -> Reg {
        register(name, ty, None, Location::caller())
    }

    /// A register that resets (asynchronously, active low `rst_ni`) to `init`.
    #[track_caller]
    pub fn reg_init(&mut self, name: &str, ty: Type, init: impl Into<num_bigint::BigInt>) -> Reg {
        register(name, ty, Some(init.into()), Location::caller())
    }

    /// Says that it is intended that nothing (or not everything) reads `signal`.
    #[track_caller]
    pub fn unused(&mut self, signal: Signal) {
        let loc = Location::caller();
        with(|e| {
            let signal = signal.signal(e, Want::Exactly(signal.ty), loc);
            let b = e.top();
            if let Op::Net(net, _) = b.ir.nodes[signal.node as usize].op {
                b.ir.nets[net as usize].unused_ok = true;
            }
        });
    }

    /// Reports a mistake that the block finds itself: elaboration fails with it.
    #[track_caller]
    pub fn error(&mut self, message: &str) {
        let loc = Location::caller();
        with(|e| e.error(loc, message));
    }

    /// A comment line in the Verilog, above the next item.
    pub fn comment(&mut self, text: &str) {
        with(|e| e.item(Item::Comment(text.into())));
    }

    /// The value at position `index` of `values`; past the end, the last one. Printed as a `case`.
    #[track_caller]
    pub fn lookup(&mut self, name: &str, index: Signal, values: &[Signal]) -> Signal {
        let loc = Location::caller();
        let ty = values.first().map_or(bit(), |v| v.ty);
        let value = build(loc, ty, |e| {
            let index = index.signal(e, Want::Exactly(index.ty), loc);
            let mut nodes: Vec<NodeId> = Vec::new();
            for &v in values {
                nodes.push(v.signal(e, Want::Exactly(ty), loc).node);
                if v.ty != ty {
                    let what = e.describe(v);
                    e.error(loc, format!("lookup of different types: the first value is {ty}, another is {what}"));
                }
            }
            let places = 1_u64.checked_shl(index.ty.width).unwrap_or(u64::MAX);
            if index.ty.signed || values.is_empty() || values.len() as u64 > places {
                e.error(
                    loc,
                    format!(
                        "lookup of {} values by an index of type {}: use an unsigned index that reaches all values",
                        values.len(),
                        index.ty
                    ),
                );
                return e.poison(ty);
            }
            // A case statement without a choice would wait for a change that never comes.
            let chosen = match &e.current().ir.node(index.node).op {
                Op::Literal(at) => usize::try_from(at).unwrap_or(usize::MAX).min(nodes.len() - 1),
                _ if nodes.iter().all(|&n| n == nodes[0]) => 0,
                // If it consists of loop variables only, there is a choice in each copy, and no change to wait for
                // either.
                _ if !e.reads_nets(nodes.iter().copied().chain([index.node])) => {
                    let mut value = nodes[nodes.len() - 1];
                    for (at, &node) in nodes.iter().enumerate().rev().skip(1) {
                        let place = e.literal(at.into(), index.ty);
                        let here = e.push(Op::Compare(Compare::Eq, index.node, place.node), bit());
                        value = e.push(Op::Mux(here.node, node, value), ty).node;
                    }
                    return Signal { node: value, ..values[0] };
                }
                _ => return e.push(Op::Lookup(index.node, nodes), ty),
            };
            e.mentioned(nodes.into_iter().chain([index.node]));
            values[chosen]
        });
        self.wire(name, value)
    }
}

impl Reg {
    /// The register takes `value` at every rising clock edge.
    #[track_caller]
    pub fn next(self, value: impl Operand) {
        self.assign(None, value, Location::caller());
    }

    /// The register takes `value` at rising clock edges where `enable` is high, and holds otherwise.
    #[track_caller]
    pub fn next_when(self, enable: Signal, value: impl Operand) {
        self.assign(Some(enable), value, Location::caller());
    }

    fn assign(self, enable: Option<Signal>, value: impl Operand, loc: Loc) {
        with(|e| {
            if !e.admit(self.q, loc) {
                return;
            }
            let Op::Net(net, None) = e.top().ir.node(self.q.node).op else { return };
            let value = value.signal(e, Want::Exactly(self.q.ty), loc);
            if e.differ(value, self.q) {
                let (q, v) = (e.describe(self.q), e.describe(value));
                let advice = Elaboration::advice(value.ty, self.q.ty);
                e.error(loc, format!("register {q} cannot take {v}; {advice}"));
                return;
            }
            let enable = enable.map(|s| s.signal(e, Want::Exactly(bit()), loc));
            if let Some(s) = enable.filter(|s| e.is_not_a_bit(*s)) {
                let s = e.describe(s);
                e.error(loc, format!("an enable is one unsigned bit, not {s}"));
                return;
            }
            if !e.may_drive(net, loc) {
                return;
            }
            e.item(Item::Register { net, next: value.node, enable: enable.map(|s| s.node), loc });
        });
    }
}

impl Operand for Reg {
    fn signal(self, e: &mut Elaboration, want: Want, loc: Loc) -> Signal {
        self.q.signal(e, want, loc)
    }
}

fn register(name: &str, ty: Type, init: Option<num_bigint::BigInt>, loc: Loc) -> Reg {
    let q = build(loc, ty, |e| {
        if let Some(value) = init.as_ref().filter(|v| !ty.fits(v)) {
            e.error(loc, format!("the reset value {value} of `{name}` does not fit {ty}"));
        }
        e.top().ir.clocked = true;
        e.top().ir.reset |= init.is_some();
        let net = e.net(name, ty, NetKind::Register { init }, None, loc);
        e.read(net, None)
    });
    Reg { q }
}

pub(crate) fn connect(target: Signal, value: impl Operand, loc: Loc) {
    with(|e| {
        let value = value.signal(e, Want::Exactly(target.ty), loc);
        if !e.admit(target, loc) {
            return;
        }
        let what = e.describe(target);
        let b = e.top();
        let Op::Net(net, index) = b.ir.node(target.node).op else {
            if b.ir.node(target.node).op != Op::Poison {
                e.error(loc, format!("connect needs a port, net or array element as its target, not {what}"));
            }
            return;
        };
        use super::ir::Direction::{Input, Output};
        let refusal = match &b.ir.net(net).kind {
            NetKind::Output | NetKind::Wire { inline: false } | NetKind::Instance { direction: Input, .. } => None,
            NetKind::Input => Some("an input of this module"),
            NetKind::Wire { inline: true } => Some("already driven where it is named; declare it with `net` instead"),
            NetKind::Register { .. } => Some("a register; use its `next`"),
            NetKind::MemoryRead => Some("read data of a memory"),
            NetKind::Instance { direction: Output, .. } => Some("an output of an instance"),
        };
        if let Some(why) = refusal {
            e.error(loc, format!("cannot drive {what}: it is {why}"));
            return;
        }
        if e.differ(value, target) {
            let v = e.describe(value);
            let advice = Elaboration::advice(value.ty, target.ty);
            e.error(loc, format!("cannot connect {v} to {what}; {advice}"));
            return;
        }
        if e.may_drive(net, loc) {
            e.item(Item::Drive { target: Target { net, index }, value: value.node, loc });
        }
    });
}

/// The value of the first condition that holds, else `default`. All values have the same type.
#[track_caller]
#[must_use]
pub fn select(choices: &[(Signal, Signal)], default: Signal) -> Signal {
    let mut value = default;
    for &(condition, choice) in choices.iter().rev() {
        value = mux(condition, choice, value);
    }
    value
}

/// OR of one-bit (or equally wide) signals; without any, the zero of `default`'s type.
#[track_caller]
#[must_use]
pub fn or_all(ty: Type, signals: &[Signal]) -> Signal {
    reduce(signals, |a, b| a | b).unwrap_or_else(|| ty.lit(0))
}

/// Combines signals in a balanced tree of depth log2 n.
#[track_caller]
pub fn reduce(signals: &[Signal], combine: impl Fn(Signal, Signal) -> Signal + Copy) -> Option<Signal> {
    match signals {
        [] => None,
        [one] => Some(*one),
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            Some(combine(reduce(left, combine)?, reduce(right, combine)?))
        }
    }
}

/// Connects signals of equal names: `connect_all!(m, u, io, [clear_i, data_i])` is `m.connect(u.clear_i, io.clear_i)`
/// and `m.connect(u.data_i, io.data_i)`. Both sides are ports, bundles or other structs of signals. Where a field is an
/// `Option<Signal>` on both sides, it is [`Module::connect_option`].
///
/// ```
/// use hdl::lang::*;
///
/// parameters! {
///     /// Elaboration parameters.
///     pub struct HalfAdder {}
/// }
/// ports! {
///     /// Ports of [`HalfAdder`].
///     pub struct HalfAdderPorts(p: &HalfAdder) {
///         /// One bit.
///         a_i: In = bit(),
///         /// The other one.
///         b_i: In = bit(),
///         /// Their sum.
///         sum_o: Out = bit(),
///         /// Its carry.
///         carry_o: Out = bit(),
///     }
/// }
/// struct Sum {
///     sum_o: Signal,
///     carry_o: Signal,
/// }
/// impl Block for HalfAdder {
///     type Ports = HalfAdderPorts;
///     const ABOUT: About = About { name: "half_adder", summary: "a sum", contract: "Of two bits.", reference: "" };
///     fn build(&self, m: &mut Module, io: &HalfAdderPorts) {
///         let sum = Sum { sum_o: io.a_i ^ io.b_i, carry_o: io.a_i & io.b_i };
///         connect_all!(m, io, sum, [sum_o, carry_o]);
///     }
/// }
///
/// let verilog = &elaborate(&HalfAdder {}).unwrap().verilog()[0].text;
/// assert!(verilog.contains("assign sum_o = a_i ^ b_i;") && verilog.contains("assign carry_o = a_i & b_i;"));
/// ```
#[macro_export]
macro_rules! connect_all {
    ($module:expr, $to:expr, $from:expr, [$($name:ident),+ $(,)?]) => {
        $($crate::lang::Connect::connect($to.$name, $from.$name, $module);)+
    };
}

/// What [`connect_all!`](crate::connect_all) connects.
pub trait Connect {
    /// Drives it from `value`.
    fn connect(self, value: Self, m: &mut Module);
}

impl Connect for Signal {
    #[track_caller]
    fn connect(self, value: Self, m: &mut Module) {
        m.connect(self, value);
    }
}

impl Connect for Option<Signal> {
    #[track_caller]
    fn connect(self, value: Self, m: &mut Module) {
        m.connect_option(self, value);
    }
}
