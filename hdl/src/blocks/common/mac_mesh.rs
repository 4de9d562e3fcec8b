//! Plain output-stationary MAC mesh: the yardstick that accelerator arrays are compared with.
//!
//! Activations move right, weights move down, one step a cycle; each PE accumulates the product of what it sees.
//! No skew registers and no drain: the testbench skews its inputs. One row of accumulators is read at a time.

use serde::{Deserialize, Serialize};

use crate::lang::{
    About, Block, CatalogBlock, In, InArray, Module, OldParameter, Out, OutArray, ParamError, bit, ensure_param,
    index_width, old_parameters, ports, sint, uint,
};

/// One multiply-accumulate cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacPe {
    /// Operand width in bits.
    pub operand_width: u32,
    /// Accumulator width in bits.
    pub accumulator_width: u32,
}

ports! {
    /// Ports of [`MacPe`].
    pub struct MacPePorts(p: &MacPe) {
        /// The accumulator starts again from this cycle's product.
        clear_i: In = bit(),
        /// Activation from the left neighbour.
        act_i: In = sint(p.operand_width),
        /// Weight from the neighbour above.
        weight_i: In = sint(p.operand_width),
        /// `clear_i`, one cycle later.
        clear_o: Out = bit(),
        /// `act_i`, one cycle later.
        act_o: Out = sint(p.operand_width),
        /// `weight_i`, one cycle later.
        weight_o: Out = sint(p.operand_width),
        /// Accumulator, wrapping.
        acc_o: Out = sint(p.accumulator_width),
    }
}

old_parameters!(MacPe);

impl Block for MacPe {
    type Ports = MacPePorts;
    const ABOUT: About = About {
        name: "mac_pe",
        summary: "one multiply-accumulate a cycle, operands passed on to the neighbours",
        contract: "acc_o after an edge = (clear_i ? 0 : acc_o) + act_i * weight_i before it, modulo 2^accumulator_width.",
        reference: "",
    };

    fn module_name(&self) -> String {
        format!("mac_pe_w{}_a{}", self.operand_width, self.accumulator_width)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("operand_width", self.operand_width, 2..=32)?;
        ensure_param("accumulator_width", self.accumulator_width, 2 * self.operand_width..=128)
    }

    fn build(&self, m: &mut Module, io: &MacPePorts) {
        let clear = m.reg_init("clear_q", bit(), 0);
        let act = m.reg("act_q", sint(self.operand_width));
        let weight = m.reg("weight_q", sint(self.operand_width));
        let acc = m.reg("acc_q", sint(self.accumulator_width));
        let product = m.wire("product", io.act_i * io.weight_i).extend(self.accumulator_width);
        clear.next(io.clear_i);
        act.next(io.act_i);
        weight.next(io.weight_i);
        acc.next(crate::lang::mux(io.clear_i, product, acc.q.wrapping_add(product)));
        m.connect(io.clear_o, clear.q);
        m.connect(io.act_o, act.q);
        m.connect(io.weight_o, weight.q);
        m.connect(io.acc_o, acc.q);
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("accumulate".into(), 1)]
    }
}

/// A mesh of [`MacPe`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacMesh {
    /// Rows of PEs.
    pub rows: u32,
    /// Columns of PEs.
    pub columns: u32,
    /// Operand width in bits.
    pub operand_width: u32,
    /// Accumulator width in bits.
    pub accumulator_width: u32,
}

ports! {
    /// Ports of [`MacMesh`].
    pub struct MacMeshPorts(p: &MacMesh) {
        /// Per row: start a new sum with this cycle's product in the first column.
        clear_i: InArray = bit().array(p.rows),
        /// Per row: activation into the first column.
        act_i: InArray = sint(p.operand_width).array(p.rows),
        /// Per column: weight into the first row.
        weight_i: InArray = sint(p.operand_width).array(p.columns),
        /// Row of accumulators to read.
        row_i: In = uint(index_width(u64::from(p.rows))),
        /// The accumulators of row `row_i`.
        acc_o: OutArray = sint(p.accumulator_width).array(p.columns),
    }
}

old_parameters!(MacMesh);

impl Block for MacMesh {
    type Ports = MacMeshPorts;
    const ABOUT: About = About {
        name: "mac_mesh",
        summary: "output-stationary mesh of multiply-accumulate cells",
        contract: "PE (r, c) sees act_i[r] c cycles and weight_i[c] r cycles after it entered; acc_o shows row row_i at once.",
        reference: "",
    };

    fn module_name(&self) -> String {
        format!("mac_mesh_{}x{}_w{}_a{}", self.rows, self.columns, self.operand_width, self.accumulator_width)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("rows", self.rows, 1..=1024)?;
        ensure_param("columns", self.columns, 1..=1024)?;
        MacPe { operand_width: self.operand_width, accumulator_width: self.accumulator_width }.old_check()
    }

    fn build(&self, m: &mut Module, io: &MacMeshPorts) {
        let (rows, columns) = (self.rows, self.columns);
        let pe = MacPe { operand_width: self.operand_width, accumulator_width: self.accumulator_width };
        let operand = sint(self.operand_width);
        let clear = m.grid("clear", bit(), rows, columns + 1);
        let act = m.grid("act", operand, rows, columns + 1);
        let weight = m.grid("weight", operand, rows + 1, columns);
        let acc = m.grid("acc", sint(self.accumulator_width), rows, columns);
        m.for_each("left", rows, |m, r| {
            m.connect(clear.at((r, 0)), io.clear_i.at(r));
            m.connect(act.at((r, 0)), io.act_i.at(r));
        });
        m.for_each("above", columns, |m, c| m.connect(weight.at((0, c)), io.weight_i.at(c)));
        m.for_each("row", rows, |m, r| {
            m.for_each("column", columns, |m, c| {
                let u = m.instance("u_pe", pe.clone());
                m.connect(u.clear_i, clear.at((r, c)));
                m.connect(u.act_i, act.at((r, c)));
                m.connect(u.weight_i, weight.at((r, c)));
                m.connect(clear.at((r, c + 1)), u.clear_o);
                m.connect(act.at((r, c + 1)), u.act_o);
                m.connect(weight.at((r + 1, c)), u.weight_o);
                m.connect(acc.at((r, c)), u.acc_o);
            });
        });
        // One wide choice of a row for each column, in parallel.
        m.for_each("read", columns, |m, c| {
            let choices: Vec<_> = (0..rows).map(|r| acc.at((r, c))).collect();
            let value = m.lookup("read", io.row_i, &choices);
            m.connect(io.acc_o.at(c), value);
        });
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("skew".into(), u64::from(self.rows + self.columns - 2))]
    }
}

impl Default for MacMesh {
    fn default() -> Self {
        Self { rows: 16, columns: 16, operand_width: 8, accumulator_width: 32 }
    }
}

impl CatalogBlock for MacMesh {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "rows", allowed: "1 to 1024", meaning: "rows of PEs" },
        OldParameter { name: "columns", allowed: "1 to 1024", meaning: "columns of PEs" },
        OldParameter {
            name: "operand_width",
            allowed: "2 to 32",
            meaning: "activation and weight width, bits, signed",
        },
        OldParameter {
            name: "accumulator_width",
            allowed: "2 x operand_width to 128",
            meaning: "accumulator width, bits, signed, wrapping",
        },
    ];

    fn configurations() -> Vec<Self> {
        let set =
            |rows, columns, operand_width, accumulator_width| Self { rows, columns, operand_width, accumulator_width };
        vec![set(1, 1, 2, 4), set(3, 5, 4, 11), set(7, 2, 8, 24), set(2, 2, 32, 65)]
    }
}
