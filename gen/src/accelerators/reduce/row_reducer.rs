//! A row of fp16 numbers as one record: sum, minimum, maximum, place of the maximum.

use hdl::blocks::common::bus::RowBeat;
use hdl::blocks::common::row::{FixedLane, Half, SquareLane, later, later_valid, tree, tree_latency};
use hdl::lang::{
    About, Block, Field, In, InStream, Module, OutStream, Signal, Timing, bit, bundle, cat, mux, or_all, parameters,
    ports, power_of_two, select, sint, uint,
};

/// Bits of an element in units of 2^-24.
const FIXED: u32 = 41;

parameters! {
    /// Elaboration parameters.
    pub struct RowReducer {
        /// Elements of a beat.
        lanes: u32 = 8, in power_of_two(2..=64), tag "l";
    }
}

bundle! {
    /// What a row comes to.
    pub struct RowRecord(_unit: ()) {
        /// Its finite elements added up, in units of 2^-24; two's complement, modulo 2^64.
        sum: Field = sint(64),
        /// Place of the first of its largest elements, from 0 on.
        index: Field = uint(32),
        /// Its smallest element that is a number, fp16; 0x7e00 where none is. -0 is less than 0.
        minimum: Field = uint(16),
        /// Its largest one, likewise.
        maximum: Field = uint(16),
        /// Some element is infinite or no number.
        special: Field = bit(),
    }
}

ports! {
    /// Ports of [`RowReducer`].
    pub struct RowReducerPorts(p: &RowReducer) {
        /// Drops the row at the coming edge.
        clear_i: In = bit(),
        /// Rows.
        input: InStream<RowBeat> = hdl::blocks::common::AxiSpec { data_width: 16 * p.lanes, ..Default::default() },
        /// A record for each row.
        output: OutStream<RowRecord> = (),
    }
}

impl RowReducer {
    /// Cycles from a row's last beat to its record.
    #[must_use]
    pub fn latency(&self) -> u32 {
        self.sums() + 1
    }

    /// Cycles from a beat to its sum.
    fn sums(&self) -> u32 {
        SquareLane::latency() + tree_latency(self.lanes)
    }

    /// Bits of the place of an element in a beat.
    fn place(&self) -> u32 {
        self.lanes.trailing_zeros()
    }
}

impl Block for RowReducer {
    type Ports = RowReducerPorts;
    const ABOUT: About = About {
        name: "row_reducer",
        summary: "rows of fp16 numbers to sum, minimum, maximum and place of the maximum",
        contract: "A row takes a beat a cycle. Its record is there `latency` cycles after its last beat, and the next\n\
            row begins after the record has left. Minus infinity is the least number, infinity the largest. Infinities\n\
            and NaNs add nothing to the sum; NaNs are no minimum and no maximum.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &RowReducerPorts) {
        let (lanes, input, output) = (self.lanes, &io.input, &io.output);
        let waits = m.reg_init("waits_q", bit(), 0);
        let starts = m.wire("starts", io.clear_i | output.fire());
        let takes = m.wire("takes", input.fire());
        m.connect(input.ready, !waits.q & !io.clear_i);
        waits.next(!starts & (waits.q | (takes & input.row_last)));
        m.unused(input.last);

        m.comment("Elements as integers, and as keys in their order; the key of a NaN, or of no element, is 0.");
        let x = m.split("x", input.data.data, uint(16).array(lanes));
        let values = m.nets("value", sint(FIXED), lanes);
        let specials = m.nets("special", bit(), lanes);
        let largest = m.nets("largest", uint(17 + self.place()), lanes);
        let smallest = m.nets("smallest", uint(17 + self.place()), lanes);
        m.for_each("element", lanes, |m, i| {
            let element = x.at(i);
            let used = m.wire("used", input.bytes.shr(1).gt(i.value(input.bytes.width())));
            let lane = m.instance("u_fixed", FixedLane {});
            m.connect(lane.used_i, used);
            m.connect(lane.x_i, element);
            m.connect(values.at(i), lane.value_o.as_sint());
            let half = Half::new(m, "half", element);
            m.unused(half.significand);
            m.unused(half.scale);
            m.connect(specials.at(i), used & half.special);
            let counts = m.wire("counts", used & !half.nan);
            let key = m.wire("key", mux(half.sign, !element, element ^ uint(16).lit(0x8000)));
            // Of equal elements the first one: its place is the largest in reverse.
            let place = !i.value(self.place());
            let there = counts.repeat(16);
            m.connect(largest.at(i), cat(&[counts, key & there, place]));
            m.connect(smallest.at(i), cat(&[counts, !key & there, place]));
        });

        m.comment("A beat, then all beats of the row.");
        let late = self.sums();
        let came = later_valid(m, "came", takes, late, io.clear_i);
        let last = later(m, "last", input.row_last, late);
        let special = later(m, "specials", or_all(bit(), &specials.elements()), late);
        let sum = tree(m, "sum", values, |ty| sint(ty.width + 1), |_, _, a, b| a + b);
        let [largest, smallest] = [("largest", largest), ("smallest", smallest)].map(|(name, keys)| {
            let best = tree(m, &format!("{name}_of"), keys, |ty| ty, |_, _, a, b| mux(a.ge(b), a, b));
            later(m, &format!("{name}_late"), best, SquareLane::latency())
        });
        let total = m.reg_init("total_q", sint(64), 0);
        let next = mux(came, total.q.wrapping_add(sum.extend(64)), total.q);
        total.next(mux(starts, sint(64).lit(0), next));
        let strange = m.reg_init("strange_q", bit(), 0);
        strange.next(!starts & (strange.q | (came & special)));
        let number = uint(32 - self.place());
        let beats = m.reg_init("beats_q", number, 0);
        beats.next(mux(starts, number.lit(0), mux(came, beats.q.wrapping_add(1), beats.q)));
        let (maximum, index) = self.best(m, "largest", largest, (came, starts), Some(beats.q));
        let (minimum, _) = self.best(m, "smallest", smallest, (came, starts), None);
        let done = m.reg_init("done_q", bit(), 0);
        done.next(!starts & (done.q | (came & last)));

        let number = |key: Signal, counts: Signal| {
            let bits = mux(key.msb(), key ^ uint(16).lit(0x8000), !key);
            mux(counts, bits, uint(16).lit(0x7e00))
        };
        m.connect(output.valid, done.q);
        m.connect(output.sum, total.q);
        m.connect(output.special, strange.q);
        m.connect(output.maximum, number(maximum.slice(0..16), maximum.bit(16)));
        m.connect(output.minimum, number(!minimum.slice(0..16), minimum.bit(16)));
        m.connect(output.index, index.unwrap_or(uint(32).lit(0)));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}

impl RowReducer {
    /// The largest key of the row so far, with the bit that says that there is one; and its place, given the number of
    /// the beat. A key of a beat is greater than the same key of an earlier beat only if it is larger.
    fn best(
        &self,
        m: &mut Module,
        name: &str,
        beat: Signal,
        (came, starts): (Signal, Signal),
        number: Option<Signal>,
    ) -> (Signal, Option<Signal>) {
        let place = self.place();
        let key = m.wire(&format!("{name}_key"), beat.slice(place..place + 17));
        let best = m.reg_init(&format!("{name}_q"), uint(17), 0);
        let better = m.wire(&format!("{name}_is_better"), came & key.gt(best.q));
        best.next(select(&[(starts, uint(17).lit(0)), (better, key)], best.q));
        let index = number.map(|number| {
            let index = m.reg_init(&format!("{name}_index_q"), uint(32), 0);
            index.next(select(&[(starts, uint(32).lit(0)), (better, cat(&[number, !beat.slice(0..place)]))], index.q));
            index.q
        });
        if number.is_none() {
            m.unused(beat);
        }
        (best.q, index)
    }
}
