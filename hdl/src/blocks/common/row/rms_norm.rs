//! Root mean square norm of rows.
//!
//! Squares of fp16 numbers are multiples of 2^-48 below 2^32: their sum is kept exactly, as an integer. With n elements,
//! the row's factor is sqrt(n / (sum + n epsilon)), to 18 digits. An element is multiplied by the factor and by its
//! gain, and the product is rounded once.

use super::adder::add;
use super::inverse_root::{DIGITS, EXPONENT, InverseRoot};
use super::lanes::{SQUARE, ScaleLane, SquareLane};
use super::pipe::{later, later_valid, tree, tree_latency};
use super::product::{product, product_latency};
use super::row_frame::RowFrame;
use crate::blocks::common::stream::FifoStorage;
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, FieldArray, FieldArrayOption, In, InStream, Module, OutStream, Signal,
    Timing, bit, bits_for, bundle, cat, connect_all, mux, parameters, ports, uint,
};

/// Bits of epsilon, in units of 2^-48.
pub(super) const EPSILON: u32 = 40;

parameters! {
    /// Elaboration parameters.
    pub struct RmsNorm {
        /// Elements of a beat.
        lanes: u32 = 16, in 1..=4096, tag "l";
        /// Beats of the longest row.
        max_beats: u32 = 48, in 1..=65536, tag "b";
        /// Beats that are kept. With twice max_beats a row can enter while another one leaves.
        buffer: u32 = 128, in 1..=65_536, note "at least max_beats", tag "k";
        /// A gain for each element.
        gain: bool = true, tag "gain";
        /// Where beats are kept.
        storage: FifoStorage = FifoStorage::Memory, tag "";
    }
    rules = |p, rules| rules.part("max_beats", &p.frame());
}

bundle! {
    /// Part of a row.
    pub struct NormBeat(shape: (u32, bool)) {
        /// fp16 numbers.
        values: FieldArray = uint(16).array(shape.0),
        /// The gain of each, fp16.
        gains: FieldArrayOption = shape.1.then(|| uint(16).array(shape.0)),
        /// In the last beat: number of elements in use, from the first one on.
        used: Field = uint(bits_for(shape.0.into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
    }
}

bundle! {
    /// Part of a row that was normalised.
    pub struct NormResult(lanes: u32) {
        /// fp16 numbers; undefined for elements that are not in use.
        values: FieldArray = uint(16).array(*lanes),
        /// Elements in use: all, except in a last beat.
        used: Field = uint(bits_for((*lanes).into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
        /// The row broke a rule: the same in all of its beats.
        error: Field = bit(),
        /// The row has no norm, and all of it is NaN: the same in all of its beats.
        undefined: Field = bit(),
    }
}

ports! {
    /// Ports of [`RmsNorm`].
    pub struct RmsNormPorts(p: &RmsNorm) {
        /// Drops everything inside at the coming edge. Nothing is taken in this cycle; a beat that leaves in this cycle
        /// has left.
        clear_i: In = bit(),
        /// Addend to the mean square, in units of 2^-48; read with the first beat of a row.
        epsilon_i: In = uint(EPSILON),
        /// Rows that come.
        input: InStream<NormBeat> = (p.lanes, p.gain),
        /// The same rows, normalised.
        output: OutStream<NormResult> = p.lanes,
    }
}

impl RmsNorm {
    fn lane(&self) -> ScaleLane {
        ScaleLane { gain: self.gain }
    }

    /// Bits of the number of elements of a row.
    fn count_width(&self) -> u32 {
        bits_for(u64::from(self.lanes) * u64::from(self.max_beats))
    }

    /// Bits of the sum and n epsilon.
    fn sum_width(&self) -> u32 {
        SQUARE + self.count_width() + 1
    }

    fn root(&self) -> InverseRoot {
        InverseRoot { numerator_width: self.count_width(), denominator_width: self.sum_width(), places: 24 }
    }

    /// Cycles from a beat to the sum with it.
    fn sum_latency(&self) -> u32 {
        SquareLane::latency() + tree_latency(self.lanes) + 1
    }

    /// The frame of the rows.
    #[must_use]
    pub fn frame(&self) -> RowFrame {
        RowFrame {
            width: self.lanes.saturating_mul(if self.gain { 32 } else { 16 }),
            lanes: self.lanes,
            max_beats: self.max_beats,
            buffer: self.buffer,
            row_width: EPSILON,
            preparation: 0,
            kept_width: 1,
            result_width: DIGITS + EXPONENT + 1,
            output_width: self.lanes.saturating_mul(16).saturating_add(1),
            analysis: self.sum_latency() + 1 + self.root().latency(),
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

impl Block for RmsNorm {
    type Ports = RmsNormPorts;
    const ABOUT: About = About {
        name: "rms_norm",
        summary: "root mean square norm of fp16 rows",
        contract: "y = x * r * gain, r = 1 / sqrt(mean of x^2 over the row + epsilon) = sqrt(n / (sum x^2 + n\n\
            epsilon)). The sum is exact;\n\
            its first 20 bits are used, and r is truncated to 18 digits. The exact product is rounded once. Within\n\
            0.52 ulp of the exact result.\n\
            A row of n elements takes 2 ceil(n / lanes) + latency - 1 cycles, latency from its last beat to its\n\
            first result; rows follow each other without a break as long as the buffer holds what is inside.\n\
            A row with an infinity or a NaN, or with sum x^2 + n epsilon = 0, is undefined: all of it is NaN\n\
            (0x7e00).\n\
            Gains may be anything: infinity * 0 and NaN give NaN in their own element only.\n\
            Broken rules are repaired and told by output_error_o in all beats of the row: input_used_i of 0 or more\n\
            than `lanes` counts as `lanes`, and the beats of a row after the first max_beats are taken and dropped.\n\
            clear_i drops all rows inside, even a row that has not ended: the next beat begins a row.",
        reference: "Zhang and Sennrich, arXiv:1910.07467",
    };

    fn build(&self, m: &mut Module, io: &RmsNormPorts) {
        let (lanes, clear) = (self.lanes, io.clear_i);
        let frame = m.instance("u_frame", self.frame());
        m.connect(frame.clear_i, clear);
        m.connect_handshake(&frame.input, &io.input);
        connect_all!(m, frame.input, io.input, [used, last]);
        let values = io.input.values.packed();
        let data = io.input.gains.map_or(values, |gains| cat(&[gains.packed(), values]));
        m.connect(frame.input.data.data, data);
        if let Some(row) = frame.row_i {
            m.connect(row, io.epsilon_i);
        }
        let epsilon = frame.beat_row_o.unwrap_or(io.epsilon_i);

        m.comment("The sum of squares, exact.");
        let beat = m.wire("beat", frame.beat_data_o.slice(0..16 * lanes));
        m.unused(frame.beat_data_o);
        let x = m.split("x", beat, uint(16).array(lanes));
        let Squares { sum, special } = squares(m, x, frame.beat_used_o);
        let passed = SquareLane::latency() + tree_latency(lanes);
        let valid = later_valid(m, "sum_valid", frame.beat_valid_o, passed, clear);
        let first = later(m, "sum_first", frame.beat_first_o, passed);
        let width = self.sum_width();
        let total = accumulate(m, "total", valid, first, sum, width);
        let bad = m.reg("bad_q", bit());
        bad.next_when(valid, special | (bad.q & !first));

        m.comment("And n times epsilon.");
        let count = frame.beat_count_o;
        let added = product(m, "added", epsilon, count);
        let wait = self.sum_latency() - product_latency(EPSILON, self.count_width());
        let added = later(m, "added_late", added, wait);
        let whole = m.reg("whole_q", uint(width));
        let both = add(m, "both", total, added, false).truncate(width);
        whole.next(both);
        let bad = later(m, "bad_late", bad.q, 1 + self.root().latency());
        let count = later(m, "count_late", count, self.sum_latency() + 1);
        let root = m.instance("u_root", self.root());
        m.connect(root.numerator_i, count);
        m.connect(root.denominator_i, whole.q);
        m.connect(frame.result_i, cat(&[bad | root.zero_o, root.exponent_o.as_uint(), root.digits_o]));

        m.comment("The elements, scaled.");
        let ready = m.wire("lane_data", frame.lane_data_o);
        let result = m.wire("lane_result", frame.lane_result_o);
        let x = m.split("lane_x", ready.slice(0..16 * lanes), uint(16).array(lanes));
        let gains = self.gain.then(|| m.split("lane_gain", ready.slice(16 * lanes..32 * lanes), uint(16).array(lanes)));
        let y = m.nets("y", uint(16), lanes);
        m.for_each("scale", lanes, |m, i| {
            let u = m.instance("u_scale", self.lane());
            m.connect(u.x_i, x.at(i));
            if let (Some(port), Some(gains)) = (u.gain_i, gains) {
                m.connect(port, gains.at(i));
            }
            m.connect(u.factor_i, result.slice(0..DIGITS));
            m.connect(u.exponent_i, result.slice(DIGITS..DIGITS + EXPONENT).as_sint());
            m.connect(u.nan_i, result.msb());
            m.connect(y.at(i), u.y_o);
        });
        let undefined = later(m, "undefined", result.msb(), self.lane().latency());
        m.unused(frame.lane_valid_o);
        m.unused(frame.beat_last_o);
        m.connect(frame.lane_i, cat(&[undefined, y.packed()]));
        m.connect_handshake(&io.output, &frame.output);
        let word = m.wire("word", frame.output.data.data);
        m.connect(io.output.values.packed(), word.slice(0..16 * lanes));
        connect_all!(m, io.output, frame.output, [used, last, error]);
        m.connect(io.output.undefined, word.msb());
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.frame().latency())
    }
}

/// Of the elements of a beat.
pub(super) struct Squares {
    /// The sum of their squares.
    pub sum: Signal,
    /// One of them is an infinity or a NaN.
    pub special: Signal,
}

/// Squares of the first `used` elements, and their sum, after [`SquareLane::latency`] and [`tree_latency`].
pub(super) fn squares(m: &mut Module, x: Array, used: Signal) -> Squares {
    let lanes = x.count();
    let (square, special) = (m.nets("square", uint(SQUARE), lanes), m.nets("special", bit(), lanes));
    m.for_each("squares", lanes, |m, i| {
        let u = m.instance("u_square", SquareLane {});
        m.connect(u.used_i, used.gt(i.value(used.width())));
        m.connect(u.x_i, x.at(i));
        m.connect(square.at(i), u.square_o);
        m.connect(special.at(i), u.special_o);
    });
    let sum = tree(m, "sum", square, |ty| uint(ty.width + 1), |m, name, a, b| add(m, name, a, b, false));
    let special = later(m, "any_special", special.packed().any(), tree_latency(lanes));
    Squares { sum, special }
}

/// The sum of `addend` where `valid`, from the `first` of a row on.
pub(super) fn accumulate(
    m: &mut Module,
    name: &str,
    valid: Signal,
    first: Signal,
    addend: Signal,
    width: u32,
) -> Signal {
    let total = m.reg(&format!("{name}_q"), uint(width));
    let before = mux(first, uint(width).lit(0), total.q);
    let sum = add(m, name, before, addend, false).truncate(width);
    total.next_when(valid, sum);
    total.q
}

impl CatalogBlock for RmsNorm {
    fn configurations() -> Vec<Self> {
        let set = |lanes, max_beats, buffer, gain, storage| Self { lanes, max_beats, buffer, gain, storage };
        vec![
            set(1, 5, 5, true, FifoStorage::Registers),
            set(3, 4, 9, false, FifoStorage::Registers),
            set(2, 13, 64, true, FifoStorage::Memory),
            set(8, 1, 70, false, FifoStorage::Memory),
        ]
    }
}
