//! A row of the array: its integers, a dot product with a word of weights in each cycle, its sum, its results.

use senbazuru::accelerator::prelude::*;
use senbazuru::hdl::blocks::common::arith::{adder_tree, adder_trees};
use senbazuru::hdl::blocks::common::{FloatConvert, FloatFormat, FloatFromInt, Ram, RamImplementation};
use senbazuru::standard::group_rounder::GroupRounder;

/// The largest magnitude of a product of INT8, from -127 to 127, and INT4.
const PRODUCT: u64 = 127 * 8;
/// The largest exponents of a group of a row and of a group of weights.
const EXPONENTS: u32 = 24 + 15;
/// Bits of an exponent of weights.
pub const EXPONENT: u32 = 4;

parameters! {
    /// Elaboration parameters.
    pub struct DotRow {
        /// Weights of a word.
        weights: u32 = 128, in power_of_two(8..=256), tag "w";
        /// Channels that share an exponent.
        group: u32 = 32, in power_of_two(2..=64), note "at most a quarter of weights", tag "g";
        /// Words of the longest row.
        words: u32 = 32, in 1..=2048, note "at most 16384 channels", tag "d";
        /// Where integers are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
    rules = |p, rules| {
        rules.demand(4 * p.group <= p.weights, "group", p.group, format!("at most a quarter of weights = {}", p.weights));
        let channels = p.words.saturating_mul(p.weights);
        rules.demand(channels <= 16_384, "words", p.words, format!("at most 16384 channels: {} words", 16_384 / p.weights.max(1)));
    };
}

impl DotRow {
    /// Ranks of the conversion of a sum, and of a result.
    const FROM_INT: u32 = 2;
    const CONVERT: u32 = 1;
    /// Cycles from a word of weights to the exponents of its groups, and to the mark of a first word.
    pub const TO_EXPONENTS: u32 = 2;
    /// See [`DotRow::TO_EXPONENTS`].
    pub const TO_FIRST: u32 = 3;
    /// Cycles from the last word of a column to its result.
    pub const LATENCY: u32 = Self::TO_FIRST + 1 + Self::FROM_INT + Self::CONVERT;

    /// Groups of a word.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.weights / self.group.max(1)
    }

    /// The rounder that makes a quarter of a word.
    #[must_use]
    pub fn rounder(&self) -> GroupRounder {
        GroupRounder { lanes: self.weights / 4, group: self.group, ..GroupRounder::default() }
    }

    /// The memories of integers and of their exponents. A quarter of a word is written at a time.
    #[must_use]
    pub fn memories(&self) -> [Ram; 2] {
        let of = |bits: u32| Ram::parts(self.words.max(2), bits, bits / 4, self.storage);
        [of(8 * self.weights), of(5 * self.groups())]
    }

    /// Type of a sum of so many products.
    fn dot(count: u32) -> Type {
        sint(bits_for(PRODUCT * u64::from(count)) + 1)
    }

    /// Type of a sum; no sum overflows.
    fn sum(&self) -> Type {
        sint(Self::dot(self.words * self.weights).width + EXPONENTS)
    }
}

ports! {
    /// Ports of [`DotRow`].
    pub struct DotRowPorts(p: &DotRow) {
        /// Quarters of a word of the row that are written.
        write_i: In = uint(4),
        /// Which word.
        write_address_i: In = p.memories()[0].address(),
        /// Integers of a quarter.
        integers_i: InArray = sint(8).array(p.weights / 4),
        /// Exponents of a quarter.
        exponents_i: InArray = uint(5).array(p.groups() / 4),
        /// A word of weights comes in the next cycle.
        step_i: In = bit(),
        /// Which one.
        address_i: In = p.memories()[0].address(),
        /// Weights, one cycle after step_i.
        weights_i: InArray = sint(4).array(p.weights),
        /// Exponents of their groups, two cycles after step_i.
        weight_exponents_i: InArray = uint(EXPONENT).array(p.groups()),
        /// Three cycles after step_i: there was one.
        adds_i: In = bit(),
        /// Three cycles after step_i: it was the first word of a column.
        first_i: In = bit(),
        /// The sum is divided by 2^shift; steady while anything is inside.
        shift_i: In = uint(7),
        /// The row has a number that is infinite or none; steady.
        special_i: In = bit(),
        /// The result of a column, LATENCY cycles after the step with its last word.
        result_o: Out = uint(16),
    }
}

impl Block for DotRow {
    type Ports = DotRowPorts;
    const ABOUT: About = About {
        name: "crane_row",
        summary: "a row of INT8 in groups, its dot products with columns of INT4 in groups, as fp16",
        contract: "A column comes word by word. Its sum is the exact sum of integer x weight x 2^(exponent of the row's\n\
            group + exponent of the weight's group). The sum becomes fp32, is divided by 2^shift_i, and becomes fp16,\n\
            each rounded to nearest, ties to even. With special_i the result is a NaN.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &DotRowPorts) {
        let (weights, groups) = (self.weights, self.groups());
        m.comment("The row.");
        let [integers, exponents] = self.memories();
        let integers = m.instance("u_integers", integers);
        let exponents = m.instance("u_exponents", exponents);
        for (ram, part) in [(&integers, io.integers_i.packed()), (&exponents, io.exponents_i.packed())] {
            connect_all!(m, ram, io, [write_i, write_address_i]);
            m.connect(ram.data_i, part.repeat(4));
            m.connect(ram.read_i, io.step_i);
            m.connect(ram.read_address_i, io.address_i);
        }
        let row = m.split("row", integers.data_o, sint(8).array(weights));
        let row_exponents = m.split("row_exponent", exponents.data_o, uint(5).array(groups));

        m.comment("A dot product for each group.");
        let mut level = m.nets("product", Self::dot(1), weights);
        m.for_each("channel", weights, |m, i| {
            let product = m.wire("whole_product", row.at(i) * io.weights_i.at(i));
            // No integer of the row is -128.
            m.connect(level.at(i), product.truncate(Self::dot(1).width));
        });
        level = adder_trees(m, "dot", level, groups, Self::dot);
        let ty = level.ty().element;
        let dots = m.regs("dot_q", ty, groups);
        let own = m.regs("row_exponent_q", uint(5), groups);
        m.for_each("dot", groups, |m, g| {
            dots.next(m, g, level.at(g));
            own.next(m, g, row_exponents.at(g));
        });

        m.comment("In one unit, and added.");
        let placed = m.nets("placed", sint(ty.width + EXPONENTS), groups);
        m.for_each("group", groups, |m, g| {
            let up = m.wire("up", own.q.at(g) + io.weight_exponents_i.at(g));
            m.connect(placed.at(g), dots.q.at(g).extend(ty.width + EXPONENTS).shl_by(up));
        });
        let of_word = adder_tree(m, "word", placed, |count| sint(Self::dot(count * self.group).width + EXPONENTS));
        let part = m.reg("part_q", of_word.ty());
        part.next(of_word);
        let sum = m.reg("sum_q", self.sum());
        let more = part.q.extend(sum.q.width());
        sum.next_when(io.adds_i, mux(io.first_i, more, sum.q.wrapping_add(more)));

        m.comment("A result.");
        let block = FloatFromInt {
            format: FloatFormat::Fp32,
            width: sum.q.width(),
            stages: Self::FROM_INT,
            ..FloatFromInt::default()
        };
        let wide = m.instance("u_float", block);
        m.connect(wide.valid_i, 1);
        m.connect(wide.a_i, sum.q);
        m.unused(wide.valid_o);
        let number = m.wire("number", wide.result_o);
        let code = m.wire("code", number.slice(23..31));
        let less = m.wire("less", mux(code.any(), code.wrapping_sub(io.shift_i.extend(8)), code));
        let half = m.instance("u_half", FloatConvert { stages: Self::CONVERT, ..FloatConvert::default() });
        m.connect(half.valid_i, 1);
        m.connect(half.a_i, cat(&[number.msb(), less, number.slice(0..23)]));
        m.unused(half.valid_o);
        m.connect(io.result_o, mux(io.special_i, uint(16).lit(0x7e00), half.result_o));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(Self::LATENCY)
    }
}

impl CatalogBlock for DotRow {
    // One word has no sum with another one.
    const SAMPLE: &'static [(&'static str, u32)] = &[("words", 2)];

    fn configurations() -> Vec<Self> {
        let set = |weights, group, words| Self { weights, group, words, ..Self::default() };
        vec![set(8, 2, 1), set(32, 4, 3)]
    }
}
