//! Computing engine: dot products of vectors of any length, in which multiplications by zero are skipped.
//!
//! Elements go round the vector processing units (VPUs), so each has its share of a vector of any length. Within a VPU
//! they fill one multiplication unit (MU) after the other; units without elements stand still. A lane whose product is
//! zero keeps the operands it had. That saves energy and no time: a beat is a cycle whatever it holds.

use crate::blocks::common::arith::adder_tree;
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, FieldArray, In, InStream, Index, Module, OutStream, Proof, Signal,
    Timing, Type, bit, bits_for, bundle, cat, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ComputingEngine {
        /// Vector processing units.
        vpus: u32 = 4, in 1..=16, tag "v";
        /// Multiplication units of a VPU.
        units: u32 = 16, in 1..=64, tag "u";
        /// Multiplications of an MU.
        lanes: u32 = 4, in 1..=64, tag "l";
        /// Bits of an element.
        operand_width: u32 = 8, in 2..=16, tag "w";
        /// Beats of the longest vector.
        max_beats: u32 = 16, in 1..=4096, tag "b";
    }
    rules = |p, rules| {
        let all = u64::from(p.vpus) * u64::from(p.units) * u64::from(p.lanes);
        rules.demand(all <= 4096, "units", p.units, "at most 4096 multiplications in all");
    };
}

bundle! {
    /// A full vector, or a part of one.
    pub struct DotBeat(p: ComputingEngine) {
        /// Elements in use; more than there are: all.
        length: Field = uint(bits_for(p.capability().into())),
        /// The elements of `a` are signed.
        a_signed: Field = bit(),
        /// Elements of one side, queries or probabilities.
        a: FieldArray = uint(p.operand_width).array(p.capability()),
        /// Elements of the other side, keys or values.
        b: FieldArray = sint(p.operand_width).array(p.capability()),
        /// The beat is the last one of its vectors.
        last: Field = bit(),
    }
}

bundle! {
    /// The result of two vectors.
    pub struct DotResult(p: ComputingEngine) {
        /// Their dot product.
        sum: Field = p.sum(),
        /// Multiplications that were skipped: of elements in use with a zero on either side.
        skipped: Field = p.skipped(),
        /// The vectors had more beats than `max_beats`; sum and skipped are of no use.
        overlong: Field = bit(),
    }
}

ports! {
    /// Ports of [`ComputingEngine`].
    pub struct ComputingEnginePorts(p: &ComputingEngine) {
        /// Drops all beats inside, vectors that have begun, and a result that waits; nothing is taken in this cycle.
        clear_i: In = bit(),
        /// The next elements of two vectors.
        input: InStream<DotBeat> = p.clone(),
        /// Their dot product.
        output: OutStream<DotResult> = p.clone(),
    }
}

impl ComputingEngine {
    /// Elements of a beat: what the paper calls the engine's maximum capability.
    #[must_use]
    pub fn capability(&self) -> u32 {
        self.vpus * self.units * self.lanes
    }

    /// Elements of the longest vectors.
    #[must_use]
    pub fn longest(&self) -> u64 {
        u64::from(self.capability()) * u64::from(self.max_beats)
    }

    /// Type of a dot product of so many elements, exact: the largest of (2^w - 1) x -2^(w - 1) comes from an unsigned
    /// `a`.
    fn sum_of(&self, elements: u64) -> Type {
        let width = self.operand_width;
        sint(bits_for(elements * (((1 << width) - 1) << (width - 1))) + 1)
    }

    /// Type of a result.
    #[must_use]
    pub fn sum(&self) -> Type {
        self.sum_of(self.longest())
    }

    /// Type of the number of skipped multiplications.
    #[must_use]
    pub fn skipped(&self) -> Type {
        uint(bits_for(self.longest()))
    }

    fn place(&self, (v, u, l): (Index, Index, Index)) -> Index {
        u * (self.lanes * self.vpus) + l * self.vpus + v
    }
}

impl Block for ComputingEngine {
    type Ports = ComputingEnginePorts;
    const ABOUT: About = About {
        name: "computing_engine",
        summary: "dot products of vectors of any length that skip zeros",
        contract: "sum = sum of a[i] x b[i] over the elements in use of all beats up to `last`, exact for up to\n\
            max_beats beats. skipped = how many of these elements have a zero on either side. Element i belongs to\n\
            VPU i mod vpus, and to its MU i / (vpus x lanes). A beat a cycle; a result comes 3 cycles after its\n\
            last beat was taken. While a result waits, all stands still. Vectors of more beats come out with\n\
            overlong, and the next ones are right.",
        reference: "Titanus, section 4.2, figure 5",
    };

    fn build(&self, m: &mut Module, io: &ComputingEnginePorts) {
        let going = !io.clear_i;
        let waits = m.net("waits", bit());
        let moves = m.wire("moves", !waits);
        m.connect(io.input.ready, moves & going);
        let take = m.wire("take", io.input.fire());

        m.comment("Operands.");
        let (operands, operands_last) = (m.reg_init("operands_q", bit(), 0), m.reg("operands_last_q", bit()));
        operands.next(mux(moves, take, operands.q) & going);
        operands_last.next_when(moves, io.input.last);
        m.comment("Products and their sums in an MU.");
        let (sums, sums_last) = (m.reg_init("sums_q", bit(), 0), m.reg("sums_last_q", bit()));
        sums.next(mux(moves, operands.q, sums.q) & going);
        sums_last.next_when(moves, operands_last.q);
        let add = m.wire("add", operands.q & moves);

        let (width, capability) = (self.operand_width, self.capability());
        let zeros = m.regs("zero_there", bit(), capability);
        let products = m.nets("products", self.sum_of(1), capability);
        let vpu = m.nets("vpu", self.sum_of(u64::from(self.units * self.lanes)), self.vpus);
        m.for_each("vpu", self.vpus, |m, v| {
            let unit = m.nets("unit", self.sum_of(self.lanes.into()), self.units);
            m.for_each("unit", self.units, |m, u| {
                let product = m.nets("product", self.sum_of(1), self.lanes);
                let counts = m.nets("counts", bit(), self.lanes);
                m.for_each("lane", self.lanes, |m, l| {
                    let place = self.place((v, u, l));
                    let (a, b) = (io.input.a.at(place), io.input.b.at(place));
                    let used = m.wire("used", io.input.length.gt(place.value(io.input.length.width())));
                    let zero = m.wire("zero", !(a.any() & b.any()));
                    let load = m.wire("load", take & used & !zero);
                    let sign = m.wire("sign", io.input.a_signed & a.msb());
                    let (a_q, b_q) = (m.reg("a_q", sint(width + 1)), m.reg("b_q", sint(width)));
                    a_q.next_when(load, cat(&[sign, a]).as_sint());
                    b_q.next_when(load, b);
                    let counts_q = m.reg("counts_q", bit());
                    counts_q.next_when(take, used & !zero);
                    zeros.next_when(m, place, take, used & zero);
                    m.connect(counts.at(l), counts_q.q);
                    let exact = (a_q.q * b_q.q).truncate(self.sum_of(1).width);
                    m.connect(products.at(place), mux(counts_q.q, exact, 0));
                    m.connect(product.at(l), products.at(place));
                });
                let active = m.wire("active", counts.packed().any());
                let sum = adder_tree(m, "unit_sum", product, |lanes| self.sum_of(lanes.into()));
                let (sum_q, active_q) = (m.reg("unit_sum_q", sum.ty()), m.reg("active_q", bit()));
                sum_q.next_when(add & active, sum);
                active_q.next_when(add, active);
                m.connect(unit.at(u), mux(active_q.q, sum_q.q, 0));
            });
            let sum = adder_tree(m, "vpu_sum", unit, |units| self.sum_of(u64::from(units * self.lanes)));
            m.connect(vpu.at(v), sum);
        });
        let total = adder_tree(m, "all_sum", vpu, |vpus| self.sum_of(u64::from(vpus * self.units * self.lanes)));
        let total = m.wire("total", total);
        let zero = adder_tree(m, "zeros", zeros.q, |places| uint(bits_for(places.into())));
        let zero_q = m.reg("zeros_q", zero.ty());
        zero_q.next_when(add, zero);
        let at = Stages {
            moves,
            take,
            operands: operands.q,
            operands_last: operands_last.q,
            sums: sums.q,
            sums_last: sums_last.q,
            products,
            zeros: zeros.q,
            total,
            zero: zero_q.q,
        };
        self.accumulate(m, io, waits, &at);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(3)
    }
}

/// The stages before the accumulator.
struct Stages {
    moves: Signal,
    take: Signal,
    operands: Signal,
    operands_last: Signal,
    sums: Signal,
    sums_last: Signal,
    /// Of the operands.
    products: Array,
    zeros: Array,
    /// Of the sums.
    total: Signal,
    zero: Signal,
}

impl ComputingEngine {
    fn accumulate(&self, m: &mut Module, io: &ComputingEnginePorts, waits: Signal, at: &Stages) {
        let going = !io.clear_i;
        let adds = m.wire("adds", at.sums & at.moves);
        let begins = m.reg_init("begins_q", bit(), 1);
        begins.next(mux(adds, at.sums_last, begins.q) | io.clear_i);
        let (sum, skipped) = (m.reg("sum_q", self.sum()), m.reg("skipped_q", self.skipped()));
        let before = m.wire("sum_before", mux(begins.q, self.sum().lit(0), sum.q));
        sum.next_when(adds, before.wrapping_add(at.total.extend(self.sum().width)));
        let zeros_before = mux(begins.q, self.skipped().lit(0), skipped.q);
        skipped.next_when(adds, zeros_before.wrapping_add(at.zero.extend(self.skipped().width)));
        m.comment("Beats of these vectors up to now; one too many stays so.");
        let counter = uint(bits_for(u64::from(self.max_beats) + 1));
        let beats = m.reg("beats_q", counter);
        let over = m.wire("over", beats.q.gt(self.max_beats));
        let more = mux(over, beats.q, beats.q.wrapping_add(1));
        beats.next_when(adds, mux(begins.q, counter.lit(1), more));
        let done = m.reg_init("done_q", bit(), 0);
        done.next(mux(at.moves, at.sums & at.sums_last, done.q) & going);
        m.connect(waits, done.q & !io.output.ready);
        m.connect(io.output.valid, done.q);
        m.connect(io.output.sum, sum.q);
        m.connect(io.output.skipped, skipped.q);
        m.connect(io.output.overlong, over);
        if self.capability() <= 2 && self.operand_width == 2 {
            self.properties(m, io, at, Sums { adds, begins: begins.q, done: done.q });
        }
    }

    /// The result of a beat in one step, beside the result of the stages. Skipping changes no sum, and no beat is lost,
    /// doubled, or added to other vectors.
    fn properties(&self, m: &mut Module, io: &ComputingEnginePorts, at: &Stages, sums: Sums) {
        let Sums { adds, begins, done } = sums;
        m.formal(|m| {
            let (wide, count, going) = (self.sum(), self.skipped(), !io.clear_i);
            let each = |f: &dyn Fn(u32) -> Signal, ty: Type| {
                (0..self.capability()).fold(ty.lit(0), |sum, i| sum.wrapping_add(f(i).extend(ty.width)))
            };
            let used = |i: u32| io.input.length.gt(i);
            let product = |i: u32| {
                let a = io.input.a.at(i);
                let exact = cat(&[io.input.a_signed & a.msb(), a]).as_sint() * io.input.b.at(i);
                mux(used(i), exact.truncate(self.sum_of(1).width), 0)
            };
            let zero = |i: u32| used(i) & (io.input.a.at(i).eq(0) | io.input.b.at(i).eq(0));
            let reg = |m: &mut Module, name: &str, ty, enable, value| {
                let reg = m.reg(name, ty);
                reg.next_when(enable, value);
                reg.q
            };
            let first = reg(m, "formal_first_q", wide, at.take, each(&product, wide));
            let first_zeros = reg(m, "formal_first_zeros_q", count, at.take, each(&zero, count));
            let add = at.operands & at.moves;
            let second = reg(m, "formal_second_q", wide, add, first);
            let second_zeros = reg(m, "formal_second_zeros_q", count, add, first_zeros);
            let products = each(&|i| at.products.at(i), wide).eq(first);
            let zeros = each(&|i| at.zeros.at(i), count).eq(first_zeros);
            m.assert_always("operands_are_the_beat", !at.operands | (products & zeros));
            let sums = at.total.extend(wide.width).eq(second) & at.zero.extend(count.width).eq(second_zeros);
            m.assert_always("skipping_changes_no_sum", !at.sums | sums);

            // Since the last beat that was a last one.
            let open = m.reg_init("formal_open_q", bit(), 0);
            open.next(mux(adds, !at.sums_last, open.q) & going);
            m.assert_always("vectors_begin_anew", open.q.ne(begins));
            let (sum, total) = (m.reg("formal_sum_q", wide), m.reg("formal_total_q", count));
            sum.next_when(adds, mux(open.q, sum.q, 0).wrapping_add(second));
            total.next_when(adds, mux(open.q, total.q, 0).wrapping_add(second_zeros));
            let same = io.output.sum.eq(sum.q) & io.output.skipped.eq(total.q);
            m.assert_always("sums_of_all_beats", !(open.q | done) | same);
            m.assert_always("done_is_closed", !(open.q & done));

            let inside = m.reg_init("formal_inside_q", uint(2), 0);
            let enters = at.take & io.input.last;
            let now = inside.q.wrapping_add(enters.extend(2)).wrapping_sub(io.output.fire().extend(2));
            inside.next(mux(going, now, 0));
            let stages = [at.operands & at.operands_last, at.sums & at.sums_last, done];
            let seen = stages.iter().fold(uint(2).lit(0), |n, stage| n.wrapping_add(stage.extend(2)));
            m.assert_always("no_result_lost_or_doubled", inside.q.eq(seen));
            m.cover("three_results_inside", inside.q.eq(3));
            m.cover("all_skipped", io.output.fire() & io.output.skipped.eq(2 * self.capability()));
            m.cover("too_long", io.output.fire() & io.output.overlong);
        });
    }
}

/// The sums of vectors.
struct Sums {
    /// A beat is added.
    adds: Signal,
    /// The next beat begins vectors.
    begins: Signal,
    /// The sums of vectors are done.
    done: Signal,
}

impl CatalogBlock for ComputingEngine {
    const SAMPLE: &'static [(&'static str, u32)] =
        &[("vpus", 2), ("units", 2), ("lanes", 2), ("operand_width", 3), ("max_beats", 2)];

    fn configurations() -> Vec<Self> {
        let set = |vpus, units, lanes, operand_width, max_beats| Self { vpus, units, lanes, operand_width, max_beats };
        vec![set(1, 1, 1, 2, 1), set(2, 3, 2, 8, 3), set(3, 1, 4, 5, 5), set(4, 2, 4, 8, 16)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = Self { vpus: 2, units: 1, lanes: 1, operand_width: 2, max_beats: 2 };
        vec![Proof { block, depth: 8, cover_depth: 12, induction: true }]
    }
}
