//! Expressions that random draws meet too rarely: every operation inside of every other one, at every place; every
//! operation on constants; all short chains of casts, extensions and truncations.

use hdl::lang::{Type, sint, uint};
use num_bigint::BigInt;

use super::design::{Case, Fuzz, Vector};
use super::expr::{Arithmetic, Compare, Dag, Id, Logic, Op, limits, read};

/// Types of the inputs. One bit, because signs, brackets and reductions are special there.
const TYPES: [Type; 4] = [uint(1), sint(1), uint(3), sint(3)];
/// Inputs of each type: all leaves of an expression differ, or `s ? a : a` would be folded.
const SLOTS: usize = 5;
/// Cases in one module.
const CASES: usize = 3000;

/// Another operand of a type.
type More<'a> = &'a mut dyn FnMut(&mut Dag, Type) -> Id;
/// An operation on a node, and on others that it may ask for.
type Build = Box<dyn Fn(&mut Dag, Id, More) -> Id>;

/// All cases in modules of a size that tools like.
pub fn designs() -> Vec<Fuzz> {
    let inputs = TYPES.iter().flat_map(|&ty| [ty; SLOTS]).collect();
    let all = Fuzz { name: String::new(), inputs, arrays: vec![], cases: vec![] };
    let families = [("nested", nested()), ("constants", constants()), ("chains", chains())];
    let chunks = families.into_iter().flat_map(|(family, dags)| {
        let cases: Vec<Case> = dags.into_iter().map(Case::Plain).collect();
        cases.chunks(CASES).enumerate().map(|(k, c)| (format!("{family}_{k}"), c.to_vec())).collect::<Vec<_>>()
    });
    chunks.map(|(name, cases)| Fuzz { name, cases, ..all.clone() }).collect()
}

/// Five values for the inputs of each slot, such that each pair of them meets in each pair of slots.
pub fn vectors(fuzz: &Fuzz) -> Vec<Vector> {
    const PATTERNS: [i64; 5] = [0, 7, 1, 4, 3];
    // An orthogonal array: lines of all slopes.
    let pattern = |number: usize, slot: usize| PATTERNS[(number + slot * (number / 5)) % 5];
    let value = |number: usize, k: usize| read(&pattern(number, k % SLOTS).into(), fuzz.inputs[k]);
    let inputs = |number| (0..fuzz.inputs.len()).map(|k| value(number, k)).collect();
    (0..25).map(|number| Vector { inputs: inputs(number), arrays: vec![] }).collect()
}

/// The input of a type, of the same width or of three bits, as one of type `ty`.
fn leaf(dag: &mut Dag, slot: usize, ty: Type) -> Id {
    let width = if ty.width == 1 { 1 } else { 3 };
    let k = TYPES.iter().position(|t| *t == Type { width, ..ty }).expect("both signs and both widths");
    let id = dag.leaf(Op::Input(k * SLOTS + slot), TYPES[k]);
    fit(dag, id, ty)
}

/// Leaves of slot `first`, then of the ones after it.
fn leaves(first: usize) -> impl FnMut(&mut Dag, Type) -> Id {
    let mut slots = first..SLOTS;
    move |dag, ty| leaf(dag, slots.next().expect("no operation has so many operands"), ty)
}

fn fit(dag: &mut Dag, id: Id, ty: Type) -> Id {
    let id = match (dag.ty(id).signed, ty.signed) {
        (false, true) => dag.push(Op::AsSint(id)),
        (true, false) => dag.push(Op::AsUint(id)),
        _ => id,
    };
    match dag.ty(id).width {
        w if w < ty.width => dag.push(Op::Extend(id, ty.width)),
        w if w > ty.width => dag.push(Op::Truncate(id, ty.width)),
        _ => id,
    }
}

/// All operations that have an operand of type `ty`, with that operand at each place.
fn operations(ty: Type) -> Vec<Build> {
    let (w, signed) = (ty.width, ty.signed);
    let mut list: Vec<Build> = Vec::new();
    let mut unary = |op: fn(Id, u32) -> Op, n: u32| list.push(Box::new(move |dag, a, _| dag.push(op(a, n))));
    for op in [|a, _| Op::Not(a), |a, _| Op::Neg(a), |a, _| Op::Any(a), |a, _| Op::All(a), |a, _| Op::Parity(a)] {
        unary(op, 0);
    }
    unary(|a, _| Op::Msb(a), 0);
    unary(if signed { |a, _| Op::AsUint(a) } else { |a, _| Op::AsSint(a) }, 0);
    unary(Op::Extend, w + 2);
    unary(Op::Repeat, 2);
    unary(Op::Shl, 2);
    unary(|a, low| Op::Slice(a, low, 1), 0);
    unary(|a, low| Op::Slice(a, low, 1), w - 1);
    for n in [1, w, w + 1] {
        unary(Op::Shr, n);
    }
    for narrow in [1, w.saturating_sub(1).max(1)] {
        unary(Op::Truncate, narrow);
        unary(Op::Saturate, narrow);
    }

    let mut binary = |other: Type, op: Box<dyn Fn(Id, Id) -> Op>| {
        list.push(Box::new(move |dag, a, more| {
            let b = more(dag, other);
            dag.push(op(a, b))
        }));
    };
    for other in [1, 3].map(|width| Type { width, signed }) {
        use Arithmetic::{Add, Mul, Sub, WrappingAdd, WrappingSub};
        for f in [Add, Sub, Mul, WrappingAdd, WrappingSub] {
            binary(other, Box::new(move |a, b| Op::Arithmetic(f, a, b)));
            binary(other, Box::new(move |a, b| Op::Arithmetic(f, b, a)));
        }
        use Compare::{Eq, Ge, Gt, Le, Lt, Ne};
        for f in [Eq, Ne, Lt, Le, Gt, Ge] {
            binary(other, Box::new(move |a, b| Op::Compare(f, a, b)));
            binary(other, Box::new(move |a, b| Op::Compare(f, b, a)));
        }
    }
    for f in [Logic::And, Logic::Or, Logic::Xor] {
        binary(ty, Box::new(move |a, b| Op::Logic(f, a, b)));
        binary(ty, Box::new(move |a, b| Op::Logic(f, b, a)));
    }
    binary(uint(3), Box::new(Op::ShlBy));
    binary(uint(3), Box::new(Op::ShrBy));
    binary(uint(3), Box::new(Op::BitAt));
    binary(sint(3), Box::new(|a, b| Op::Cat(vec![b, a, b])));
    if !signed {
        for op in [Op::ShlBy, Op::ShrBy, Op::BitAt] {
            binary(sint(3), Box::new(move |a, b| op(b, a)));
        }
        binary(sint(3), Box::new(|a, b| Op::Lookup(a, vec![b, b])));
    }
    // As the condition, and as either choice.
    list.push(Box::new(|dag, a, more| {
        let s = fit(dag, a, uint(1));
        let (b, c) = (more(dag, sint(3)), more(dag, sint(3)));
        dag.push(Op::Mux(s, b, c))
    }));
    list.push(Box::new(move |dag, a, more| {
        let (s, b) = (more(dag, uint(1)), more(dag, ty));
        dag.push(Op::Mux(s, a, b))
    }));
    list.push(Box::new(move |dag, a, more| {
        let (s, b) = (more(dag, uint(1)), more(dag, ty));
        dag.push(Op::Mux(s, b, a))
    }));
    list
}

/// Every operation, and every operation of its result, with inputs as the other operands; where an operation has one
/// operand, also with another result of it.
fn nested() -> Vec<Dag> {
    let mut dags = Vec::new();
    for ty in TYPES {
        for operation in operations(ty) {
            let mut dag = Dag::default();
            let a = leaf(&mut dag, 0, ty);
            let inner = operation(&mut dag, a, &mut leaves(1));
            let unary = dag.nodes[inner].0.operands().len() == 1;
            for outer in operations(dag.ty(inner)) {
                let mut with = |more: More| {
                    let mut dag = dag.clone();
                    let result = outer(&mut dag, inner, more);
                    dags.push(dag.rooted(result));
                };
                with(&mut leaves(3));
                if unary {
                    let mut slots = 3..SLOTS;
                    with(&mut |dag, wanted| {
                        let b = leaf(dag, slots.next().expect("no operation has so many operands"), ty);
                        let twin = operation(dag, b, &mut leaves(1));
                        fit(dag, twin, wanted)
                    });
                }
            }
            dags.push(dag);
        }
    }
    dags
}

fn values(ty: Type) -> Vec<BigInt> {
    let (low, high) = limits(ty);
    (0..1 << ty.width).map(|step| &low + BigInt::from(step)).take_while(|v| *v <= high).collect()
}

/// Every operation on every constant of up to three bits: with constants as the other operands, and with inputs.
fn constants() -> Vec<Dag> {
    let mut dags = Vec::new();
    for ty in [1, 2, 3].into_iter().flat_map(|width| [uint(width), sint(width)]) {
        for value in values(ty) {
            for operation in operations(ty) {
                let mut dag = Dag::default();
                let a = dag.leaf(Op::Literal(value.clone()), ty);
                let mut with = |more: More| {
                    let mut dag = dag.clone();
                    let result = operation(&mut dag, a, more);
                    dags.push(dag.rooted(result));
                };
                with(&mut leaves(1));
                for choice in 0..4 {
                    // The smallest, the largest, and two between them.
                    with(&mut |dag, ty| {
                        let all = values(ty);
                        dag.leaf(Op::Literal(all[(all.len() - 1) * choice / 3].clone()), ty)
                    });
                }
            }
        }
    }
    dags
}

/// Inputs, their sums, differences and products through up to three casts, extensions and truncations.
fn chains() -> Vec<Dag> {
    let mut bases = Vec::new();
    for ty in [uint(3), sint(3)] {
        let mut dag = Dag::default();
        let (a, b) = (leaf(&mut dag, 0, ty), leaf(&mut dag, 1, ty));
        bases.push(dag.rooted(a));
        for f in [Arithmetic::Add, Arithmetic::Sub, Arithmetic::Mul] {
            let mut dag = dag.clone();
            dag.push(Op::Arithmetic(f, a, b));
            bases.push(dag);
        }
    }
    let (mut all, mut longest) = (bases.clone(), bases);
    for _ in 0..3 {
        longest = longest.iter().flat_map(links).collect();
        all.extend(longest.iter().cloned());
    }
    all
}

/// One more link at the end of a chain.
fn links(dag: &Dag) -> Vec<Dag> {
    let (last, ty) = (dag.nodes.len() - 1, dag.result());
    let mut ops = vec![if ty.signed { Op::AsUint(last) } else { Op::AsSint(last) }];
    ops.extend([1, 4].map(|more| Op::Extend(last, ty.width + more)));
    ops.extend([1, 2, 4].into_iter().filter(|&less| less < ty.width).map(|less| Op::Truncate(last, ty.width - less)));
    ops.into_iter()
        .map(|op| {
            let mut longer = dag.clone();
            longer.push(op);
            longer
        })
        .collect()
}
