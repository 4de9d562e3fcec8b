use std::time::Duration;

use super::*;
use crate::flows::lint::Sources;
use crate::flows::prove::{Options, prove};

/// 1.0 and the smallest number: the unit of a group with 1.0 is 2^-6. Of small numbers it is 2^-15.
#[test]
fn rows_by_hand() {
    let row = rounded(&[0x3c00, 0x0001, 0xbc00, 0x2400, 0x0001, 0x0400, 0x0800, 0], 4, 8);
    assert_eq!(row, Rounded { integers: vec![64, 0, -64, 1, 0, 2, 4, 0], exponents: vec![9, 0], special: false });
    // 1.9990 is 127.94 units, which saturate; 1.9844 is 127 of them. Infinities become 0.
    let row = rounded(&[0x3fff, 0x3ff0, 0xfc00, 0x7e01], 4, 8);
    assert_eq!((row.integers, row.special), (vec![127, 127, 0, 0], true));
    // Ties go to even integers: 2.5 and 3.5 units of 2^-6.
    assert_eq!(rounded(&[0x3c00, 0x2900, 0x2b00], 4, 8).integers, [64, 2, 4]);
    // Integers of 4 bits: 1.0 is 4 units of 2^-2, 1.875 is 7.5 of them, and 1.625 is 6.5.
    let row = rounded(&[0x3c00, 0x3f80, 0xbe80], 4, 4);
    assert_eq!((row.integers, row.exponents), (vec![4, 7, -6], vec![13]));
}

#[test]
fn all_configurations() {
    run_all(bench, &options(5000)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[test]
fn broken_rounders_are_noticed() {
    let faults = [
        ("a number has no part in the exponent of its group", Fault::net("key[1]", "5'd0")),
        ("an infinity is no special number", Fault::net("special[1]", "1'b0")),
        ("a small group has the exponent of a smaller one", Fault::net("largest[0]", "key_of_2[0]")),
    ];
    must_be_noticed(&GroupRounder { lanes: 2, group: 2, integer_width: 8 }, bench, 2000, &faults);
}

parameters! {
    /// A rounder in a block with a reset.
    pub struct Checked {
        /// The rounder.
        rounder: GroupRounder = GroupRounder { lanes: 2, group: 2, integer_width: 8 }, named "inline";
    }
}

ports! {
    /// The rounder's.
    pub struct CheckedPorts(p: &Checked) {
        /// See [`GroupRounderPorts`].
        values_i: InArray = uint(16).array(p.rounder.lanes),
        /// The same.
        used_i: InArray = bit().array(p.rounder.lanes),
        /// Not in the first cycle after a reset.
        begun_o: Out = bit(),
    }
}

impl Block for Checked {
    type Ports = CheckedPorts;
    const ABOUT: About = About {
        name: "checked_rounder",
        summary: "a rounder and its contract",
        contract: "None: no number leaves it.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &CheckedPorts) {
        let rounder = m.instance("u_rounder", self.rounder.clone());
        m.connect_each("values", rounder.values_i, io.values_i);
        m.connect_each("used", rounder.used_i, io.used_i);
        let begun = m.reg_init("begun_q", bit(), 0);
        begun.next(bit().lit(1));
        m.connect(io.begun_o, begun.q);
        m.formal(|m| self.rounder.properties(m, &rounder, begun.q));
    }
}

impl GroupRounder {
    /// The contract, number by number, one cycle after the reset. A number's own exponent is d below the group's, and a unit
    /// of the group is 2^(d + 12 - integer_width) units of the number.
    fn properties(&self, m: &mut Module, io: &GroupRounderPorts, begun: Signal) {
        let (width, least) = (self.integer_width, self.least());
        let held = |m: &mut Module, name: String, value: Signal| {
            let register = m.reg(&name, value.ty());
            register.next(value);
            register.q
        };
        let mut numbers = Vec::new();
        for i in 0..self.lanes {
            let value = held(m, format!("formal_value_{i}_q"), io.values_i.at(i));
            numbers.push((value, held(m, format!("formal_used_{i}_q"), io.used_i.at(i))));
        }
        let code = |value: Signal| value.slice(10..15);
        let special = numbers.iter().map(|&(value, used)| used & code(value).all()).reduce(|a, b| a | b);
        m.assert_always("special_numbers_are_told", !begun | io.special_o.eq(special.unwrap_or(bit().lit(0))));
        for (g, group) in (0..).zip(numbers.chunks(self.group as usize)) {
            let most = io.exponents_o.at(g).wrapping_add(least);
            let mut reached = most.eq(least);
            for (j, &(value, used)) in (0..).zip(group) {
                let name = |what: &str| format!("formal_{what}_{g}_{j}");
                let normal = code(value).any();
                let own = m.wire(&name("own"), mux(normal, code(value), uint(5).lit(1)));
                let counts = m.wire(&name("counts"), used & !code(value).all());
                reached = reached | (counts & own.eq(most));
                m.assert_always(&name("no_exponent_above"), !begun | !counts | own.le(most));
                let integer = m.wire(&name("integer"), io.integers_o.at(g * self.group + j));
                let (negative, bits) = (integer.msb(), integer.as_uint());
                let size = m.wire(&name("size"), mux(negative, uint(width).lit(0).wrapping_sub(bits), bits));
                let down = m.wire(&name("down"), most.wrapping_sub(own));
                // All doubled, so that half of a unit is whole.
                let fits = |value: Signal| value.extend(48).shl_by(down).shl(12 - width).slice(0..48);
                let units = m.wire(&name("units"), fits(size).shl(1).slice(0..48));
                let half = m.wire(&name("half"), fits(uint(1).lit(1)));
                let twice = cat(&[normal, value.slice(0..10), bit().lit(0)]).extend(48);
                let largest = (1 << (width - 1)) - 1;
                let full = size.eq(largest);
                let (above, below) = (units.wrapping_add(half), twice.wrapping_add(half));
                let nearest = (twice.le(above) | full) & below.ge(units);
                let even = !((twice.eq(above) & !full) | below.eq(units)) | !size.bit(0);
                let signed = !size.any() | negative.eq(value.bit(15));
                let here = begun & counts;
                m.assert_always(&name("nearest"), !here | (nearest & even & signed & size.le(largest)));
                m.assert_always(&name("others_are_zero"), !begun | counts | !size.any());
                m.cover(&name("tie"), here & twice.eq(above) & size.eq(2));
                m.cover(&name("saturates"), here & below.ge(units.wrapping_add(half.shl(1).slice(0..48))) & full);
            }
            m.assert_always(&format!("formal_exponent_{g}"), !begun | reached);
        }
    }
}

/// For all numbers: the inputs are free in each cycle, and what comes out depends on the cycle before alone.
#[test]
fn the_contract_holds() {
    for integer_width in [3, 8, 11] {
        let rounder = GroupRounder { lanes: 2, group: 2, integer_width };
        let design = elaborate(&Checked { rounder }).unwrap();
        let (traces, limit) = (std::env::temp_dir().join("group_rounder"), Duration::from_secs(300));
        let limits = Options { depth: 3, cover_depth: 3, induction: false, solver: "z3".into(), limit, traces };
        let found = prove(&Sources::from(&design), &limits).unwrap();
        let bad: Vec<_> = found.iter().filter(|property| !property.verdict.is_good()).collect();
        assert!(bad.is_empty() && found.len() > 10, "{integer_width}: {bad:?}");
    }
}
