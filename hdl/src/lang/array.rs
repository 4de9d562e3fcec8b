//! Arrays of nets and generate loops: regular structures, described once, printed as `for ... begin ... end`.

use std::panic::Location;

use super::context::with;
use super::error::Loc;
use super::index::{Index, OUT_OF_ALL_BOUNDS};
use super::ir::{Item, Layout, NetKind, Op, Scope, ScopeKind};
use super::module::{Module, Reg, connect};
use super::operand::{Operand, Want};
use super::signal::{Signal, build};
use super::types::{ArrayType, Type, bits_for, index_width, uint};

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

/// One coordinate of an element: an [`Index`] that is known when the hardware is built, or a signal.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub enum Coordinate {
    Fixed(Index),
    Run(Signal),
}

/// What can be a coordinate: integers, loop variables and sums and products of them, unsigned signals.
pub trait ToCoordinate {
    /// The coordinate.
    #[doc(hidden)]
    fn coordinate(self) -> Coordinate;
}

impl<T: Into<Index>> ToCoordinate for T {
    fn coordinate(self) -> Coordinate {
        Coordinate::Fixed(self.into())
    }
}

impl ToCoordinate for Signal {
    fn coordinate(self) -> Coordinate {
        Coordinate::Run(self)
    }
}

/// One or two coordinates.
pub trait Place {
    /// Each coordinate with the number of elements that a step of it moves by, and how many steps there are.
    #[doc(hidden)]
    fn coordinates(self, count: u32, stride: u32) -> Vec<(Coordinate, u32, u32)>;
}

impl<T: ToCoordinate> Place for T {
    fn coordinates(self, count: u32, stride: u32) -> Vec<(Coordinate, u32, u32)> {
        vec![(self.coordinate(), stride, count / stride)]
    }
}

/// Row and column.
impl<R: ToCoordinate, C: ToCoordinate> Place for (R, C) {
    fn coordinates(self, count: u32, stride: u32) -> Vec<(Coordinate, u32, u32)> {
        vec![(self.0.coordinate(), stride, count / stride), (self.1.coordinate(), 1, stride)]
    }
}

impl Array {
    /// The element at `place`: one coordinate, or (row, column) of a two-dimensional array. A coordinate that is a
    /// signal selects at run time; past the end it selects the last place.
    #[track_caller]
    #[must_use]
    pub fn at(self, place: impl Place) -> Signal {
        let loc = Location::caller();
        let mut fixed = Index::from(0);
        let mut run: Vec<(Signal, u32)> = Vec::new();
        let coordinates = place.coordinates(self.ty.count, self.stride);
        let is_grid = coordinates.len() > 1;
        let mut each: Vec<(Index, u32)> = Vec::new();
        for (coordinate, step, places) in coordinates {
            match coordinate {
                Coordinate::Fixed(index) => {
                    fixed = fixed + index * i64::from(step);
                    each.push((index, places));
                }
                Coordinate::Run(signal) => run.push((within(signal, places, loc), step)),
            }
        }
        build(loc, self.ty.element, |e| {
            if self.net == u32::MAX {
                return e.poison(self.ty.element);
            }
            if self.serial != e.top().serial {
                e.error(loc, "an array of another module is used here; connect it through a port of the instance");
                return e.poison(self.ty.element);
            }
            let b = e.top();
            let (low, high) = fixed.bounds(|genvar| loop_count(&b.ir.scopes, genvar));
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
            // A column beyond the last one would be in another row.
            for &(index, places) in each.iter().filter(|(_, places)| is_grid && *places > 0) {
                let (low, high) = index.bounds(|genvar| loop_count(&b.ir.scopes, genvar));
                if low < 0 || high >= i64::from(places) {
                    let name = b.ir.net(self.net).name.clone();
                    let what = if low == high { format!("index {low}") } else { format!("index {low} to {high}") };
                    let last = i64::from(places) - 1;
                    e.error(
                        loc,
                        format!("{what} of `{name}` is outside of a coordinate's {places} places (0 to {last})"),
                    );
                    return e.poison(self.ty.element);
                }
            }
            // A coordinate that is constant after all is no choice at run time.
            let mut chosen = Vec::new();
            for &(signal, step) in &run {
                let s = signal.signal(e, Want::Exactly(signal.ty), loc);
                match &e.current().ir.node(s.node).op {
                    Op::Literal(at) => fixed = fixed + i64::try_from(at).unwrap_or(0) * i64::from(step),
                    _ => chosen.push((s.node, step)),
                }
            }
            if chosen.is_empty() {
                return e.read(self.net, Some(fixed));
            }
            e.push(Op::Element { net: self.net, fixed, run: chosen }, self.ty.element)
        })
    }

    /// The same elements, addressed by one coordinate.
    #[must_use]
    pub fn flat(self) -> Array {
        Array { stride: 1, ..self }
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
        (0..self.ty.count).map(|i| self.flat().at(i)).collect()
    }

    /// Type of the elements, and how many there are.
    #[must_use]
    pub fn ty(self) -> ArrayType {
        self.ty
    }

    /// All elements as one vector, element 0 in the low bits. Of an array port it is the port itself, and can be driven
    /// as a whole.
    #[track_caller]
    #[must_use]
    pub fn packed(self) -> Signal {
        let loc = Location::caller();
        let whole = with(|e| {
            let b = e.current();
            let mine = self.serial == b.serial && self.net != u32::MAX;
            mine && matches!(b.ir.net(self.net).array, Some((count, Layout::Packed)) if count == self.ty.count)
        });
        if whole == Some(true) {
            let ty = uint(self.ty.element.width * self.ty.count);
            return build(loc, ty, |e| e.push(Op::Net(self.net, None), ty));
        }
        let mut parts = self.elements();
        parts.reverse();
        super::cat(&parts)
    }
}

/// `signal`, or the last of `places` where it is past the end.
fn within(signal: Signal, places: u32, loc: Loc) -> Signal {
    let signed = signal.ty.signed;
    if signed {
        with(|e| e.error(loc, format!("an index is unsigned, not {}; cast it with as_uint", signal.ty)));
    }
    if signed || (signal.ty.width < 32 && 1u64 << signal.ty.width <= u64::from(places)) {
        return signal;
    }
    // As wide as the array needs: linters look at the width of an index.
    let width = index_width(places.into()).min(signal.ty.width);
    super::mux(signal.gt(places - 1), uint(width).lit(places - 1), signal.truncate(width))
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
        // An array that could not be declared as asked has been reported. It is replaced by a small one.
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

    /// An array of registers without reset; give each its next value in a [`Module::for_each`] over all of them.
    #[track_caller]
    pub fn regs(&mut self, name: &str, ty: Type, count: u32) -> Regs {
        self.registers(name, ty, count, None)
    }

    /// An array of registers that reset to `init`.
    #[track_caller]
    pub fn regs_init(&mut self, name: &str, ty: Type, count: u32, init: impl Into<num_bigint::BigInt>) -> Regs {
        self.registers(name, ty, count, Some(init.into()))
    }

    #[track_caller]
    fn registers(&mut self, name: &str, ty: Type, count: u32, init: Option<num_bigint::BigInt>) -> Regs {
        let q = self.nets(name, ty, count);
        let name = with(|e| {
            e.top().register_arrays.push((name.to_string(), init));
            e.top().register_arrays.len() - 1
        });
        Regs { q, name: name.unwrap_or(0) }
    }

    /// Splits a vector into the elements of an array of nets called `name`.
    #[track_caller]
    pub fn split(&mut self, name: &str, vector: Signal, ty: ArrayType) -> Array {
        let loc = Location::caller();
        let parts = self.nets(name, ty.element, ty.count);
        if vector.width() != ty.element.width * ty.count {
            let message = format!("a vector of {} bits is not {} elements of {}", vector.width(), ty.count, ty.element);
            with(|e| e.error(loc, message));
            return parts;
        }
        let width = ty.element.width;
        self.for_each(name, ty.count, |m, i| {
            m.connect(parts.at(i), vector.slice_at(i * width, width).cast(ty.element))
        });
        parts
    }

    /// Describes `count` equal copies at once. `body` runs one time, with the loop variable as an [`Index`];
    /// the Verilog is a generate loop named `g_<name>`. Nothing is made for `count` 0, no loop for `count` 1.
    #[track_caller]
    pub fn for_each(&mut self, name: &str, count: u32, body: impl FnOnce(&mut Module, Index)) {
        let loc = Location::caller();
        if count <= 1 {
            // One turn is no loop: what the body describes stands here.
            if count == 1 {
                body(self, Index::from(0));
            }
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
        // Two ports, of this module or of instances, are connected as vectors.
        let ports = with(|e| {
            let b = e.current();
            let port = |a: Array| a.serial == b.serial && matches!(b.ir.net(a.net).array, Some((_, Layout::Packed)));
            port(target) && port(source)
        });
        if ports == Some(true) {
            connect(target.packed(), source.packed(), loc);
            return;
        }
        let (target, source) = (target.flat(), source.flat());
        self.for_each(name, target.ty.count, |_, i| connect(target.at(i), source.at(i), loc));
    }
}

/// An array of registers: `q` holds their values.
#[derive(Clone, Copy, Debug)]
pub struct Regs {
    /// The values held since the last rising clock edge.
    pub q: Array,
    /// Which of the module's register arrays.
    name: usize,
}

impl Regs {
    /// Register `place` takes `value` at every rising clock edge. Inside of a loop this is one register in each turn.
    #[track_caller]
    pub fn next(self, m: &mut Module, place: impl Into<Index>, value: impl Operand) {
        self.register(m, place.into()).next(value);
    }

    /// Register `place` takes `value` where `enable` is high, and holds otherwise.
    #[track_caller]
    pub fn next_when(self, m: &mut Module, place: impl Into<Index>, enable: Signal, value: impl Operand) {
        self.register(m, place.into()).next_when(enable, value);
    }

    /// The register of the element: `<name>_q` inside of a loop, `<name>_<place>_q` outside.
    #[track_caller]
    fn register(self, m: &mut Module, place: Index) -> Reg {
        let found = with(|e| e.current().register_arrays.get(self.name).cloned()).flatten();
        let (name, init) = found.unwrap_or_default();
        let name = place.constant().map_or_else(|| format!("{name}_q"), |at| format!("{name}_{at}_q"));
        let ty = self.q.ty.element;
        let register = match init {
            Some(init) => m.reg_init(&name, ty, init),
            None => m.reg(&name, ty),
        };
        m.connect(self.q.flat().at(place), register.q);
        register
    }
}

impl Signal {
    /// `width` bits from bit `low` on, where `low` depends on loop variables; unsigned.
    #[track_caller]
    #[must_use]
    pub fn slice_at(self, low: impl Into<Index>, width: u32) -> Signal {
        let (loc, low) = (Location::caller(), low.into());
        let ty = uint(width.clamp(1, super::types::MAX_WIDTH));
        if let Some(low) = low.constant() {
            let low = u32::try_from(low).unwrap_or(u32::MAX);
            return self.slice(low..low.saturating_add(width));
        }
        build(loc, ty, |e| {
            let a = self.signal(e, Want::Exactly(self.ty), loc);
            let b = e.top();
            let (first, last) = low.bounds(|genvar| loop_count(&b.ir.scopes, genvar));
            if width == 0 || first < 0 || last + i64::from(width) > i64::from(self.ty.width) {
                let what = e.describe(self);
                e.error(loc, format!("{width} bits from bit {first} to {last} on are not inside {what}"));
                return e.poison(ty);
            }
            e.push(Op::SliceAt(a.node, low), ty)
        })
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
                // A loop variable has 32 bits in Verilog.
                None if width > 32 => {
                    let index = e.push(Op::LoopIndex(self), uint(32));
                    e.push(Op::Extend(index.node), uint(width))
                }
                None => e.push(Op::LoopIndex(self), uint(width)),
            }
        })
    }
}
