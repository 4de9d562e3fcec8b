//! Numbers of fp16 as integers in groups that share an exponent: block floating point.

use testbenches::common::row::pipeline::Pipeline;

use crate::prelude::*;
use crate::sim::stimulus::{StimulusRng, fp16_corners};

parameters! {
    /// Elaboration parameters.
    pub struct GroupRounder {
        /// Numbers of a beat.
        lanes: u32 = 32, in power_of_two(2..=256), tag "l";
        /// Numbers that share an exponent.
        group: u32 = 32, in power_of_two(2..=256), note "at most lanes", tag "g";
        /// Bits of an integer.
        integer_width: u32 = 8, in 3..=11, tag "w";
    }
    rules = |p, rules| {
        rules.demand(p.group <= p.lanes, "group", p.group, format!("at most lanes = {}", p.lanes));
    };
}

impl GroupRounder {
    /// Groups of a beat.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.lanes / self.group.max(1)
    }

    /// Groups have this exponent field at least: with it the unit of a group is 2^-15.
    #[must_use]
    pub fn least(&self) -> u32 {
        self.integer_width - 2
    }
}

ports! {
    /// Ports of [`GroupRounder`].
    pub struct GroupRounderPorts(p: &GroupRounder) {
        /// Numbers of fp16.
        values_i: InArray = uint(16).array(p.lanes),
        /// Which of them count; others become 0.
        used_i: InArray = bit().array(p.lanes),
        /// The numbers of the cycle before, in units of their group.
        integers_o: OutArray = sint(p.integer_width).array(p.lanes),
        /// Exponents of the groups.
        exponents_o: OutArray = uint(5).array(p.groups()),
        /// One of the numbers that count is infinite or no number; it became 0.
        special_o: Out = bit(),
    }
}

impl Block for GroupRounder {
    type Ports = GroupRounderPorts;
    const ABOUT: About = About {
        name: "group_rounder",
        summary: "fp16 as integers in groups that share an exponent, rounded to nearest",
        contract: "One cycle later: a number is integers_o x 2^(exponents_o - 15), rounded to nearest, ties to even, and\n\
            saturated to what integer_width bits have without the most negative one. A group has the largest exponent\n\
            field of its numbers, integer_width - 2 at least, less integer_width - 2. Numbers that are infinite or none\n\
            become 0 and raise special_o.",
        reference: "OCP Microscaling Formats (MX) v1.0, section 5: MXINT8",
    };

    fn build(&self, m: &mut Module, io: &GroupRounderPorts) {
        let (lanes, field, width, least) = (self.lanes, uint(5), self.integer_width, self.least());
        let keys = m.nets("key", field, lanes);
        let largest = m.nets("largest", field, self.groups());
        let special = m.nets("special", bit(), lanes);
        let magnitude = m.regs("magnitude_q", uint(11), lanes);
        let exponent = m.regs("exponent_q", field, lanes);
        let sign = m.regs("sign_q", bit(), lanes);
        m.for_each("number", lanes, |m, i| {
            let value = m.wire("value", io.values_i.at(i));
            let code = m.wire("code", value.slice(10..15));
            let strange = m.wire("strange", code.all());
            m.connect(special.at(i), strange & io.used_i.at(i));
            let counts = m.wire("counts", io.used_i.at(i) & !strange);
            // A subnormal number has the exponent of the smallest normal ones.
            let normal = m.wire("normal", code.any());
            let own = m.wire("own", mux(normal, code, field.lit(1)));
            m.connect(keys.at(i), own & counts.repeat(5));
            exponent.next(m, i, own);
            magnitude.next(m, i, cat(&[normal, value.slice(0..10)]) & counts.repeat(11));
            sign.next(m, i, value.bit(15));
        });
        m.comment("The largest exponent of each group.");
        let mut level = keys;
        while level.count() > self.groups() {
            let pairs = level.count() / 2;
            let next = m.nets(&format!("key_of_{}", lanes / pairs), field, pairs);
            m.for_each(&format!("pair_of_{}", lanes / pairs), pairs, |m, i| {
                let (a, b) = (level.at(i * 2), level.at(i * 2 + 1));
                m.connect(next.at(i), mux(a.ge(b), a, b));
            });
            level = next;
        }
        let shared = m.regs("shared_q", field, self.groups());
        m.for_each("group", self.groups(), |m, g| {
            let most = level.at(g);
            m.connect(largest.at(g), mux(most.lt(least), field.lit(least), most));
            shared.next(m, g, largest.at(g));
            m.connect(io.exponents_o.at(g), shared.q.at(g).wrapping_sub(least));
        });
        let specials = m.reg("special_q", bit());
        specials.next(special.packed().any());
        m.connect(io.special_o, specials.q);

        m.comment(&format!("A unit of the group is 2^{} units of a number with its exponent.", 12 - width));
        m.for_each("of_group", self.groups(), |m, g| {
            m.for_each("integer", self.group, |m, j| {
                let i = || g * self.group + j;
                let down = m.wire("down", shared.q.at(g).wrapping_sub(exponent.q.at(i())));
                // Bits that are shifted out decide nothing: then the number is less than a thirty-second of a unit.
                let placed = m.wire("placed", magnitude.q.at(i()).shl(4 + width).shr_by(down));
                let up = m.wire("up", placed.bit(15) & (placed.slice(0..15).any() | placed.bit(16)));
                let rounded = m.wire("rounded", placed.slice(16..15 + width) + up);
                let most = uint(width).lit((1 << (width - 1)) - 1);
                let integer = m.wire("whole", mux(rounded.bit(width - 1), most, rounded));
                let negative = uint(width).lit(0).wrapping_sub(integer);
                m.connect(io.integers_o.at(i()), mux(sign.q.at(i()), negative, integer).as_sint());
            });
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl CatalogBlock for GroupRounder {
    fn configurations() -> Vec<Self> {
        [(2, 2, 8), (8, 4, 8), (4, 4, 3), (4, 2, 11)]
            .map(|(lanes, group, integer_width)| Self { lanes, group, integer_width })
            .into()
    }
}

/// A row in groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// An integer for each number.
    pub integers: Vec<i64>,
    /// An exponent for each group: its unit is 2^(exponent - 15).
    pub exponents: Vec<u32>,
    /// A number was infinite or none.
    pub special: bool,
}

/// Rounds a row of fp16 to integers of so many bits.
#[must_use]
pub fn rounded(numbers: &[u16], group: usize, integer_width: u32) -> Rounded {
    let (field, strange) = (|bits: u16| i32::from(bits >> 10 & 31), |bits: u16| bits >> 10 & 31 == 31);
    let (least, most) = (integer_width as i32 - 2, f64::from((1 << (integer_width - 1)) - 1));
    let (mut integers, mut exponents) = (Vec::new(), Vec::new());
    for group in numbers.chunks(group) {
        let counted = group.iter().map(|&bits| if strange(bits) { 0 } else { bits });
        let largest = counted.clone().map(field).fold(least, i32::max);
        let unit = 2f64.powi(largest - least - 15);
        let integer = |bits: u16| (half::f16::from_bits(bits).to_f64() / unit).round_ties_even().clamp(-most, most);
        integers.extend(counted.map(|bits| integer(bits) as i64));
        exponents.push((largest - least) as u32);
    }
    Rounded { integers, exponents, special: numbers.iter().any(|&bits| strange(bits)) }
}

/// Numbers with exponents near each other and far apart; seldom special ones. A vector is a beat.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &GroupRounder) -> anyhow::Result<Box<dyn Bench>> {
    let (lanes, group, width) = (p.lanes as usize, p.group as usize, p.integer_width);
    let number = |rng: &mut StimulusRng, (least, spread): (u16, u16)| match rng.random_range(0..40u8) {
        0 => fp16_corners()[rng.random_range(0..fp16_corners().len())],
        1 => rng.random(),
        _ => {
            let (sign, code) = (rng.random_range(0..2u16), least + rng.random_range(0..=spread));
            // A tie, and the last bit below one, have few ones.
            let fraction = match rng.random_range(0..4u8) {
                0 => 1023,
                1 => rng.random_range(0..1024u16),
                _ => (0..rng.random_range(0..4u8)).fold(0, |bits, _| bits | 1 << rng.random_range(0..10u32)),
            };
            sign << 15 | code.min(30) << 10 | fraction
        }
    };
    let draw = move |rng: &mut StimulusRng| {
        let range = (rng.random_range(0..31u16), [0, 1, 4, 9, 30][rng.random_range(0..5usize)]);
        let most = [1, 8][rng.random_range(0..2usize)];
        let values = (0..lanes).map(|_| number(rng, range).into()).collect::<Vec<u64>>();
        let used = (0..lanes).map(|_| rng.random_range(0..=most).min(1)).collect::<Vec<u64>>();
        vec![Bits::pack(16, values), Bits::pack(1, used)]
    };
    let golden = move |operands: &[Bits]| {
        let used = operands[1].unpack(1).into_iter().zip(operands[0].unpack(16));
        let row = rounded(&used.map(|(used, value)| (used * value) as u16).collect::<Vec<_>>(), group, width);
        let integers = row.integers.iter().map(|&n| n as u64 & ((1 << width) - 1));
        let exponents = row.exponents.iter().map(|&e| e.into());
        [Bits::pack(width, integers), Bits::pack(5, exponents), Bits::truncated(1, row.special.into())].map(Some).into()
    };
    let inputs = vec!["values_i", "used_i"];
    let outputs = vec![("integers_o", 1), ("exponents_o", 1), ("special_o", 1)];
    Pipeline { inputs, late: None, outputs, enable: None, draw: Box::new(draw), golden: Box::new(golden) }.bench(p)
}

#[cfg(test)]
mod tests;
