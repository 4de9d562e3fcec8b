//! Layer norm of rows.
//!
//! The sums s of x and q of x^2 are exact integers, and so is n q - s^2, which is n^2 times the variance: no rounded
//! numbers cancel each other. (x - mean) / sqrt(variance + epsilon) is (n x - s) / sqrt(n q - s^2 + n^2 epsilon).

use super::adder::add;
use super::centre::{CentreLane, FIXED, FixedLane};
use super::inverse_root::{DIGITS, EXPONENT, InverseRoot};
use super::lanes::{SQUARE, SquareLane};
use super::pipe::{later, later_valid, tree, tree_latency};
use super::product::{product, product_latency, square};
use super::rms_norm::{EPSILON, NormResult, Squares, accumulate, squares};
use super::row_frame::RowFrame;
use crate::blocks::common::stream::FifoStorage;
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, FieldArray, FieldArrayOption, In, InStream, Module, OutStream, Signal,
    Timing, bit, bits_for, bundle, cat, connect_all, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct LayerNorm {
        /// Elements of a beat.
        lanes: u32 = 16, in 1..=4096, tag "l";
        /// Beats of the longest row.
        max_beats: u32 = 48, in 1..=65536, tag "b";
        /// Beats that are kept. With twice max_beats a row can enter while another one leaves.
        buffer: u32 = 128, in 1..=65_536, note "at least max_beats", tag "k";
        /// A gain and a bias for each element.
        affine: bool = true, tag "affine";
        /// Where beats are kept.
        storage: FifoStorage = FifoStorage::Memory, tag "";
    }
    rules = |p, rules| rules.part("max_beats", &p.frame());
}

bundle! {
    /// Part of a row.
    pub struct LayerBeat(shape: (u32, bool)) {
        /// fp16 numbers.
        values: FieldArray = uint(16).array(shape.0),
        /// The gain of each, fp16.
        gains: FieldArrayOption = shape.1.then(|| uint(16).array(shape.0)),
        /// The bias of each, fp16.
        biases: FieldArrayOption = shape.1.then(|| uint(16).array(shape.0)),
        /// In the last beat: number of elements in use, from the first one on.
        used: Field = uint(bits_for(shape.0.into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`LayerNorm`].
    pub struct LayerNormPorts(p: &LayerNorm) {
        /// Drops everything inside at the coming edge. Nothing is taken in this cycle; a beat that leaves in this cycle
        /// has left.
        clear_i: In = bit(),
        /// Addend to the variance, in units of 2^-48; read with the first beat of a row.
        epsilon_i: In = uint(EPSILON),
        /// Rows that come.
        input: InStream<LayerBeat> = (p.lanes, p.affine),
        /// The same rows, normalised.
        output: OutStream<NormResult> = p.lanes,
    }
}

impl LayerNorm {
    fn lane(&self) -> CentreLane {
        CentreLane { count_width: self.count_width(), affine: self.affine }
    }

    /// Bits of the number of elements of a row.
    fn count_width(&self) -> u32 {
        bits_for(u64::from(self.lanes) * u64::from(self.max_beats))
    }

    /// Bits of n q - s^2 + n^2 epsilon.
    fn whole_width(&self) -> u32 {
        SQUARE + 2 * self.count_width() + 1
    }

    fn root(&self) -> InverseRoot {
        InverseRoot { numerator_width: 1, denominator_width: self.whole_width(), places: 0 }
    }

    /// Cycles from a beat to the sums with it.
    fn sum_latency(&self) -> u32 {
        SquareLane::latency() + tree_latency(self.lanes) + 1
    }

    /// Cycles from the sums to their products.
    fn product_latency(&self) -> u32 {
        let (sum, count) = (self.lane().sum_width() - 1, self.count_width());
        1 + product_latency(sum, sum).max(product_latency(SQUARE + count, count))
    }

    /// The frame of the rows.
    #[must_use]
    pub fn frame(&self) -> RowFrame {
        RowFrame {
            width: self.lanes.saturating_mul(if self.affine { 48 } else { 16 }),
            lanes: self.lanes,
            max_beats: self.max_beats,
            buffer: self.buffer,
            row_width: EPSILON,
            preparation: 0,
            kept_width: 1,
            result_width: DIGITS + EXPONENT + 1 + self.count_width() + self.lane().sum_width(),
            output_width: self.lanes.saturating_mul(16).saturating_add(1),
            analysis: self.sum_latency() + self.product_latency() + 2 + self.root().latency(),
            scaling: self.lane().latency(),
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

impl Block for LayerNorm {
    type Ports = LayerNormPorts;
    const ABOUT: About = About {
        name: "layer_norm",
        summary: "layer norm of fp16 rows",
        contract: "y = (x - mean) / sqrt(variance + epsilon) * gain + bias, as (n x - s) * r * gain + bias, with r =\n\
            1 / sqrt(n q - s^2 + n^2 epsilon) and the exact sums s of x and q of x^2. Truncated: the radicand to 20\n\
            bits, r to 18 digits, n x - s to 22 bits. The exact product with the gain is rounded once, and its sum\n\
            with the bias again.\n\
            A row of n elements takes 2 ceil(n / lanes) + latency - 1 cycles, latency from its last beat to its\n\
            first result; rows follow each other without a break as long as the buffer holds what is inside.\n\
            A row with an infinity or a NaN, or with variance + epsilon = 0, is undefined: all of it is NaN\n\
            (0x7e00).\n\
            Gains and biases may be anything; infinities and NaNs among them follow IEEE 754 and change only their\n\
            own element.\n\
            Broken rules are repaired and told by output_error_o in all beats of the row: input_used_i of 0 or more\n\
            than `lanes` counts as `lanes`, and the beats of a row after the first max_beats are taken and dropped.\n\
            clear_i drops all rows inside, even a row that has not ended: the next beat begins a row.",
        reference: "Ba, Kiros and Hinton, arXiv:1607.06450",
    };

    fn build(&self, m: &mut Module, io: &LayerNormPorts) {
        let frame = m.instance("u_frame", self.frame());
        m.connect(frame.clear_i, io.clear_i);
        m.connect_handshake(&frame.input, &io.input);
        connect_all!(m, frame.input, io.input, [used, last]);
        let values = io.input.values.packed();
        let data = match (io.input.gains, io.input.biases) {
            (Some(gains), Some(biases)) => cat(&[biases.packed(), gains.packed(), values]),
            _ => values,
        };
        m.connect(frame.input.data.data, data);
        if let Some(row) = frame.row_i {
            m.connect(row, io.epsilon_i);
        }
        m.unused(frame.lane_valid_o);
        m.unused(frame.beat_last_o);
        let sums = self.sums(m, &frame, io.clear_i);
        let epsilon = frame.beat_row_o.unwrap_or(io.epsilon_i);
        let answer = self.answer(m, &sums, frame.beat_count_o, epsilon);
        m.connect(frame.result_i, answer);

        let (data, answer) = (m.wire("lane_data", frame.lane_data_o), m.wire("lane_answer", frame.lane_result_o));
        let made = self.scaled(m, data, answer);
        m.connect(frame.lane_i, made);
        m.connect_handshake(&io.output, &frame.output);
        let (word, lanes) = (m.wire("word", frame.output.data.data), self.lanes);
        m.connect(io.output.values.packed(), word.slice(0..16 * lanes));
        connect_all!(m, io.output, frame.output, [used, last, error]);
        m.connect(io.output.undefined, word.msb());
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.frame().latency())
    }
}

/// Sums of a row, with its last beat.
struct Sums {
    /// Of x, two's complement.
    sum: Signal,
    /// Of x^2.
    squares: Signal,
    /// An element is an infinity or a NaN.
    bad: Signal,
}

impl LayerNorm {
    fn sums(&self, m: &mut Module, frame: &<RowFrame as Block>::Ports, clear: Signal) -> Sums {
        let (lanes, width) = (self.lanes, self.lane().sum_width());
        let beat = m.wire("beat", frame.beat_data_o.slice(0..16 * lanes));
        m.unused(frame.beat_data_o);
        let x = m.split("x", beat, uint(16).array(lanes));
        let squared = squares(m, x, frame.beat_used_o);
        let values = self.values(m, x, frame.beat_used_o);
        let sum = tree(
            m,
            "values_sum",
            values,
            |ty| sint(ty.width + 1),
            |m, name, a, b| {
                let wide = a.width() + 1;
                add(m, name, a.extend(wide).as_uint(), b.extend(wide).as_uint(), false).truncate(wide).as_sint()
            },
        );
        let passed = SquareLane::latency() + tree_latency(lanes);
        let valid = later_valid(m, "sum_valid", frame.beat_valid_o, passed, clear);
        let first = later(m, "sum_first", frame.beat_first_o, passed);
        let Squares { sum: square, special } = squared;
        let squares = accumulate(m, "squares", valid, first, square, SQUARE + self.count_width());
        let wide = width.max(sum.width());
        let sum = accumulate(m, "sum", valid, first, sum.extend(wide).as_uint(), wide).truncate(width);
        let bad = m.reg("bad_q", bit());
        bad.next_when(valid, special | (bad.q & !first));
        Sums { sum, squares, bad: bad.q }
    }

    /// The elements in use in units of 2^-24, two's complement, as late as their squares.
    fn values(&self, m: &mut Module, x: Array, used: Signal) -> Array {
        let lanes = self.lanes;
        let values = m.nets("value", sint(FIXED + 1), lanes);
        m.for_each("values", lanes, |m, i| {
            let u = m.instance("u_value", FixedLane {});
            m.connect(u.used_i, used.gt(i.value(used.width())));
            m.connect(u.x_i, x.at(i));
            m.connect(values.at(i), u.value_o.as_sint());
        });
        values
    }

    /// From the sums of a row to its factor and the other numbers that its lanes need.
    fn answer(&self, m: &mut Module, sums: &Sums, count: Signal, epsilon: Signal) -> Signal {
        let (n, sum_width, width) = (self.count_width(), self.lane().sum_width(), self.whole_width());
        let count_late = later(m, "count", count, self.sum_latency());
        m.comment("n^2 times the variance, and epsilon.");
        let all = self.product_latency();
        let negative = sums.sum.msb();
        let flipped = sums.sum ^ negative.repeat(sum_width);
        let magnitude = add(m, "magnitude", flipped, negative, false).truncate(sum_width - 1);
        let magnitude = later(m, "sum_magnitude", magnitude, 1);
        let square = square(m, "mean_square", magnitude);
        let wait = all - 1 - product_latency(sum_width - 1, sum_width - 1);
        let square = later(m, "mean_square_late", square, wait);
        let total = product(m, "total", sums.squares, count_late);
        let total = later(m, "total_late", total, all - product_latency(SQUARE + n, n));
        let spread = add(m, "spread", total, square.truncate(square.width().min(width)), true).truncate(total.width());
        let spread = later(m, "spread", spread, 1);
        let once = product(m, "once", epsilon, count);
        let count_once = later(m, "count_once", count, product_latency(EPSILON, n));
        let twice = product(m, "twice", once, count_once);
        let twice = later(
            m,
            "twice_late",
            twice,
            self.sum_latency() + all + 1 - product_latency(EPSILON, n) - product_latency(EPSILON + n, n),
        );
        let whole = add(m, "whole", spread, twice, false);
        let whole = if whole.width() < width { whole.extend(width) } else { whole.truncate(width) };
        let whole = later(m, "whole", whole, 1);
        let root = m.instance("u_root", self.root());
        m.connect(root.numerator_i, 1);
        m.connect(root.denominator_i, whole);
        let rest = all + 2 + self.root().latency();
        let (sum, bad) = (later(m, "sum_late", sums.sum, rest), later(m, "bad_late", sums.bad, rest));
        let count = later(m, "count_answer", count_late, rest);
        cat(&[bad | root.zero_o, sum, count, root.exponent_o.as_uint(), root.digits_o])
    }

    /// The elements of a beat, and the flag of their row.
    fn scaled(&self, m: &mut Module, data: Signal, answer: Signal) -> Signal {
        let (lanes, n) = (self.lanes, self.count_width());
        let part = |m: &mut Module, name: &str, place: u32| {
            m.split(name, data.slice(16 * lanes * place..16 * lanes * (place + 1)), uint(16).array(lanes))
        };
        let x = part(m, "lane_x", 0);
        let affine = self.affine.then(|| (part(m, "lane_gain", 1), part(m, "lane_bias", 2)));
        let places = [DIGITS, DIGITS + EXPONENT, DIGITS + EXPONENT + n];
        let y = m.nets("y", uint(16), lanes);
        m.for_each("scale", lanes, |m, i| {
            let u = m.instance("u_scale", self.lane());
            m.connect(u.x_i, x.at(i));
            if let (Some((gain, bias)), Some((gains, biases))) = (u.gain_i.zip(u.bias_i), affine) {
                m.connect(gain, gains.at(i));
                m.connect(bias, biases.at(i));
            }
            m.connect(u.factor_i, answer.slice(0..places[0]));
            m.connect(u.exponent_i, answer.slice(places[0]..places[1]).as_sint());
            m.connect(u.count_i, answer.slice(places[1]..places[2]));
            m.connect(u.sum_i, answer.slice(places[2]..answer.width() - 1).as_sint());
            m.connect(u.nan_i, answer.msb());
            m.connect(y.at(i), u.y_o);
        });
        let undefined = later(m, "undefined", answer.msb(), self.lane().latency());
        cat(&[undefined, y.packed()])
    }
}

impl CatalogBlock for LayerNorm {
    fn configurations() -> Vec<Self> {
        let set = |lanes, max_beats, buffer, affine, storage| Self { lanes, max_beats, buffer, affine, storage };
        vec![
            set(1, 5, 5, false, FifoStorage::Registers),
            set(3, 4, 9, true, FifoStorage::Registers),
            set(2, 13, 96, true, FifoStorage::Memory),
            set(8, 1, 90, false, FifoStorage::Memory),
        ]
    }
}
