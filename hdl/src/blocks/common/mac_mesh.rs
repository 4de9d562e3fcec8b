//! Plain output-stationary MAC mesh: the yardstick that accelerator arrays are compared with.
//!
//! Activations move right, weights move down, one step a cycle. Each PE accumulates the products of its operands.
//! No skew registers and no drain: the testbench skews its inputs. One row of accumulators is read at a time.

use crate::lang::{
    About, Block, CatalogBlock, In, InArray, Module, Out, OutArray, Proof, Rules, Signal, Timing, bit, index_width,
    mux, parameters, ports, sint, uint,
};

parameters! {
    /// One multiply-accumulate cell.
    pub struct MacPe {
        /// Width of an activation and of a weight in bits, signed.
        operand_width: u32 = 8, in 2..=32, tag "w";
        /// Width of the accumulator in bits, signed, wrapping.
        accumulator_width: u32 = 32, in 4..=128, note "at least 2 x operand_width", tag "a";
    }
    rules = |p, rules| holds_a_product(rules, p.operand_width, p.accumulator_width);
}

fn holds_a_product(rules: &mut Rules, operand_width: u32, accumulator_width: u32) {
    let least = 2 * operand_width;
    let allowed = format!("2 x operand_width = {least} to 128");
    rules.demand(accumulator_width >= least, "accumulator_width", accumulator_width, allowed);
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
        /// Accumulator, wrapping; unknown until the first `clear_i`.
        acc_o: Out = sint(p.accumulator_width),
    }
}

impl Block for MacPe {
    type Ports = MacPePorts;
    const ABOUT: About = About {
        name: "mac_pe",
        summary: "one multiply-accumulate a cycle, operands passed on to the neighbours",
        contract: "acc_o after an edge = (clear_i ? 0 : acc_o) + act_i * weight_i before it, modulo 2^accumulator_width. \
            clear_i may come at any time: it drops the sum so far. Reset clears clear_o only; acc_o is valid from \
            the first clear_i on.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &MacPePorts) {
        let clear = m.reg_init("clear_q", bit(), 0);
        let act = m.reg("act_q", sint(self.operand_width));
        let weight = m.reg("weight_q", sint(self.operand_width));
        let acc = m.reg("acc_q", sint(self.accumulator_width));
        let product = m.wire("product", io.act_i * io.weight_i);
        let base = m.wire("base", mux(!io.clear_i, acc.q, 0));
        clear.next(io.clear_i);
        act.next(io.act_i);
        weight.next(io.weight_i);
        acc.next(base.wrapping_add(product.extend(self.accumulator_width)));
        m.connect(io.clear_o, clear.q);
        m.connect(io.act_o, act.q);
        m.connect(io.weight_o, weight.q);
        m.connect(io.acc_o, acc.q);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

parameters! {
    /// A mesh of [`MacPe`].
    pub struct MacMesh {
        /// Rows of PEs.
        rows: u32 = 16, in 1..=1024, tag "r";
        /// Columns of PEs.
        columns: u32 = 16, in 1..=1024, tag "c";
        /// Width of an activation and of a weight in bits, signed.
        operand_width: u32 = 8, in 2..=32, tag "w";
        /// Width of an accumulator in bits, signed, wrapping.
        accumulator_width: u32 = 32, in 4..=128, note "at least 2 x operand_width", tag "a";
    }
    rules = |p, rules| holds_a_product(rules, p.operand_width, p.accumulator_width);
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
        /// Row of accumulators to read; past the end, the last one.
        row_i: In = uint(index_width(u64::from(p.rows))),
        /// The accumulators of row `row_i`, in the same cycle; accumulators that were never cleared are unknown.
        acc_o: OutArray = sint(p.accumulator_width).array(p.columns),
    }
}

impl MacMesh {
    fn pe(&self) -> MacPe {
        MacPe { operand_width: self.operand_width, accumulator_width: self.accumulator_width }
    }
}

impl MacMesh {
    /// What is proved of a small mesh (`ifdef FORMAL`): every sum that `acc_o` shows is the sum over the operands since
    /// the last clear, each delayed by the distance of its PE. Clears and resets may come at any time.
    fn properties(&self, m: &mut Module, io: &MacMeshPorts) {
        if self.rows * self.columns > 6 || self.operand_width > 2 {
            return;
        }
        let later = |m: &mut Module, name: &str, mut signal: Signal, cycles: u32| {
            for cycle in 1..=cycles {
                let name = format!("spec_{name}_{cycle}_q");
                // Only clears are known after a reset.
                let held = if signal.width() == 1 { m.reg_init(&name, bit(), 0) } else { m.reg(&name, signal.ty()) };
                held.next(signal);
                signal = held.q;
            }
            signal
        };
        m.formal(|m| {
            for (r, c) in (0..self.rows).flat_map(|r| (0..self.columns).map(move |c| (r, c))) {
                let clear = later(m, &format!("clear_{r}_{c}"), io.clear_i.at(r), c);
                let act = later(m, &format!("act_{r}_{c}"), io.act_i.at(r), c);
                let weight = later(m, &format!("weight_{r}_{c}"), io.weight_i.at(c), r);
                // The weights that were on their way at a reset still come.
                let filled = later(m, &format!("filled_{r}_{c}"), bit().lit(1), r);
                let known = m.reg_init(&format!("spec_known_{r}_{c}_q"), bit(), 0);
                let sum = m.reg(&format!("spec_sum_{r}_{c}_q"), sint(self.accumulator_width));
                known.next(mux(clear, filled, known.q));
                let before = mux(!clear, sum.q, 0);
                sum.next(before.wrapping_add((act * weight).extend(self.accumulator_width)));
                let read = known.q & io.row_i.eq(r);
                m.assert_always(&format!("sum_{r}_{c}"), !read | io.acc_o.at(c).eq(sum.q));
                m.cover(&format!("negative_{r}_{c}"), read & !clear & sum.q.lt(-3));
            }
        });
    }
}

impl Block for MacMesh {
    type Ports = MacMeshPorts;
    const ABOUT: About = About {
        name: "mac_mesh",
        summary: "output-stationary mesh of multiply-accumulate cells",
        contract: "clear_i[r] and act_i[r] reach PE (r, c) after c cycles, weight_i[c] reaches it after r cycles. acc_o shows \
            row row_i in the same cycle. A row may be cleared at any time: each of its PEs drops its sum when the clear \
            reaches it. Reset cancels the clears that are still in the array; operands stay. A sum is valid from the first \
            clear that reaches its PE with operands that entered after the reset.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &MacMeshPorts) {
        let (rows, columns) = (self.rows, self.columns);
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
                let u = m.instance("u_pe", self.pe());
                m.connect(u.clear_i, clear.at((r, c)));
                m.connect(u.act_i, act.at((r, c)));
                m.connect(u.weight_i, weight.at((r, c)));
                m.connect(clear.at((r, c + 1)), u.clear_o);
                m.connect(act.at((r, c + 1)), u.act_o);
                m.connect(weight.at((r + 1, c)), u.weight_o);
                m.connect(acc.at((r, c)), u.acc_o);
            });
        });
        m.for_each("read", columns, |m, c| m.connect(io.acc_o.at(c), acc.at((io.row_i, c))));
        self.properties(m, io);
    }

    fn timing(&self) -> Timing {
        let skew = self.rows + self.columns - 2;
        Timing::new().beat(1).phase("skew", skew, "from the first PE's product to the last PE's product")
    }
}

impl CatalogBlock for MacMesh {
    fn configurations() -> Vec<Self> {
        let set =
            |rows, columns, operand_width, accumulator_width| Self { rows, columns, operand_width, accumulator_width };
        vec![set(1, 1, 2, 4), set(3, 5, 4, 11), set(7, 2, 8, 24), set(2, 2, 32, 65)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |rows, columns| {
            let block = Self { rows, columns, operand_width: 2, accumulator_width: 5 };
            Proof { block, depth: 8, cover_depth: 10, induction: true }
        };
        vec![proof(1, 1), proof(2, 2), proof(3, 2)]
    }
}
