//! Random expressions and random designs.

use hdl::lang::{Type, uint};
use num_bigint::BigInt;
use rand::{Rng, RngExt};
use sim::stimulus::corners;

use super::design::{ARRAY, Case, Fuzz};
use super::expr::{Arithmetic, Compare, Dag, Id, Logic, Op, Place, limits, read};

/// Widest value that expressions are made of; products and sums may be wider on the way.
const WIDEST: u32 = 130;

pub fn design(name: String, cases: usize, rng: &mut impl Rng) -> Fuzz {
    let inputs: Vec<Type> = (0..24).map(|_| random_type(rng)).collect();
    let arrays: Vec<Type> = (0..4).map(|_| random_type(rng)).collect();
    let mut fuzz = Fuzz { name, inputs, arrays, cases: vec![] };
    for k in 0..cases {
        let case = if k % 8 == 7 { loop_case(&fuzz, rng) } else { plain_case(&fuzz, rng) };
        fuzz.cases.push(case);
    }
    fuzz
}

/// An expression of a type over the inputs and arrays of `fuzz`. Inside a loop over `count` elements it may also use
/// the loop's variable, and a local value where there is one. Verilator judges it.
pub fn expression(fuzz: &Fuzz, ty: Type, looped: Option<(u32, Option<Type>)>, size: usize, rng: &mut impl Rng) -> Dag {
    let loops = looped.map(|(count, local)| Loops { rows: count, columns: 1, local });
    let mut generator = Generator { fuzz, rng, dag: Dag::default(), loops, comparisons: &JUDGED };
    let mut last = generator.grow(size);
    if let Some((_, Some(local))) = looped {
        let local = generator.dag.leaf(Op::Local, local);
        last = generator.dag.push(Op::Cat(vec![local, last]));
    }
    let last = generator.with_sign(last, ty.signed);
    let last = generator.with_width(last, ty.width);
    generator.dag.rooted(last)
}

/// A value of a type: corners more often than not.
pub fn value(ty: Type, rng: &mut impl Rng) -> BigInt {
    let pattern = match rng.random_range(0..4) {
        0 | 1 => {
            let list = corners(ty.width);
            list[rng.random_range(0..list.len())].to_biguint().into()
        }
        2 => BigInt::from(rng.random_range(-4_i64..12)),
        _ => sim::Bits::random(ty.width, rng).to_biguint().into(),
    };
    read(&pattern, ty)
}

fn random_width(rng: &mut impl Rng) -> u32 {
    match rng.random_range(0..8) {
        0 => 1,
        1 | 2 => rng.random_range(1..9),
        3 | 4 => rng.random_range(1..34),
        5 => [31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129][rng.random_range(0..12)],
        _ => rng.random_range(1..WIDEST + 1),
    }
}

pub fn random_type(rng: &mut impl Rng) -> Type {
    Type { width: random_width(rng), signed: rng.random() }
}

fn plain_case(fuzz: &Fuzz, rng: &mut impl Rng) -> Case {
    Case::Plain(Generator { fuzz, rng, dag: Dag::default(), loops: None, comparisons: &ALL }.expression(None))
}

fn loop_case(fuzz: &Fuzz, rng: &mut impl Rng) -> Case {
    let rows = rng.random_range(1..5);
    let columns = if rng.random() { 1 } else { rng.random_range(2..4) };
    let loops = Some(Loops { rows, columns, local: None });
    let first = Generator { fuzz, rng, dag: Dag::default(), loops, comparisons: &ALL }.expression(None);
    let loops = Some(Loops { rows, columns, local: Some(first.result()) });
    let second = Generator { fuzz, rng, dag: Dag::default(), loops, comparisons: &ALL }.expression(None);
    // The nets must be read somewhere.
    let second = if second.nodes.iter().any(|n| n.0 == Op::Local) {
        second
    } else {
        let mut dag = second;
        let last = dag.nodes.len() - 1;
        let local = dag.leaf(Op::Local, first.result());
        dag.push(Op::Cat(vec![local, last]));
        dag
    };
    Case::Loop { rows, columns, first, second }
}

#[derive(Clone, Copy)]
struct Loops {
    rows: u32,
    columns: u32,
    /// Type of the array of nets that may be read.
    local: Option<Type>,
}

struct Generator<'a, R: Rng> {
    fuzz: &'a Fuzz,
    rng: &'a mut R,
    dag: Dag,
    loops: Option<Loops>,
    comparisons: &'static [Compare],
}

/// All comparisons.
const ALL: [Compare; 6] = [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge];
/// Comparisons that Verilator 5.006 gets right also for equal signed constants in arrays of nets. It gives 0 for `<=`
/// of such constants.
const JUDGED: [Compare; 4] = [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Gt];

impl<R: Rng> Generator<'_, R> {
    fn expression(mut self, size: Option<usize>) -> Dag {
        let size = size.unwrap_or_else(|| self.rng.random_range(2..16));
        let last = self.grow(size);
        self.dag.rooted(last)
    }

    /// Some leaves and so many operations; the last one.
    fn grow(&mut self, size: usize) -> Id {
        for _ in 0..3 {
            self.new_leaf();
        }
        let mut last = 0;
        for _ in 0..size {
            last = self.operation();
            if self.dag.ty(last).width > WIDEST {
                last = self.narrow(last);
            }
        }
        last
    }

    fn narrow(&mut self, id: Id) -> Id {
        let width = self.rng.random_range(1..WIDEST + 1);
        match self.rng.random_range(0..4) {
            0 => self.dag.push(Op::Truncate(id, width)),
            1 => self.dag.push(Op::Saturate(id, width)),
            2 => {
                let low = self.rng.random_range(0..self.dag.ty(id).width - width + 1);
                self.dag.push(Op::Slice(id, low, width))
            }
            _ => {
                let gone = self.dag.ty(id).width - width;
                self.dag.push(Op::Shr(id, gone))
            }
        }
    }

    fn new_leaf(&mut self) -> Id {
        if let Some(loops) = self.loops.filter(|_| self.rng.random_range(0..2) == 0) {
            if let Some(ty) = loops.local.filter(|_| self.rng.random()) {
                return self.dag.leaf(Op::Local, ty);
            }
            if self.rng.random_range(0..3) == 0 {
                let which = self.rng.random_range(0..2);
                return self.dag.leaf(Op::Index(which), uint(3));
            }
        }
        match self.rng.random_range(0..8) {
            0 => {
                let ty = random_type(self.rng);
                let value = value(ty, self.rng);
                self.dag.leaf(Op::Literal(value), ty)
            }
            1 | 2 => {
                let array = self.rng.random_range(0..self.fuzz.arrays.len());
                let place = self.place();
                self.dag.leaf(Op::Element(array, place), self.fuzz.arrays[array])
            }
            _ => {
                let input = self.rng.random_range(0..self.fuzz.inputs.len());
                self.dag.leaf(Op::Input(input), self.fuzz.inputs[input])
            }
        }
    }

    /// A place inside the array for all loop variables.
    fn place(&mut self) -> Place {
        loop {
            let mut coefficient = || if self.loops.is_some() { self.rng.random_range(-2..3) } else { 0 };
            let (row, column) = (coefficient(), coefficient());
            let place = Place { row, column, offset: self.rng.random_range(0..i64::from(ARRAY)) };
            let (rows, columns) = self.loops.map_or((1, 1), |l| (i64::from(l.rows), i64::from(l.columns)));
            let inside = |i: i64, j: i64| (0..i64::from(ARRAY)).contains(&(row * i + column * j + place.offset));
            if [(0, 0), (rows - 1, 0), (0, columns - 1), (rows - 1, columns - 1)].iter().all(|&(i, j)| inside(i, j)) {
                return place;
            }
        }
    }

    /// An earlier node (recent ones first choice) or a new leaf.
    fn any(&mut self) -> Id {
        let n = self.dag.nodes.len();
        match self.rng.random_range(0..10) {
            0 | 1 => self.new_leaf(),
            2..=5 => self.rng.random_range(n.saturating_sub(3)..n),
            _ => self.rng.random_range(0..n),
        }
    }

    fn with_sign(&mut self, id: Id, signed: bool) -> Id {
        match (self.dag.ty(id).signed, signed) {
            (false, true) => self.dag.push(Op::AsSint(id)),
            (true, false) => self.dag.push(Op::AsUint(id)),
            _ => id,
        }
    }

    fn with_width(&mut self, id: Id, width: u32) -> Id {
        match self.dag.ty(id).width {
            w if w < width => self.dag.push(Op::Extend(id, width)),
            w if w > width && self.rng.random_range(0..4) == 0 => self.dag.push(Op::Saturate(id, width)),
            w if w > width => self.dag.push(Op::Truncate(id, width)),
            _ => id,
        }
    }

    fn of_type(&mut self, ty: Type) -> Id {
        if self.rng.random_range(0..5) == 0 {
            // Extremes of the very type: where folding rules apply.
            let (low, high) = limits(ty);
            let value = match self.rng.random_range(0..3) {
                0 => low,
                1 => high,
                _ => value(ty, self.rng),
            };
            return self.dag.leaf(Op::Literal(value), ty);
        }
        let id = self.any();
        let id = self.with_sign(id, ty.signed);
        self.with_width(id, ty.width)
    }

    fn condition(&mut self) -> Id {
        let id = self.any();
        if self.dag.ty(id) == uint(1) {
            return id;
        }
        let op = match self.rng.random_range(0..3) {
            0 => Op::Any(id),
            1 => Op::Msb(id),
            _ => Op::CompareLiteral(self.comparison(), id, 3),
        };
        self.dag.push(op)
    }

    fn comparison(&mut self) -> Compare {
        self.comparisons[self.rng.random_range(0..self.comparisons.len())]
    }

    fn small_literal(&mut self, signed: bool) -> i64 {
        let magnitude = match self.rng.random_range(0..3) {
            0 => self.rng.random_range(0..4),
            1 => self.rng.random_range(0..300),
            _ => self.rng.random_range(0..i64::MAX),
        };
        if signed && self.rng.random() { -magnitude } else { magnitude }
    }

    fn amount(&mut self) -> Id {
        let n = self.any();
        let n = self.with_sign(n, false);
        let width = self.dag.ty(n).width.min(if self.rng.random_range(0..6) == 0 { WIDEST } else { 7 });
        self.with_width(n, width)
    }

    fn operation(&mut self) -> Id {
        let a = self.any();
        let ty = self.dag.ty(a);
        let op = match self.rng.random_range(0..31) {
            0..=4 => {
                use Arithmetic::{Add, Mul, Sub, WrappingAdd, WrappingSub};
                let f = [Add, Sub, Mul, WrappingAdd, WrappingSub][self.rng.random_range(0..5)];
                if self.rng.random_range(0..4) == 0 {
                    Op::ArithmeticLiteral(f, a, self.small_literal(ty.signed))
                } else {
                    let b = self.any();
                    let b = self.with_sign(b, ty.signed);
                    Op::Arithmetic(f, a, b)
                }
            }
            5 | 6 => {
                let f = self.comparison();
                if self.rng.random_range(0..3) == 0 {
                    Op::CompareLiteral(f, a, self.small_literal(ty.signed))
                } else if self.rng.random() {
                    // On either side.
                    let b = self.of_type(ty);
                    if self.rng.random() { Op::Compare(f, a, b) } else { Op::Compare(f, b, a) }
                } else {
                    let b = self.any();
                    let b = self.with_sign(b, ty.signed);
                    Op::Compare(f, a, b)
                }
            }
            7 | 8 => {
                let b = self.of_type(ty);
                Op::Logic([Logic::And, Logic::Or, Logic::Xor][self.rng.random_range(0..3)], a, b)
            }
            9 => Op::Not(a),
            10 => Op::Neg(a),
            11 | 12 => {
                let (s, b) = (self.condition(), self.of_type(ty));
                Op::Mux(s, a, b)
            }
            13 => {
                let choices = (0..self.rng.random_range(1..5)).map(|_| (self.condition(), self.of_type(ty))).collect();
                Op::Select(choices, a)
            }
            14 => {
                let index = self.amount();
                let index = if self.dag.ty(index).width > 40 { self.dag.push(Op::Truncate(index, 5)) } else { index };
                let most = 1 << self.dag.ty(index).width.min(3);
                let values = (0..self.rng.random_range(1..most + 1)).map(|_| self.of_type(ty)).collect();
                Op::Lookup(index, values)
            }
            15 | 16 => {
                let parts = self.rng.random_range(1..4);
                Op::Cat((0..parts).map(|_| self.any()).collect())
            }
            17 => Op::Repeat(a, self.rng.random_range(1..5)),
            18 | 19 => {
                let low = self.rng.random_range(0..ty.width);
                Op::Slice(a, low, self.rng.random_range(1..ty.width - low + 1))
            }
            20 => Op::Msb(a),
            21 => Op::BitAt(a, self.amount_for_bit()),
            22 => Op::Extend(a, ty.width + self.rng.random_range(0..20)),
            23 => Op::Truncate(a, self.rng.random_range(1..ty.width + 1)),
            24 => Op::Saturate(a, self.rng.random_range(1..ty.width + 3)),
            25 => {
                if ty.signed {
                    Op::AsUint(a)
                } else {
                    Op::AsSint(a)
                }
            }
            26 => {
                let n = self.rng.random_range(0..ty.width + 3);
                if self.rng.random() { Op::Shl(a, n.min(70)) } else { Op::Shr(a, n) }
            }
            27 | 28 => {
                let n = self.amount();
                if self.rng.random() { Op::ShlBy(a, n) } else { Op::ShrBy(a, n) }
            }
            29 => [Op::Any(a), Op::All(a), Op::Parity(a)][self.rng.random_range(0..3)].clone(),
            _ => Op::Wire(a),
        };
        self.dag.push(op)
    }

    fn amount_for_bit(&mut self) -> Id {
        let n = self.amount();
        if self.dag.ty(n).width > 20 { self.dag.push(Op::Truncate(n, 20)) } else { n }
    }
}

/// Smaller expressions that may fail as well, most radical first.
pub fn smaller(dag: &Dag) -> Vec<Dag> {
    let last = dag.nodes.len() - 1;
    let mut list: Vec<Dag> = (0..last).map(|id| dag.rooted(id)).collect();
    for id in 0..=last {
        let (op, ty) = &dag.nodes[id];
        // An operand of the same type in place of the operation.
        for operand in op.operands().into_iter().filter(|&o| dag.ty(o) == *ty) {
            let mut other = dag.clone();
            for (later, _) in other.nodes.iter_mut().skip(id + 1) {
                *later = later.map(|o| if o == id { operand } else { o });
            }
            list.push(other.rooted(last));
        }
        if !matches!(op, Op::Literal(_)) {
            let (_, high) = limits(*ty);
            for value in [BigInt::from(0), high] {
                let mut other = dag.clone();
                other.nodes[id].0 = Op::Literal(value);
                list.push(other.rooted(last));
            }
        }
        match op {
            Op::Wire(_) => {}
            Op::Select(choices, default) if choices.len() > 1 => {
                let mut other = dag.clone();
                other.nodes[id].0 = Op::Select(choices[1..].to_vec(), *default);
                list.push(other.rooted(last));
            }
            _ => {}
        }
    }
    list.retain(|d| d.nodes.len() < dag.nodes.len() || literals(d) > literals(dag));
    list.sort_by_key(|d| d.nodes.len());
    list
}

fn literals(dag: &Dag) -> usize {
    dag.nodes.iter().filter(|n| matches!(n.0, Op::Literal(_))).count()
}
