//! Expressions as hardware: one module with many expressions, and its expected outputs.

use std::fmt;

use hdl::lang::{
    About, Array, Block, Direction, Index, Module, Parameters, PortBuilder, Ports, Signal, Type, mux, select, uint,
};
use num_bigint::{BigInt, BigUint};

use super::expr::{Arithmetic, Compare, Dag, Logic, Op, Place, bits};

/// Elements of each array port.
pub const ARRAY: u32 = 7;

/// A module with one output for each case; all cases read the same inputs.
#[derive(Clone, Debug)]
pub struct Fuzz {
    pub name: String,
    pub inputs: Vec<Type>,
    pub arrays: Vec<Type>,
    pub cases: Vec<Case>,
}

#[derive(Clone, Debug)]
pub enum Case {
    Plain(Dag),
    /// Two nested loops (one when there is one column) that drive an array of nets, then two that read it.
    Loop {
        rows: u32,
        columns: u32,
        first: Dag,
        second: Dag,
    },
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Case::Plain(dag) => write!(f, "{dag}"),
            Case::Loop { rows, columns, first, second } => {
                write!(f, "loop {rows} x {columns}\n{first}then\n{second}")
            }
        }
    }
}

/// Values of all inputs.
#[derive(Clone, Debug)]
pub struct Vector {
    pub inputs: Vec<BigInt>,
    pub arrays: Vec<Vec<BigInt>>,
}

impl Case {
    pub fn result(&self) -> Type {
        match self {
            Case::Plain(dag) => dag.result(),
            Case::Loop { second, .. } => second.result(),
        }
    }

    pub fn elements(&self) -> Option<u32> {
        match self {
            Case::Plain(_) => None,
            Case::Loop { rows, columns, .. } => Some(rows * columns),
        }
    }

    pub fn size(&self) -> usize {
        match self {
            Case::Plain(dag) => dag.nodes.len(),
            Case::Loop { rows, columns, first, second } => {
                first.nodes.len() + second.nodes.len() + (rows * columns) as usize
            }
        }
    }

    /// The bits of the output port.
    pub fn expected(&self, vector: &Vector) -> BigUint {
        let width = self.result().width;
        match self {
            Case::Plain(dag) => last(dag, vector, None, &[], width),
            Case::Loop { rows, columns, first, second } => {
                let (n, m) = (*rows as usize, *columns as usize);
                let place = |k: usize| Some([(k / m) as i64, (k % m) as i64]);
                let at = |k: usize, locals: &[BigInt]| evaluate(first, vector, place(k), locals);
                let nets: Vec<BigInt> = (0..n * m).map(|k| at(k, &[])).collect();
                let element = |k: usize| {
                    let local = nets[(n - 1 - k / m) * m + k % m].clone();
                    last(second, vector, place(k), &[local], width)
                };
                (0..n * m).rev().fold(BigUint::from(0_u8), |all, k| (all << width) | element(k))
            }
        }
    }
}

fn last(dag: &Dag, vector: &Vector, at: Option<[i64; 2]>, local: &[BigInt], width: u32) -> BigUint {
    bits(&evaluate(dag, vector, at, local), width).to_biguint().expect("bits are not negative")
}

fn evaluate(dag: &Dag, vector: &Vector, at: Option<[i64; 2]>, local: &[BigInt]) -> BigInt {
    let [i, j] = at.unwrap_or([0, 0]);
    let leaf = |op: &Op| match op {
        Op::Input(k) => vector.inputs[*k].clone(),
        Op::Element(k, p) => vector.arrays[*k][(p.row * i + p.column * j + p.offset) as usize].clone(),
        Op::Index(which) => [i, j][*which].into(),
        _ => local[0].clone(),
    };
    dag.eval(&leaf).pop().expect("a DAG has nodes")
}

#[derive(Debug)]
pub struct FuzzPorts {
    pub inputs: Vec<Signal>,
    pub arrays: Vec<Array>,
    pub outputs: Vec<Output>,
}

#[derive(Debug)]
pub enum Output {
    Scalar(Signal),
    Array(Array),
}

impl Ports<Fuzz> for FuzzPorts {
    fn declare(b: &mut PortBuilder, p: &Fuzz) -> Self {
        let scalars = p.inputs.iter().enumerate();
        let arrays = p.arrays.iter().enumerate();
        let outputs = p.cases.iter().enumerate();
        Self {
            inputs: scalars.map(|(k, &ty)| b.scalar(&format!("x{k}_i"), Direction::Input, ty)).collect(),
            arrays: arrays.map(|(k, &ty)| b.array(&format!("v{k}_i"), Direction::Input, ty.array(ARRAY))).collect(),
            outputs: outputs
                .map(|(k, case)| match case.elements() {
                    None => Output::Scalar(b.scalar(&format!("y{k}_o"), Direction::Output, case.result())),
                    Some(n) => Output::Array(b.array(&format!("y{k}_o"), Direction::Output, case.result().array(n))),
                })
                .collect(),
        }
    }
}

impl Parameters for Fuzz {
    const SOURCE: &'static str = file!();

    fn values(&self) -> serde_json::Value {
        self.name.as_str().into()
    }
}

impl Block for Fuzz {
    type Ports = FuzzPorts;
    const ABOUT: About = About {
        name: "fuzz",
        summary: "random expressions",
        contract: "each output is one expression of the inputs",
        reference: "",
    };

    fn module_name(&self) -> String {
        self.name.clone()
    }

    fn build(&self, m: &mut Module, io: &FuzzPorts) {
        io.inputs.iter().for_each(|&x| m.unused(x));
        io.arrays.iter().for_each(|v| m.unused(v.at(0)));
        for (k, (case, output)) in self.cases.iter().zip(&io.outputs).enumerate() {
            match (case, output) {
                (Case::Plain(dag), Output::Scalar(y)) => {
                    let value = describe(dag, m, io, &format!("y{k}"), None, None);
                    m.connect(*y, value);
                }
                (Case::Loop { rows, columns, first, second }, Output::Array(y)) => {
                    let nets = m.grid(&format!("y{k}_net"), first.result(), *rows, *columns);
                    let all = |m: &mut Module, name: &str, f: &dyn Fn(&mut Module, [Index; 2])| {
                        if *columns == 1 {
                            m.for_each(name, *rows, |m, i| f(m, [i, Index::from(0)]));
                        } else {
                            m.for_each(name, *rows, |m, i| {
                                m.for_each(&format!("{name}_j"), *columns, |m, j| f(m, [i, j]));
                            });
                        }
                    };
                    all(m, &format!("y{k}_first"), &|m, at| {
                        let value = describe(first, m, io, &format!("y{k}_a"), Some(at), None);
                        m.connect(nets.at((at[0], at[1])), value);
                    });
                    all(m, &format!("y{k}_second"), &|m, at| {
                        let local = nets.at((Index::from(*rows - 1) - at[0], at[1]));
                        let value = describe(second, m, io, &format!("y{k}_b"), Some(at), Some(local));
                        m.connect(y.at(at[0] * *columns + at[1]), value);
                    });
                }
                _ => unreachable!("ports are made from the cases"),
            }
        }
    }
}

/// Builds an expression with the language. Who reads a named part of it may be cut away.
pub fn describe(
    dag: &Dag,
    m: &mut Module,
    io: &FuzzPorts,
    name: &str,
    at: Option<[Index; 2]>,
    local: Option<Signal>,
) -> Signal {
    let [i, j] = at.unwrap_or([Index::from(0); 2]);
    let mut s: Vec<Signal> = Vec::with_capacity(dag.nodes.len());
    for (id, (op, ty)) in dag.nodes.iter().enumerate() {
        let signal = match op {
            Op::Input(k) => io.inputs[*k],
            Op::Element(k, Place { row, column, offset }) => io.arrays[*k].at(i * *row + j * *column + *offset),
            Op::Local => local.expect("only second loops read nets"),
            Op::Index(which) => [i, j][*which].value(ty.width),
            Op::Literal(value) => ty.lit(value.clone()),
            Op::Arithmetic(f, a, b) => match f {
                Arithmetic::Add => s[*a] + s[*b],
                Arithmetic::Sub => s[*a] - s[*b],
                Arithmetic::Mul => s[*a] * s[*b],
                Arithmetic::WrappingAdd => s[*a].wrapping_add(s[*b]),
                Arithmetic::WrappingSub => s[*a].wrapping_sub(s[*b]),
            },
            Op::ArithmeticLiteral(f, a, value) => match f {
                Arithmetic::Add => s[*a] + *value,
                Arithmetic::Sub => s[*a] - *value,
                Arithmetic::Mul => s[*a] * *value,
                Arithmetic::WrappingAdd => s[*a].wrapping_add(*value),
                Arithmetic::WrappingSub => s[*a].wrapping_sub(*value),
            },
            Op::Compare(f, a, b) => compare(*f, s[*a], s[*b]),
            Op::CompareLiteral(f, a, value) => compare(*f, s[*a], *value),
            Op::Logic(f, a, b) => match f {
                Logic::And => s[*a] & s[*b],
                Logic::Or => s[*a] | s[*b],
                Logic::Xor => s[*a] ^ s[*b],
            },
            Op::Not(a) => !s[*a],
            Op::Neg(a) => -s[*a],
            Op::Mux(c, a, b) => mux(s[*c], s[*a], s[*b]),
            Op::Select(choices, default) => {
                let choices: Vec<_> = choices.iter().map(|&(c, v)| (s[c], s[v])).collect();
                select(&choices, s[*default])
            }
            Op::Lookup(index, values) => {
                let values: Vec<_> = values.iter().map(|&v| s[v]).collect();
                let value = m.lookup(&format!("{name}_n{id}"), s[*index], &values);
                m.unused(value);
                value
            }
            Op::Cat(parts) => hdl::lang::cat(&parts.iter().map(|&p| s[p]).collect::<Vec<_>>()),
            Op::Repeat(a, n) => s[*a].repeat(*n),
            Op::Slice(a, low, width) => s[*a].slice(*low..low + width),
            Op::Msb(a) => s[*a].msb(),
            Op::BitAt(a, index) => s[*a].bit_at(s[*index]),
            Op::Extend(a, width) => s[*a].extend(*width),
            Op::Truncate(a, width) => s[*a].truncate(*width),
            Op::Saturate(a, width) => s[*a].saturate(*width),
            Op::AsSint(a) => s[*a].as_sint(),
            Op::AsUint(a) => s[*a].as_uint(),
            Op::Shl(a, n) => s[*a].shl(*n),
            Op::Shr(a, n) => s[*a].shr(*n),
            Op::ShlBy(a, n) => s[*a].shl_by(s[*n]),
            Op::ShrBy(a, n) => s[*a].shr_by(s[*n]),
            Op::Any(a) => s[*a].any(),
            Op::All(a) => s[*a].all(),
            Op::Parity(a) => s[*a].parity(),
            Op::Wire(a) => {
                let wire = m.wire(&format!("{name}_n{id}"), s[*a]);
                m.unused(wire);
                wire
            }
        };
        assert_eq!(signal.ty(), *ty, "type of {op:?} in {dag:?}");
        s.push(signal);
    }
    s.pop().unwrap_or_else(|| uint(1).lit(0))
}

fn compare(f: Compare, a: Signal, b: impl hdl::lang::Operand) -> Signal {
    match f {
        Compare::Eq => a.eq(b),
        Compare::Ne => a.ne(b),
        Compare::Lt => a.lt(b),
        Compare::Le => a.le(b),
        Compare::Gt => a.gt(b),
        Compare::Ge => a.ge(b),
    }
}
