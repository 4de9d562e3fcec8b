//! Numbers of fp16 as INT8 in groups that share an exponent.

use senbazuru::accelerator::prelude::*;

/// Groups have this exponent field at least: what is smaller loses bits, and sums fit into 64 bits.
pub const LEAST: u32 = 6;

parameters! {
    /// Elaboration parameters.
    pub struct Rounder {
        /// Numbers of a beat.
        lanes: u32 = 32, in power_of_two(2..=64), tag "l";
        /// Numbers that share an exponent.
        group: u32 = 32, in power_of_two(2..=64), note "at most lanes", tag "g";
    }
    rules = |p, rules| {
        rules.demand(p.group <= p.lanes, "group", p.group, format!("at most lanes = {}", p.lanes));
    };
}

impl Rounder {
    /// Groups of a beat.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.lanes / self.group.max(1)
    }
}

ports! {
    /// Ports of [`Rounder`].
    pub struct RounderPorts(p: &Rounder) {
        /// Numbers of fp16.
        values_i: InArray = uint(16).array(p.lanes),
        /// Which of them count; others become 0.
        used_i: InArray = bit().array(p.lanes),
        /// The numbers of the cycle before, in units of their group.
        integers_o: OutArray = sint(8).array(p.lanes),
        /// Exponents of the groups.
        exponents_o: OutArray = uint(5).array(p.groups()),
        /// One of the numbers that count is infinite or no number; it became 0.
        special_o: Out = bit(),
    }
}

impl Block for Rounder {
    type Ports = RounderPorts;
    const ABOUT: About = About {
        name: "crane_rounder",
        summary: "fp16 as INT8 in groups that share an exponent",
        contract: "One cycle later: a number is integers_o x 2^(exponents_o - 15), rounded to nearest, ties to even, and\n\
            saturated to -127 to 127. A group has the largest exponent field of its numbers, 6 at least, less 6.\n\
            Numbers that are infinite or none become 0 and raise special_o.",
        reference: "OCP Microscaling Formats (MX) v1.0, section 5: MXINT8",
    };

    fn build(&self, m: &mut Module, io: &RounderPorts) {
        let (lanes, field) = (self.lanes, uint(5));
        let [keys, largest] = ["key", "largest"].map(|name| {
            let count = if name == "key" { lanes } else { self.groups() };
            m.nets(name, field, count)
        });
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
            m.connect(largest.at(g), mux(most.lt(LEAST), field.lit(LEAST), most));
            shared.next(m, g, largest.at(g));
            m.connect(io.exponents_o.at(g), shared.q.at(g).wrapping_sub(LEAST));
        });
        let specials = m.reg("special_q", bit());
        specials.next(special.packed().any());
        m.connect(io.special_o, specials.q);

        m.comment("Units of the group are 2^-4 of units of a number with its exponent.");
        m.for_each("of_group", self.groups(), |m, g| {
            m.for_each("integer", self.group, |m, j| {
                let i = || g * self.group + j;
                let down = m.wire("down", shared.q.at(g).wrapping_sub(exponent.q.at(i())));
                // Bits below these decide nothing: then the number is less than a thirty-second of a unit.
                let placed = m.wire("placed", magnitude.q.at(i()).shl(12).shr_by(down));
                let up = m.wire("up", placed.bit(15) & (placed.slice(0..15).any() | placed.bit(16)));
                let rounded = m.wire("rounded", placed.slice(16..23) + up);
                let integer = m.wire("whole", mux(rounded.bit(7), uint(8).lit(127), rounded));
                let negative = uint(8).lit(0).wrapping_sub(integer);
                m.connect(io.integers_o.at(i()), mux(sign.q.at(i()), negative, integer).as_sint());
            });
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl Rounder {
    /// The contract, number by number, in the formal section of a block that has a reset. A number's own exponent is d below
    /// the group's, and the unit of the group is 2^(d + 4) units of the number.
    pub(crate) fn properties(&self, m: &mut Module, io: &RounderPorts) {
        let held = |m: &mut Module, name: String, value: Signal| {
            let register = m.reg(&name, value.ty());
            register.next(value);
            register.q
        };
        let begun = m.reg_init("formal_begun_q", bit(), 0);
        begun.next(bit().lit(1));
        let numbers: Vec<(Signal, Signal)> = (0..self.lanes)
            .map(|i| {
                let value = held(m, format!("formal_value_{i}_q"), io.values_i.at(i));
                (value, held(m, format!("formal_used_{i}_q"), io.used_i.at(i)))
            })
            .collect();
        let code = |value: Signal| value.slice(10..15);
        let special: Vec<Signal> = numbers.iter().map(|(value, used)| *used & code(*value).all()).collect();
        m.assert_always("special_numbers_are_told", !begun.q | io.special_o.eq(or_all(bit(), &special)));
        for (g, group) in (0..).zip(numbers.chunks(self.group as usize)) {
            let most = io.exponents_o.at(g).wrapping_add(LEAST);
            let mut reached = most.eq(LEAST);
            for (j, &(value, used)) in (0..).zip(group) {
                let name = |what: &str| format!("formal_{what}_{g}_{j}");
                let normal = code(value).any();
                let own = m.wire(&name("own"), mux(normal, code(value), uint(5).lit(1)));
                let counts = m.wire(&name("counts"), used & !code(value).all());
                reached = reached | (counts & own.eq(most));
                m.assert_always(&name("no_exponent_above"), !begun.q | !counts | own.le(most));
                let integer = m.wire(&name("integer"), io.integers_o.at(g * self.group + j));
                let negative = integer.msb();
                let size = m.wire(
                    &name("size"),
                    mux(negative, uint(8).lit(0).wrapping_sub(integer.as_uint()), integer.as_uint()),
                );
                let down = m.wire(&name("down"), most.wrapping_sub(own));
                let fits = |value: Signal| value.extend(48).shl_by(down).slice(0..48);
                let units = m.wire(&name("units"), fits(size).shl(5).slice(0..48));
                let half = m.wire(&name("half"), fits(uint(1).lit(1)).shl(4).slice(0..48));
                let twice = cat(&[normal, value.slice(0..10), bit().lit(0)]).extend(48);
                let full = size.eq(127);
                let (above, below) = (units.wrapping_add(half), twice.wrapping_add(half));
                let nearest = (twice.le(above) | full) & below.ge(units);
                let even = !((twice.eq(above) & !full) | below.eq(units)) | !size.bit(0);
                let signed = !size.any() | negative.eq(value.bit(15));
                let here = begun.q & counts;
                m.assert_always(&name("nearest"), !here | (nearest & even & signed & size.le(127)));
                m.assert_always(&name("others_are_zero"), !begun.q | counts | !size.any());
                m.cover(&name("tie"), here & twice.eq(above) & size.eq(2));
                m.cover(&name("saturates"), here & below.gt(units.wrapping_add(half.shl(1).slice(0..48))) & full);
            }
            m.assert_always(&format!("formal_exponent_{g}"), !begun.q | reached);
        }
    }
}

impl CatalogBlock for Rounder {
    fn configurations() -> Vec<Self> {
        vec![Self { lanes: 2, group: 2 }, Self { lanes: 8, group: 4 }]
    }
}
