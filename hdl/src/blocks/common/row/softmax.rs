//! Softmax of rows, with an online maximum.
//!
//! Powers of e are powers of two of x log2 e. Weights are relative to the largest whole part of these logarithms so
//! far. When this maximum grows, the sum is shifted, so the row need not be read again. A beat is kept as mantissas, as
//! places below the maximum of its time, and as that maximum.

use super::adder::add;
use super::half::{ToRound, round_latency, round_to_half};
use super::pipe::{later, later_valid, tree, tree_latency};
use super::power::{FRACTION, PowerLane, WHOLE};
use super::product::{product, product_latency};
use super::reciprocal::{NARROWEST, RECIPROCAL, RowReciprocal};
use super::rms_norm::NormBeat;
use super::row_frame::RowFrame;
use crate::blocks::common::stream::FifoStorage;
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, FieldArray, In, InStream, Module, Out, OutStream, Signal, Timing, bit,
    bits_for, bundle, cat, connect_all, mux, parameters, ports, sint, uint,
};

/// Bits of the number of places that a weight is below the maximum; the largest number means that the weight is 0.
const BELOW: u32 = 6;
/// Bits of the exponent of a row.
const EXPONENT: u32 = 9;

parameters! {
    /// Elaboration parameters.
    pub struct Softmax {
        /// Elements of a beat.
        lanes: u32 = 16, in 1..=4096, tag "l";
        /// Beats of the longest row.
        max_beats: u32 = 64, in 1..=65536, tag "b";
        /// Beats that are kept. With twice max_beats a row can enter while another one leaves.
        buffer: u32 = 128, in 1..=65_536, note "at least max_beats", tag "k";
        /// Where beats are kept.
        storage: FifoStorage = FifoStorage::Memory, tag "";
    }
    rules = |p, rules| rules.part("max_beats", &p.frame());
}

bundle! {
    /// Part of a row of probabilities.
    pub struct SoftmaxResult(lanes: u32) {
        /// fp16 numbers; undefined for elements that are not in use.
        values: FieldArray = uint(16).array(*lanes),
        /// Elements in use: all, except in a last beat.
        used: Field = uint(bits_for((*lanes).into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
        /// The row broke a rule: the same in all of its beats.
        error: Field = bit(),
        /// Plus infinity or a NaN counts, and all of the row is NaN: the same in all of its beats.
        undefined: Field = bit(),
        /// No element that counts exceeds minus infinity. All of the row is 0, if it is not undefined: the same in all
        /// of its beats.
        empty: Field = bit(),
    }
}

ports! {
    /// Ports of [`Softmax`].
    pub struct SoftmaxPorts(p: &Softmax) {
        /// Drops everything inside at the coming edge. Nothing is taken in this cycle; a beat that leaves in this cycle
        /// has left.
        clear_i: In = bit(),
        /// Number of elements of the row that count, from its first one on; read with its first beat. All others are
        /// treated as minus infinity.
        length_i: In = uint(p.count_width()),
        /// Rows that come; there are no gains.
        input: InStream<NormBeat> = (p.lanes, false),
        /// The same rows, as probabilities.
        output: OutStream<SoftmaxResult> = p.lanes,
    }
}

parameters! {
    /// No parameters.
    pub struct ShareLane {
    }
}

ports! {
    /// Ports of [`ShareLane`].
    pub struct ShareLanePorts(p: &ShareLane) {
        /// Mantissa of the weight: its places after the point.
        mantissa_i: In = uint(FRACTION),
        /// Places by which the weight is below the maximum of its time.
        below_i: In = uint(BELOW),
        /// Reciprocal of the sum.
        digits_i: In = uint(RECIPROCAL),
        /// The share is mantissa * digits * 2^(exponent - below), with the mantissa as an integer; a cycle after the others.
        exponent_i: In = sint(EXPONENT),
        /// The result is a NaN.
        nan_i: In = bit(),
        /// The share, fp16, [`ShareLane::latency`] cycles later.
        y_o: Out = uint(16),
    }
}

impl ShareLane {
    /// Cycles from the weight to the share.
    #[must_use]
    pub fn latency() -> u32 {
        product_latency(RECIPROCAL, FRACTION + 1) + round_latency(FRACTION + 1 + RECIPROCAL)
    }
}

impl Block for ShareLane {
    type Ports = ShareLanePorts;
    const ABOUT: About = About {
        name: "share_lane",
        summary: "a weight times the reciprocal of a sum, rounded to fp16",
        contract: "y_o = (2^16 + mantissa_i) * digits_i * 2^(exponent_i - below_i) of `latency` cycles ago, to nearest, ties to even;\n\
            exponent_i comes a cycle later than the other inputs. nan_i gives 0x7e00.",
        reference: "IEEE 754, section 4.3.1",
    };

    fn build(&self, m: &mut Module, io: &ShareLanePorts) {
        let mantissa = cat(&[bit().lit(1), io.mantissa_i]);
        let magnitude = product(m, "share", io.digits_i, mantissa);
        let wide = EXPONENT + 1;
        let (below, nan) = (later(m, "below", io.below_i, 1), later(m, "nan", io.nan_i, 1));
        let exponent = io.exponent_i.extend(wide).as_uint().wrapping_sub(below.extend(wide));
        let exponent = m.wire("exponent", exponent);
        let beside = later(m, "beside", cat(&[nan, exponent]), product_latency(RECIPROCAL, FRACTION + 1) - 1);
        let value = ToRound {
            sign: bit().lit(0),
            magnitude,
            exponent: beside.slice(0..wide).as_sint(),
            infinite: bit().lit(0),
            nan: beside.msb(),
        };
        let result = round_to_half(m, "round", value);
        m.connect(io.y_o, result);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(Self::latency())
    }
}

impl CatalogBlock for ShareLane {
    fn configurations() -> Vec<Self> {
        Vec::new()
    }
}

impl Softmax {
    /// Bits of the number of elements of a row.
    fn count_width(&self) -> u32 {
        bits_for(u64::from(self.lanes) * u64::from(self.max_beats))
    }

    /// Places of the sum after the point: the loss of all elements together is below 2^-16.
    #[must_use]
    pub fn places(&self) -> u32 {
        FRACTION + self.count_width()
    }

    /// Bits of the sum: each weight is below 2. For rows of one element it has a spare bit, since reciprocals need as
    /// many.
    fn sum_width(&self) -> u32 {
        (self.places() + 1 + self.count_width()).max(NARROWEST)
    }

    fn reciprocal(&self) -> RowReciprocal {
        RowReciprocal { width: self.sum_width() }
    }

    /// Cycles from a beat to its whole parts, to the maximum with it, and to all values that are kept of it.
    fn passed(&self) -> (u32, u32, u32) {
        let whole = 1 + PowerLane::whole_latency();
        let most = whole + tree_latency(self.lanes) + 1;
        (whole, most, (most + 1).max(1 + PowerLane::latency()))
    }

    /// The frame of the rows.
    #[must_use]
    pub fn frame(&self) -> RowFrame {
        let prepared = self.passed().2;
        RowFrame {
            width: self.lanes.saturating_mul(16),
            lanes: self.lanes,
            max_beats: self.max_beats,
            buffer: self.buffer,
            row_width: self.count_width(),
            preparation: prepared,
            kept_width: self.lanes.saturating_mul(FRACTION + BELOW).saturating_add(WHOLE),
            result_width: WHOLE + RECIPROCAL + EXPONENT + 2,
            output_width: self.lanes.saturating_mul(16).saturating_add(2),
            analysis: prepared + 1 + tree_latency(self.lanes) + 1 + self.reciprocal().latency(),
            scaling: 1 + ShareLane::latency(),
            storage: self.storage,
        }
    }

    /// Cycles from the first beat that is offered to the last one that leaves, for a row of `elements` that is alone
    /// and never waits.
    #[must_use]
    pub fn cycles(&self, elements: u32) -> u32 {
        self.frame().cycles(elements)
    }
}

impl Block for Softmax {
    type Ports = SoftmaxPorts;
    const ABOUT: About = About {
        name: "softmax",
        summary: "softmax of fp16 rows with an online maximum",
        contract: "y = e^x / sum of e^x over the first length_i elements of the row; the other elements give 0. e^x\n\
            is a power of two of x log2 e with 16 places; its mantissa of 16 places comes from 64 lines. The sum is\n\
            relative to the largest whole part so far. It has 16 places, and as many more as the longest length has\n\
            bits. Its reciprocal of 18 places comes from 256 lines. The product is rounded once.\n\
            A row of n elements takes 2 ceil(n / lanes) + latency - 1 cycles, latency from its last beat to its\n\
            first result; rows follow each other without a break as long as the buffer holds what is inside.\n\
            A row in which +infinity or a NaN counts is undefined: all of it is NaN (0x7e00). A row is empty if all\n\
            elements that count are -infinity, or length_i is 0: all of it is 0. Elements that do not count may be\n\
            anything.\n\
            Broken rules are repaired and told by output_error_o in all beats of the row: input_used_i of 0 or more\n\
            than `lanes` counts as `lanes`, and the beats of a row after the first max_beats are taken and dropped.\n\
            clear_i drops all rows inside, even a row that has not ended: the next beat begins a row.",
        reference: "Milakov and Gimelshein, arXiv:1805.02867 (online maximum); Stevens et al., Softermax, DAC 2021 (powers of two)",
    };

    fn build(&self, m: &mut Module, io: &SoftmaxPorts) {
        let clear = io.clear_i;
        let frame = m.instance("u_frame", self.frame());
        m.connect(frame.clear_i, clear);
        m.connect_handshake(&frame.input, &io.input);
        connect_all!(m, frame.input, io.input, [used, last]);
        m.connect(frame.input.data.data, io.input.values.packed());
        if let Some(row) = frame.row_i {
            m.connect(row, io.length_i);
        }
        let length = frame.beat_row_o.unwrap_or(io.length_i);
        m.unused(frame.beat_last_o);
        m.unused(frame.beat_count_o);
        m.unused(frame.lane_valid_o);
        let beat = Control { valid: frame.beat_valid_o, first: frame.beat_first_o, clear };
        let counts = self.counts(m, &beat, frame.beat_used_o, length);
        let data = m.wire("beat", frame.beat_data_o);
        let (kept, answer) = self.analyse(m, &beat, data, counts);
        if let Some(port) = frame.kept_i {
            m.connect(port, kept);
        }
        m.connect(frame.result_i, answer);

        let (kept, answer) = (m.wire("lane_kept", frame.lane_data_o), m.wire("lane_answer", frame.lane_result_o));
        let made = self.shares(m, kept, answer);
        m.connect(frame.lane_i, made);
        m.connect_handshake(&io.output, &frame.output);
        let (word, lanes) = (m.wire("word", frame.output.data.data), self.lanes);
        m.connect(io.output.values.packed(), word.slice(0..16 * lanes));
        connect_all!(m, io.output, frame.output, [used, last, error]);
        m.connect(io.output.undefined, word.bit(16 * lanes));
        m.connect(io.output.empty, word.bit(16 * lanes + 1));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.frame().latency())
    }
}

/// Flags of a beat.
struct Control {
    valid: Signal,
    first: Signal,
    clear: Signal,
}

impl Control {
    /// `valid` and `first`, `count` cycles later.
    fn later(&self, m: &mut Module, name: &str, count: u32) -> (Signal, Signal) {
        let valid = later_valid(m, &format!("{name}_valid"), self.valid, count, self.clear);
        (valid, later(m, &format!("{name}_first"), self.first, count))
    }
}

impl Softmax {
    /// Per lane whether its element counts, a cycle later.
    fn counts(&self, m: &mut Module, beat: &Control, used: Signal, length: Signal) -> Array {
        let lanes = self.lanes;
        let ty = length.ty();
        let rest = m.reg("rest_q", ty);
        let now = m.wire("rest", mux(beat.first, length, rest.q));
        let less = now.wrapping_sub(lanes);
        rest.next_when(beat.valid, mux(now.gt(lanes), less, ty.lit(0)));
        let counts = m.regs("counts", bit(), lanes);
        m.for_each("counts", lanes, |m, i| {
            let inside = now.gt(i.value(ty.width)) & used.gt(i.value(used.width()));
            counts.next(m, i, inside);
        });
        counts.q
    }

    /// The values that are kept of a beat, and the answer to a row.
    fn analyse(&self, m: &mut Module, beat: &Control, data: Signal, counts: Array) -> (Signal, Signal) {
        let lanes = self.lanes;
        let data = later(m, "counted", data, 1);
        let x = m.split("x", data, uint(16).array(lanes));
        let whole = m.nets("whole", sint(WHOLE), lanes);
        let mantissa = m.nets("mantissa", uint(FRACTION), lanes);
        let (nothing, undefined) = (m.nets("nothing", bit(), lanes), m.nets("undefined", bit(), lanes));
        m.for_each("powers", lanes, |m, i| {
            let u = m.instance("u_power", PowerLane {});
            m.connect(u.counts_i, counts.at(i));
            m.connect(u.x_i, x.at(i));
            m.connect(whole.at(i), u.whole_o);
            m.connect(nothing.at(i), u.nothing_o);
            m.connect(undefined.at(i), u.undefined_o);
            m.connect(mantissa.at(i), u.mantissa_o);
        });

        m.comment("The largest whole part so far.");
        let (at_whole, at_most, at_kept) = self.passed();
        let here = tree(m, "most", whole, |ty| ty, |_, _, a, b| mux(a.gt(b), a, b));
        let odd = later(m, "odd", undefined.packed().any(), tree_latency(lanes));
        let (valid, first) = beat.later(m, "most", at_most - 1);
        let most = m.reg("most_q", sint(WHOLE));
        most.next_when(valid, mux(first | here.gt(most.q), here, most.q));
        let bad = m.reg("bad_q", bit());
        bad.next_when(valid, odd | (bad.q & !first));
        // How far it grew; not used for a first beat.
        let grown = m.reg("grown_q", uint(BELOW));
        let before = m.reg("before_q", sint(WHOLE));
        before.next_when(valid, most.q);
        grown.next(places_below(m, "growth", most.q, before.q));

        m.comment("Weights relative to it.");
        let waits = at_most - at_whole;
        let below = m.regs("below", uint(BELOW), lanes);
        m.for_each("below", lanes, |m, i| {
            let (whole, nothing) =
                (later(m, "whole_late", whole.at(i), waits), later(m, "nothing_late", nothing.at(i), waits));
            let places = places_below(m, "places", most.q, whole);
            below.next(m, i, places | nothing.repeat(BELOW));
        });
        let (q, width) = (self.places(), self.sum_width());
        let weight = m.regs("weight", uint(q + 1), lanes);
        let kept = m.nets("kept", uint(FRACTION + BELOW), lanes);
        let (spare, early) = (at_kept - at_most - 1, at_kept - 1 - PowerLane::latency());
        m.for_each("weights", lanes, |m, i| {
            let below = later(m, "below_late", below.q.at(i), spare);
            let mantissa = later(m, "mantissa_late", mantissa.at(i), early);
            m.connect(kept.at(i), cat(&[below, mantissa]));
            let one = cat(&[bit().lit(1), mantissa, uint(q - FRACTION).lit(0)]);
            weight.next(m, i, one.shr_by(below) & (!below.all()).repeat(q + 1));
        });
        let most_kept = later(m, "most_late", most.q.as_uint(), 1 + spare);

        m.comment("Their sum.");
        let sum = tree(m, "sum", weight.q, |ty| uint(ty.width + 1), |m, name, a, b| add(m, name, a, b, false));
        let to_sum = 1 + tree_latency(lanes);
        // The shift of the sum is known a cycle before, and waits as a one-hot word: that is the shorter half of a
        // shifter. All zeros begin a row. Without a beat nothing is shifted, and nothing is added.
        let (valid, first) = beat.later(m, "sum", at_kept + to_sum - 1);
        let grown = later(m, "grown_late", grown.q, spare + to_sum - 1);
        let moves = m.reg("moves_q", uint(width));
        let stays = cat(&[uint(width - 1).lit(0), !valid]);
        moves.next(uint(width).lit(1).shl_by(grown) & (valid & !first).repeat(width) | stays);
        let adds = later(m, "adds", valid, 1);
        let total = m.reg("total_q", uint(width));
        let above = m.wire("above", total.q.extend(2 * width - 1));
        let kept_sum = m.nets("kept_sum", bit(), width);
        m.for_each("move", width, |m, i| m.connect(kept_sum.at(i), (above.slice_at(i, width) & moves.q).any()));
        let sum = if sum.width() > width { sum.truncate(width) } else { sum.extend(width) };
        let sum = sum & adds.repeat(width);
        let whole_sum = add(m, "whole", kept_sum.packed(), sum, false).truncate(width);
        total.next(whole_sum);

        m.comment("Its reciprocal.");
        let inverse = self.reciprocal();
        let u = m.instance("u_reciprocal", inverse.clone());
        m.connect(u.a_i, total.q);
        // 2^places / 2^(18 + top), and the places of a mantissa.
        let offset = i64::from(q) - i64::from(RECIPROCAL - 1) - i64::from(width - 1) - i64::from(FRACTION);
        let exponent = u.count_o.extend(EXPONENT).wrapping_add(uint(EXPONENT).lit(offset.rem_euclid(1 << EXPONENT)));
        let wait = to_sum + 1 + inverse.latency();
        let most = later(m, "most_answer", most_kept, wait);
        let bad = later(m, "bad_late", bad.q, 1 + spare + wait);
        let digits = u.digits_o & (!u.zero_o).repeat(RECIPROCAL);
        (cat(&[most_kept, kept.packed()]), cat(&[u.zero_o, bad, most, exponent, digits]))
    }

    /// The probabilities of a beat, and the flags of its row.
    fn shares(&self, m: &mut Module, kept: Signal, answer: Signal) -> Signal {
        let lanes = self.lanes;
        let word = FRACTION + BELOW;
        let digits = answer.slice(0..RECIPROCAL);
        let exponent = answer.slice(RECIPROCAL..RECIPROCAL + EXPONENT);
        let most = answer.slice(RECIPROCAL + EXPONENT..RECIPROCAL + EXPONENT + WHOLE).as_sint();
        let flags = answer.slice(RECIPROCAL + EXPONENT + WHOLE..RECIPROCAL + EXPONENT + WHOLE + 2);
        m.comment("How much the maximum grew since the beat came.");
        let then = kept.slice(lanes * word..lanes * word + WHOLE).as_sint();
        let grown = places_below(m, "since", most, then);
        let (exponent, grown) = (later(m, "row_exponent", exponent, 1), later(m, "since_then", grown, 1));
        let exponent = exponent.wrapping_sub(grown.extend(EXPONENT));
        let exponent = later(m, "lane_exponent", exponent, 1).as_sint();
        let digits = later(m, "lane_digits", digits, 1);
        let flags = later(m, "lane_flags", flags, 1);
        let kept = later(m, "lane_weights", kept.slice(0..lanes * word), 1);
        let weights = m.split("lane_weight", kept, uint(word).array(lanes));
        let y = m.nets("y", uint(16), lanes);
        m.for_each("shares", lanes, |m, i| {
            let u = m.instance("u_share", ShareLane {});
            let weight = weights.at(i);
            m.connect(u.mantissa_i, weight.slice(0..FRACTION));
            m.connect(u.below_i, weight.slice(FRACTION..word));
            m.connect(u.digits_i, digits);
            m.connect(u.exponent_i, exponent);
            m.connect(u.nan_i, flags.bit(0));
            m.connect(y.at(i), u.y_o);
        });
        let flags = later(m, "flags_late", flags, ShareLane::latency());
        cat(&[flags, y.packed()])
    }
}

/// `high` - `low`, which is not negative, or the largest number of [`BELOW`] bits if that is less.
fn places_below(m: &mut Module, name: &str, high: Signal, low: Signal) -> Signal {
    let distance = m.wire(name, high.as_uint().wrapping_sub(low.as_uint()));
    distance.slice(0..BELOW) | distance.slice(BELOW..WHOLE).any().repeat(BELOW)
}

impl CatalogBlock for Softmax {
    fn configurations() -> Vec<Self> {
        let set = |lanes, max_beats, buffer, storage| Self { lanes, max_beats, buffer, storage };
        vec![
            set(1, 6, 6, FifoStorage::Registers),
            set(3, 4, 9, FifoStorage::Registers),
            set(2, 11, 64, FifoStorage::Memory),
            set(16, 1, 60, FifoStorage::Registers),
        ]
    }
}
