//! Arrays of nets and generate loops: regular structures, described once, printed as `for ... begin ... end`.

use std::panic::Location;

use super::context::with;
use super::error::Loc;
use super::index::{Index, OUT_OF_ALL_BOUNDS};
use super::ir::{Item, Layout, NetKind, Op, Scope, ScopeKind};
use super::module::{Module, connect};
use super::signal::{Signal, build};
use super::types::{ArrayType, Type, bits_for, uint};

/// An array of equally typed signals: an array port or an array of nets.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// An arbitrary whole-net handle; elements carry the index.
    pub(crate) net: u32,
    pub(crate) serial: u32,
    pub(crate) ty: ArrayType,
    /// Elements a step of the first index moves by (1 for one dimension).
    pub(crate) stride: u32,
}

/// One or two array indices.
pub trait Place {
    /// Position in the array whose rows have `stride` elements.
    #[doc(hidden)]
    fn flatten(self, stride: u32) -> Index;
}

impl<T: Into<Index>> Place for T {
    fn flatten(self, stride: u32) -> Index {
        self.into() * i64::from(stride)
    }
}

/// Row and column.
impl<R: Into<Index>, C: Into<Index>> Place for (R, C) {
    fn flatten(self, stride: u32) -> Index {
        self.0.into() * i64::from(stride) + self.1.into()
    }
}

impl Array {
    /// The element at `place`: an index, or (row, column) of a two-dimensional array.
    #[track_caller]
    #[must_use]
    pub fn at(self, place: impl Place) -> Signal {
        let loc = Location::caller();
        let index = place.flatten(self.stride);
        build(loc, self.ty.element, |e| {
            if self.net == u32::MAX {
                return e.poison(self.ty.element);
            }
            if self.serial != e.top().serial {
                e.error(loc, "an array of another module is used here; connect it through a port of the instance");
                return e.poison(self.ty.element);
            }
            let b = e.top();
            let (low, high) = index.bounds(|genvar| loop_count(&b.ir.scopes, genvar));
            if low < 0 || high >= i64::from(self.ty.count) {
                let name = b.ir.net(self.net).name.clone();
                if low < OUT_OF_ALL_BOUNDS / 2 {
                    e.error(loc, format!("an index of `{name}` is made of more than 4 loop variables"));
                    return e.poison(self.ty.element);
                }
                let what = if low == high { format!("index {low}") } else { format!("index {low} to {high}") };
                let count = self.ty.count;
                e.error(loc, format!("{what} of `{name}` is outside its {count} elements (0 to {})", count - 1));
                return e.poison(self.ty.element);
            }
            e.read(self.net, Some(index))
        })
    }

    /// Number of elements.
    #[must_use]
    pub fn count(self) -> u32 {
        self.ty.count
    }

    /// All elements in order.
    #[track_caller]
    #[must_use]
    pub fn elements(self) -> Vec<Signal> {
        let flat = Array { stride: 1, ..self };
        (0..self.ty.count).map(|i| flat.at(i)).collect()
    }

    /// All elements as one vector, element 0 in the low bits.
    #[track_caller]
    #[must_use]
    pub fn packed(self) -> Signal {
        let mut parts = self.elements();
        parts.reverse();
        super::cat(&parts)
    }
}

fn loop_count(scopes: &[Scope], wanted: u32) -> u32 {
    let count = |s: &Scope| match s.kind {
        ScopeKind::Loop { genvar, count, .. } if genvar == wanted => Some(count),
        _ => None,
    };
    scopes.iter().find_map(count).unwrap_or(1)
}

pub(crate) fn declare(name: &str, ty: ArrayType, kind: NetKind, layout: Layout, stride: u32, loc: Loc) -> Array {
    let declared = with(|e| {
        let net = e.net(name, ty.element, kind, Some((ty.count, layout)), loc);
        let n = e.top().ir.net(net);
        // What could not be declared as asked has been reported, and stands for something small.
        let ty = ArrayType { element: n.ty, count: n.array.map_or(1, |a| a.0) };
        (net, e.top().serial, ty)
    });
    let (net, serial, ty) = declared.unwrap_or((0, u32::MAX, ArrayType { element: ty.element, count: 1 }));
    Array { net, serial, ty, stride }
}

impl Module {
    /// An array of `count` nets, each driven once by [`Module::connect`].
    #[track_caller]
    pub fn nets(&mut self, name: &str, ty: Type, count: u32) -> Array {
        let array = ArrayType { element: ty, count };
        declare(name, array, NetKind::Wire { inline: false }, Layout::Unpacked, 1, Location::caller())
    }

    /// A two-dimensional array of nets, addressed by `(row, column)`.
    #[track_caller]
    pub fn grid(&mut self, name: &str, ty: Type, rows: u32, columns: u32) -> Array {
        let array = ArrayType { element: ty, count: rows.saturating_mul(columns) };
        declare(name, array, NetKind::Wire { inline: false }, Layout::Unpacked, columns, Location::caller())
    }

    /// Describes `count` equal copies at once. `body` runs one time, with the loop variable as an [`Index`];
    /// the Verilog is a generate loop named `g_<name>`. Nothing is made for `count` 0.
    #[track_caller]
    pub fn for_each(&mut self, name: &str, count: u32, body: impl FnOnce(&mut Module, Index)) {
        let loc = Location::caller();
        if count == 0 {
            return;
        }
        let opened = with(|e| {
            let label = e.claim(&format!("g_{name}"), loc);
            let b = e.top();
            // Loop variables are module-wide names: short, and shared by loops that do not nest.
            let depth = b.ir.loops(b.scope).len();
            let variable = ["i", "j", "k", "l"].get(depth).map_or_else(|| format!("i{depth}"), ToString::to_string);
            b.ir.genvars.push(variable);
            let genvar = b.ir.genvars.len() as u32 - 1;
            let parent = b.scope;
            b.ir.scopes.push(Scope {
                kind: ScopeKind::Loop { name: label, genvar, count },
                parent: Some(parent),
                items: vec![],
            });
            b.scope = b.ir.scopes.len() as u32 - 1;
            (parent, b.scope, genvar)
        });
        if let Some((parent, scope, genvar)) = opened {
            body(self, Index::genvar(genvar));
            with(|e| {
                e.top().scope = parent;
                e.item(Item::Loop(scope));
            });
        }
    }

    /// Drives each element of `target` from the same element of `source`.
    #[track_caller]
    pub fn connect_each(&mut self, name: &str, target: Array, source: Array) {
        let loc = Location::caller();
        if target.ty != source.ty {
            with(|e| {
                e.error(
                    loc,
                    format!(
                        "cannot connect an array of {} x {} to one of {} x {}",
                        source.ty.count, source.ty.element, target.ty.count, target.ty.element
                    ),
                );
            });
            return;
        }
        let (target, source) = (Array { stride: 1, ..target }, Array { stride: 1, ..source });
        self.for_each(name, target.ty.count, |_, i| connect(target.at(i), source.at(i), loc));
    }
}

impl Index {
    /// The value of the index as a signal of `width` bits, for comparison with run-time indices.
    #[track_caller]
    #[must_use]
    pub fn value(self, width: u32) -> Signal {
        let loc = Location::caller();
        build(loc, uint(width), |e| {
            let b = e.top();
            let (low, high) = self.bounds(|genvar| loop_count(&b.ir.scopes, genvar));
            if low < 0 || bits_for(high.max(0) as u64) > width {
                e.error(loc, format!("index values {low} to {high} do not fit uint({width})"));
            }
            match self.constant() {
                Some(value) => e.literal(value.into(), uint(width)),
                None => e.push(Op::LoopIndex(self), uint(width)),
            }
        })
    }
}
