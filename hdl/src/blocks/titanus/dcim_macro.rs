//! Digital compute-in-memory: a matrix of weights that stays, and vectors that come bit by bit.
//!
//! Bits go to all cells from the sign on. Each cycle the trees have the sum of the weights whose input has this bit.
//! The registers after the trees double the sum so far and add the new one. The sum of the signs is subtracted.

use super::dcim_cells::{DcimCells, DcimImplementation};
use crate::lang::{
    About, Block, CatalogBlock, Field, FieldArray, In, InStream, Module, OutStream, Proof, Signal, Timing, Type, bit,
    bits_for, bundle, cat, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct DcimMacro {
        /// Bits of an input, signed: cycles of a vector.
        input_width: u32 = 8, in 2..=16, tag "x";
        /// Weights and adder trees.
        cells: DcimCells = DcimCells::default();
    }
}

bundle! {
    /// The weights of one input.
    pub struct WeightRow(p: DcimCells) {
        /// Which input; an input that does not exist changes nothing.
        row: Field = p.row(),
        /// Its weight for each output.
        weights: FieldArray = sint(p.weight_width).array(p.outputs),
    }
}

bundle! {
    /// A vector of inputs.
    pub struct DcimVector(p: DcimMacro) {
        /// One for each input.
        x: FieldArray = sint(p.input_width).array(p.cells.inputs),
    }
}

bundle! {
    /// The result of a vector.
    pub struct DcimResult(p: DcimMacro) {
        /// One for each output.
        sums: FieldArray = p.sum().array(p.cells.outputs),
    }
}

ports! {
    /// Ports of [`DcimMacro`].
    pub struct DcimMacroPorts(p: &DcimMacro) {
        /// Drops the vectors inside and a result that waits; nothing is taken in this cycle, and weights stay.
        clear_i: In = bit(),
        /// Weights of an input; they wait for the vector at work, and the next vector waits for them.
        write: InStream<WeightRow> = p.cells.clone(),
        /// A vector.
        input: InStream<DcimVector> = p.clone(),
        /// Its sums.
        output: OutStream<DcimResult> = p.clone(),
    }
}

impl DcimMacro {
    /// Type of a result, exact.
    #[must_use]
    pub fn sum(&self) -> Type {
        let largest = u64::from(self.cells.inputs) << (self.cells.weight_width + self.input_width - 2);
        sint(bits_for(largest) + 1)
    }
}

impl Block for DcimMacro {
    type Ports = DcimMacroPorts;
    const ABOUT: About = About {
        name: "dcim_macro",
        summary: "digital compute-in-memory: a vector times weights that stay, bit by bit",
        contract: "sums[k] = sum over the inputs of x[r] x weight[r][k], exact, with the weights at the time of\n\
            taking the vector. A result comes input_width + 2 cycles after its vector was taken; vectors are taken\n\
            every input_width cycles. While a result waits, vectors inside stand still. write_ready_o is low until\n\
            all bits of a vector are used, so weights never change under one; a row that is offered goes before the\n\
            next vector. Weights are unknown until written; reset and clear_i leave them.",
        reference: "Titanus, section 4.2",
    };

    fn build(&self, m: &mut Module, io: &DcimMacroPorts) {
        let width = self.input_width;
        let counter = uint(bits_for(width.into()));
        let going = !io.clear_i;
        let waits = m.net("waits", bit());
        let moves = m.wire("moves", !waits);
        m.comment("Bits of the vector at work that the cells have not seen.");
        let left = m.reg_init("left_q", counter, 0);
        let busy = m.wire("busy", left.q.any());
        let step = m.wire("step", busy & moves);
        let last = m.wire("last", left.q.eq(1));
        let free = m.wire("free", !busy | (last & moves));
        m.connect(io.write.ready, free);
        m.connect(io.input.ready, free & moves & !io.write.valid & going);
        let take = m.wire("take", io.input.fire());
        let fewer = mux(step, left.q.wrapping_sub(1), left.q);
        left.next(mux(going, mux(take, counter.lit(width), fewer), 0));

        let u = m.instance("u_cells", self.cells.clone());
        m.connect(u.write_i, io.write.fire());
        m.connect(u.row_i, io.write.row);
        m.connect_each("weights", u.data_i, io.write.weights);
        m.connect(u.step_i, step);
        let bits = m.regs("x", sint(width), self.cells.inputs);
        m.for_each("input", self.cells.inputs, |m, r| {
            let x = bits.q.at(r);
            let shifted = x.shl(1).truncate(width);
            bits.next_when(m, r, take | step, mux(take, io.input.x.at(r), shifted));
            m.connect(u.bits_i.at(r), x.msb());
        });

        m.comment("Marks that go with the sums of a bit.");
        let added = m.reg_init("added_q", bit(), 0);
        let (sign, end) = (m.reg("sign_q", bit()), m.reg("end_q", bit()));
        added.next(mux(moves, busy, added.q) & going);
        sign.next_when(moves, left.q.eq(width));
        end.next_when(moves, last);
        let adds = m.wire("adds", added.q & moves);
        let sums = m.regs("sum", self.sum(), self.cells.outputs);
        m.for_each("output", self.cells.outputs, |m, k| {
            let (width, partial) = (self.sum().width, u.partial_o.at(k));
            let doubled = sums.q.at(k).shl(1).truncate(width);
            let negative = (-partial).extend(width);
            sums.next_when(m, k, adds, mux(sign.q, negative, doubled.wrapping_add(partial.extend(width))));
            m.connect(io.output.sums.at(k), sums.q.at(k));
        });
        let done = m.reg_init("done_q", bit(), 0);
        done.next(mux(moves, added.q & end.q, done.q) & going);
        m.connect(io.output.valid, done.q);
        m.connect(waits, done.q & !io.output.ready);
        let state = State {
            left: left.q,
            step,
            x: bits.q.at(0),
            added: added.q,
            sign: sign.q,
            end: end.q,
            adds,
            done: done.q,
            partial: u.partial_o.at(0),
            sum: sums.q.at(0),
        };
        self.properties(m, io, &state);
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(self.input_width + 2).initiation(self.input_width)
    }
}

/// State for the properties: the first input and the first output.
struct State {
    left: Signal,
    step: Signal,
    x: Signal,
    added: Signal,
    sign: Signal,
    end: Signal,
    adds: Signal,
    done: Signal,
    partial: Signal,
    sum: Signal,
}

impl DcimMacro {
    /// The cells see the bits of the vector that was taken, from its sign on, with weights that stay. Each of their
    /// sums has the weight of its bit, and no vector is lost or doubled. The cells' own proofs cover their sums.
    fn properties(&self, m: &mut Module, io: &DcimMacroPorts, state: &State) {
        let width = self.input_width;
        // Shifts below are written out.
        if width > 4 {
            return;
        }
        let State { left, step, x, added, sign, end, adds, done, partial, sum } = *state;
        m.formal(|m| {
            let going = !io.clear_i;
            let taken = m.reg("formal_x_q", sint(width));
            taken.next_when(io.input.fire(), io.input.x.at(0));
            let place = m.wire("formal_place", left.wrapping_sub(1));
            m.assert_always("bits_in_order", !step | x.msb().eq(taken.q.as_uint().bit_at(place)));
            for n in 1..=width {
                let kept = taken.q.slice(0..n);
                let rest = if n == width { taken.q } else { cat(&[kept, uint(width - n).lit(0)]).as_sint() };
                m.assert_always(&format!("bits_left_{n}"), left.ne(n) | x.eq(rest));
            }
            m.assert_always("weights_stay", !io.write.fire() | left.eq(0) | (step & left.eq(1)));

            // The place of the bit in the trees' sums, and the place of the bit that was added last.
            let at = m.reg("formal_at_q", left.ty());
            at.next_when(!(done & !io.output.ready), place);
            let reached = m.reg("formal_reached_q", left.ty());
            reached.next_when(adds, at.q);
            let wide = self.sum().width + width;
            let worth = m.wire("formal_worth", partial.extend(wide).shl_by(at.q));
            let total = m.reg("formal_total_q", sint(wide));
            let zero = sint(wide).lit(0);
            total.next_when(adds, mux(sign, zero.wrapping_sub(worth), total.q.wrapping_add(worth)));
            m.assert_always("sign_first", !added | sign.eq(at.q.eq(width - 1)));
            m.assert_always("end_last", !added | end.eq(at.q.eq(0)));
            m.assert_always("in_turn", !added | sign | reached.q.eq(at.q.wrapping_add(1)));
            m.assert_always("places", (!added | at.q.lt(width)) & left.le(width));
            let middle = left.any() & left.ne(width);
            m.assert_always("no_gap", !middle | (added & at.q.eq(left)));
            m.assert_always("whole", middle | !added | end);
            let worth_it = sum.extend(wide).shl_by(reached.q).eq(total.q);
            let begun = m.wire("formal_begun", (added & !sign) | done);
            m.assert_always("sums_are_worth_their_bits", !begun | worth_it);
            m.assert_always("a_result_is_whole", !done | (reached.q.eq(0) & sum.extend(wide).eq(total.q)));

            let inside = m.reg_init("formal_inside_q", uint(2), 0);
            let now = inside.q.wrapping_add(io.input.fire().extend(2)).wrapping_sub(io.output.fire().extend(2));
            inside.next(mux(going, now, 0));
            let seen = left.any().extend(2).wrapping_add((added & end).extend(2)).wrapping_add(done.extend(2));
            m.assert_always("no_vector_lost_or_doubled", inside.q.eq(seen));
            let (waited, kept) = (m.reg_init("formal_waited_q", bit(), 0), m.reg("formal_kept_q", sum.ty()));
            waited.next(done & !io.output.ready & going);
            kept.next(sum);
            m.assert_always("a_result_stays", !waited.q | (done & sum.eq(kept.q)));
            m.cover("two_inside", inside.q.eq(2));
            m.cover("a_row_between_two_vectors", io.write.fire() & step);
            m.cover("a_negative_result", io.output.fire() & sum.lt(0));
        });
    }
}

impl CatalogBlock for DcimMacro {
    // One input and one output have no tree, and one MU no other that rests.
    const SAMPLE: &'static [(&'static str, u32)] =
        &[("input_width", 3), ("cells.inputs", 3), ("cells.outputs", 2), ("cells.weight_width", 3)];

    fn configurations() -> Vec<Self> {
        use DcimImplementation::{BlackBox, Registers};
        let set = |inputs, outputs, weight_width, input_width, implementation| {
            let cells = DcimCells { inputs, outputs, weight_width, implementation, ..DcimCells::default() };
            Self { input_width, cells }
        };
        let named = DcimCells {
            macro_name: "FOUNDRY_CIM".into(),
            port_map: "clk=CLK write=WE, partial=NOUT".into(),
            ..set(6, 2, 8, 8, BlackBox).cells
        };
        vec![
            set(1, 1, 2, 2, Registers),
            set(4, 2, 8, 8, Registers),
            set(13, 3, 4, 5, Registers),
            set(4, 2, 8, 8, BlackBox),
            set(13, 3, 4, 5, BlackBox),
            Self { input_width: 8, cells: named },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let cells = DcimCells { inputs: 3, outputs: 1, weight_width: 2, ..DcimCells::default() };
        [2, 4]
            .map(|input_width| {
                let block = Self { input_width, cells: cells.clone() };
                Proof { block, depth: 6, cover_depth: 16, induction: true }
            })
            .into()
    }
}
