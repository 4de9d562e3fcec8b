//! The result of elaboration: modules of nets, expression nodes and items.
//!
//! Everything is an index into a vector of its module, so that handles are `Copy` and printing order is creation order.

use std::sync::Arc;

use num_bigint::BigInt;

use super::error::Loc;
use super::index::Index;
use super::types::Type;

pub(crate) type NetId = u32;
pub(crate) type NodeId = u32;
pub(crate) type ScopeId = u32;
pub(crate) type InstanceId = u32;

/// Direction of a port, seen from inside its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Read by the module.
    Input,
    /// Driven by the module.
    Output,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NetKind {
    Input,
    Output,
    /// Declared together with its only driver when `inline`, otherwise before the items.
    Wire {
        inline: bool,
    },
    Register {
        init: Option<BigInt>,
    },
    /// Read data of a memory (`always` assigns it).
    MemoryRead,
    /// The net at an instance's port.
    Instance {
        instance: InstanceId,
        port: usize,
        direction: Direction,
    },
}

/// How the elements of an array are laid out in Verilog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One vector; element i at bits `[width * i +: width]` (array ports).
    Packed,
    /// Array of nets (`wire [7:0] x [0:15]`).
    Unpacked,
}

#[derive(Clone, Debug)]
pub(crate) struct Net {
    pub name: String,
    pub ty: Type,
    pub kind: NetKind,
    /// Number of elements and layout, for arrays.
    pub array: Option<(u32, Layout)>,
    pub scope: ScopeId,
    pub loc: Loc,
    /// The author said that not reading it is intended.
    pub unused_ok: bool,
    /// What the port means; empty for other nets.
    pub doc: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Sub,
    Mul,
}

/// Operation of an expression node. Operand widths are already right for the operation (see `signal.rs`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Stands for an expression whose description was wrong; an error has been recorded.
    Poison,
    /// A net, one element of an array, or a whole packed array as one vector.
    Net(NetId, Option<Index>),
    /// The element of an array at `fixed` plus the sum of signal x weight, which never leaves the array.
    Element {
        net: NetId,
        fixed: Index,
        run: Vec<(NodeId, u32)>,
    },
    Literal(BigInt),
    /// Value of a loop index.
    LoopIndex(Index),
    Not(NodeId),
    /// Exact: the result is wide enough. Operands may be narrower than the result.
    Exact(Arithmetic, NodeId, NodeId),
    /// Modulo 2^width; both operands have the result's width.
    Wrapping(Arithmetic, NodeId, NodeId),
    Logic(Logic, NodeId, NodeId),
    Compare(Compare, NodeId, NodeId),
    Mux(NodeId, NodeId, NodeId),
    /// Most significant part first.
    Cat(Vec<NodeId>),
    Repeat(NodeId, u32),
    /// `width` bits from bit `low`.
    Slice(NodeId, u32),
    /// `width` bits from a bit that depends on loop variables.
    SliceAt(NodeId, Index),
    /// One bit, chosen at run time; the operand has 2^(index width) bits.
    SelectBit(NodeId, NodeId),
    /// Zero or sign extension to the node's width.
    Extend(NodeId),
    /// Same bits, other signedness.
    Cast(NodeId),
    ShiftLeft(NodeId, NodeId),
    ShiftRight(NodeId, NodeId),
    /// All bits of the operand combined.
    Reduce(Logic, NodeId),
    /// Value by index; an index past the end gives the last value.
    Lookup(NodeId, Vec<NodeId>),
}

impl Op {
    pub(crate) fn operands(&self, mut visit: impl FnMut(NodeId)) {
        match self {
            Op::Poison | Op::Net(..) | Op::Literal(_) | Op::LoopIndex(_) => {}
            Op::Element { run, .. } => run.iter().for_each(|r| visit(r.0)),
            Op::Not(a)
            | Op::Repeat(a, _)
            | Op::Slice(a, _)
            | Op::SliceAt(a, _)
            | Op::Extend(a)
            | Op::Cast(a)
            | Op::Reduce(_, a) => visit(*a),
            Op::Exact(_, a, b)
            | Op::Wrapping(_, a, b)
            | Op::Logic(_, a, b)
            | Op::Compare(_, a, b)
            | Op::SelectBit(a, b)
            | Op::ShiftLeft(a, b)
            | Op::ShiftRight(a, b) => {
                visit(*a);
                visit(*b);
            }
            Op::Mux(s, a, b) => {
                visit(*s);
                visit(*a);
                visit(*b);
            }
            Op::Cat(parts) => parts.iter().copied().for_each(visit),
            Op::Lookup(index, values) => {
                visit(*index);
                values.iter().copied().for_each(visit);
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub op: Op,
    pub ty: Type,
    /// Innermost scope in which the node means something.
    pub scope: ScopeId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub net: NetId,
    pub index: Option<Index>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckKind {
    Assert,
    Assume,
    Cover,
}

impl CheckKind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Assert => "assert",
            Self::Assume => "assume",
            Self::Cover => "cover",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Item {
    Comment(String),
    Drive { target: Target, value: NodeId, loc: Loc },
    Register { net: NetId, next: NodeId, enable: Option<NodeId>, loc: Loc },
    Instance(InstanceId),
    Memory(u32),
    Fsm(u32),
    Loop(ScopeId),
    Check { kind: CheckKind, name: String, condition: NodeId },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    Root,
    /// `for (genvar = 0; genvar < count; ...) begin : g_<name>`
    Loop {
        name: String,
        genvar: u32,
        count: u32,
    },
    /// Under `ifdef FORMAL`.
    Formal,
}

#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub kind: ScopeKind,
    pub parent: Option<ScopeId>,
    pub items: Vec<Item>,
}

#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub name: String,
    pub module: Arc<ModuleIr>,
    pub scope: ScopeId,
    /// One net per port of `module`, in order.
    pub nets: Vec<NetId>,
    /// Proofs of the module around it leave its outputs free.
    pub free: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct MemoryIr {
    pub name: String,
    pub depth: u32,
    pub width: u32,
    /// Bits written by one write-enable bit.
    pub granule: u32,
    pub scope: ScopeId,
    pub writes: Vec<MemoryWrite>,
    pub reads: Vec<MemoryRead>,
}

#[derive(Clone, Debug)]
pub(crate) struct MemoryWrite {
    /// One bit per granule.
    pub enable: NodeId,
    pub address: NodeId,
    pub data: NodeId,
}

#[derive(Clone, Debug)]
pub(crate) struct MemoryRead {
    pub net: NetId,
    pub address: NodeId,
    /// Present for synchronous reads.
    pub enable: Option<NodeId>,
}

#[derive(Clone, Debug)]
pub(crate) struct FsmIr {
    pub name: String,
    pub states: Vec<String>,
    pub state: NetId,
    pub next: NetId,
    /// From, condition (always when absent), to.
    pub transitions: Vec<(usize, Option<NodeId>, usize)>,
}

#[derive(Clone, Debug)]
pub(crate) struct ModuleIr {
    pub name: String,
    /// Lines of the header comment.
    pub header: Vec<String>,
    pub ports: Vec<NetId>,
    pub nets: Vec<Net>,
    pub nodes: Vec<Node>,
    pub scopes: Vec<Scope>,
    pub genvars: Vec<String>,
    pub instances: Vec<Instance>,
    pub memories: Vec<MemoryIr>,
    pub fsms: Vec<FsmIr>,
    pub clocked: bool,
    pub reset: bool,
    /// The formal section is there only in proofs of this module by itself.
    pub formal_alone: bool,
    /// Named values of the module, for the names of its own nets and of the printer's.
    pub names: std::collections::BTreeMap<String, Loc>,
    /// `comb[output port] = input ports it depends on within the cycle` (positions in `ports`).
    pub comb: Vec<Vec<usize>>,
    /// Per net: an array of nets in which values ripple from element to element within the cycle.
    pub ripples: Vec<bool>,
    pub external: Option<External>,
    /// A module that does the same with the same ports, without Verilog from outside.
    pub twin: Option<Arc<ModuleIr>>,
    pub timing: super::timing::Timing,
    /// Registers that a host reaches through the module's bus.
    pub registers: Option<super::register_map::RegisterMap>,
    /// Operations that a host may ask for in descriptors.
    pub operations: Vec<super::operation::Opcode>,
    pub block: String,
    pub parameters: serde_json::Value,
    pub loc: Loc,
}

/// A module whose Verilog comes from outside.
#[derive(Clone, Debug)]
pub(crate) struct External {
    /// Verilog text with the module (and what it needs), when it is known.
    pub source: Option<String>,
    pub clocks: Vec<String>,
    pub reset: Option<String>,
    /// No path leads from an input to an output within a cycle.
    pub registered: bool,
}

impl ModuleIr {
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    pub(crate) fn net(&self, id: NetId) -> &Net {
        &self.nets[id as usize]
    }

    pub(crate) fn direction(&self, port: usize) -> Direction {
        if self.net(self.ports[port]).kind == NetKind::Input { Direction::Input } else { Direction::Output }
    }

    /// Loops around `scope`, outermost first: (genvar, count).
    pub(crate) fn loops(&self, scope: ScopeId) -> Vec<(u32, u32)> {
        let mut loops = Vec::new();
        let mut at = Some(scope);
        while let Some(id) = at {
            let scope = &self.scopes[id as usize];
            if let ScopeKind::Loop { genvar, count, .. } = scope.kind {
                loops.push((genvar, count));
            }
            at = scope.parent;
        }
        loops.reverse();
        loops
    }

    pub(crate) fn encloses(&self, outer: ScopeId, inner: ScopeId) -> bool {
        let mut at = Some(inner);
        while let Some(id) = at {
            if id == outer {
                return true;
            }
            at = self.scopes[id as usize].parent;
        }
        false
    }
}
