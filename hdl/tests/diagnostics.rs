//! Every way a description can be wrong: the whole message, with the line of Rust it points at.
//!
//! In the expected text a location is written as the source line itself, so that moving a test does not break it.

use hdl::lang::*;
use serde::Serialize;

/// The errors of a block, each location replaced by the text of its line.
fn report<B: Block>(block: &B) -> String {
    let Err(error) = elaborate(block) else { return "no error\n".into() };
    let source: Vec<&str> = include_str!("diagnostics.rs").lines().collect();
    let name = file!().rsplit(['/', '\\']).next().unwrap();
    let mut text = String::new();
    for line in error.to_string().lines() {
        let Some(at) = line.find(name) else {
            text += &format!("{line}\n");
            continue;
        };
        let head = line[..at].trim_end_matches(|c: char| !c.is_whitespace());
        let tail = &line[at + name.len() + 1..];
        let digits: String = tail.chars().take_while(char::is_ascii_digit).collect();
        let module = tail.find(',').map_or("", |c| &tail[c..]);
        text += &format!("{head}{}{module}\n", source[digits.parse::<usize>().unwrap() - 1].trim());
    }
    text
}

fn expect(got: &str, expected: &str) {
    let lines: Vec<&str> = expected.lines().filter(|l| !l.trim().is_empty()).collect();
    let indent = lines.iter().map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
    let expected: String = lines.iter().map(|l| format!("{}\n", &l[indent..])).collect();
    assert_eq!(got, expected, "\n--- got\n{got}--- expected\n{expected}");
}

/// A block called `bad` that must be refused with a message.
macro_rules! refuses {
    ($test:ident { $($port:tt)* } |$m:ident, $io:ident| $body:block $expected:literal) => {
        #[test]
        #[allow(unused_variables, reason = "not every refused block looks at its ports")]
        fn $test() {
            #[derive(Serialize)]
            struct Bad;
            ports! { struct BadPorts(p: &Bad) { $($port)* } }
            impl Block for Bad {
                type Ports = BadPorts;
                const ABOUT: About =
                    About { name: "bad", summary: "wrong", contract: "", reference: "", source: file!() };
                fn module_name(&self) -> String {
                    "bad".into()
                }
                fn build(&self, $m: &mut Module, $io: &BadPorts) $body
            }
            expect(&report(&Bad), $expected);
        }
    };
}

/// A block with a combinational output, a registered one and a parameter.
#[derive(Clone, Serialize)]
struct Child {
    width: u32,
}

ports! {
    struct ChildPorts(p: &Child) {
        a_i: In = uint(p.width),
        now_o: Out = uint(p.width),
        later_o: Out = uint(p.width),
    }
}

impl Block for Child {
    type Ports = ChildPorts;
    const ABOUT: About = About { name: "child", summary: "", contract: "", reference: "", source: file!() };
    fn module_name(&self) -> String {
        format!("child_w{}", self.width.min(8))
    }
    fn check(&self) -> Result<(), ParamError> {
        ensure_param("width", self.width, 1..=16)
    }
    fn build(&self, m: &mut Module, io: &ChildPorts) {
        let later = m.reg("later_q", uint(self.width));
        later.next(io.a_i);
        m.connect(io.now_o, !io.a_i);
        m.connect(io.later_o, later.q);
    }
}

// ---- types ----

refuses!(width_mismatch_on_connect { a_i: In = uint(8), y_o: Out = uint(9) } |m, io| {
    m.connect(io.y_o, io.a_i);
} r#"
    error: cannot connect `a_i` (uint(8)) to `y_o` (uint(9)); extend it
      --> m.connect(io.y_o, io.a_i);, in module bad
"#);

refuses!(sum_does_not_fit { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    m.connect(io.y_o, io.a_i + 1);
} r#"
    error: cannot connect an expression (uint(9)) to `y_o` (uint(8)); truncate, saturate or slice it
      --> m.connect(io.y_o, io.a_i + 1);, in module bad
"#);

refuses!(signs_mixed_in_arithmetic { a_i: In = uint(8), s_i: In = sint(8), y_o: Out = sint(9) } |m, io| {
    m.connect(io.y_o, io.a_i + io.s_i);
} r#"
    error: arithmetic on signed and unsigned: `a_i` (uint(8)) and `s_i` (sint(8)); cast one with as_sint or as_uint
      --> m.connect(io.y_o, io.a_i + io.s_i);, in module bad
"#);

refuses!(signs_mixed_in_wrapping_arithmetic { a_i: In = uint(8), s_i: In = sint(8), y_o: Out = sint(8) } |m, io| {
    m.connect(io.y_o, io.s_i.wrapping_add(io.a_i));
} r#"
    error: arithmetic on signed and unsigned: `s_i` (sint(8)) and `a_i` (uint(8)); cast one with as_sint or as_uint
      --> m.connect(io.y_o, io.s_i.wrapping_add(io.a_i));, in module bad
"#);

refuses!(signs_mixed_in_comparison { a_i: In = uint(8), s_i: In = sint(8), y_o: Out = bit() } |m, io| {
    m.connect(io.y_o, io.a_i.lt(io.s_i));
} r#"
    error: comparison of signed and unsigned: `a_i` (uint(8)) and `s_i` (sint(8)); cast one with as_sint or as_uint
      --> m.connect(io.y_o, io.a_i.lt(io.s_i));, in module bad
"#);

refuses!(logic_of_different_types { a_i: In = uint(8), b_i: In = uint(7), y_o: Out = uint(8) } |m, io| {
    m.connect(io.y_o, io.a_i & io.b_i);
} r#"
    error: bitwise operation on different types: `a_i` (uint(8)) and `b_i` (uint(7)); extend, truncate or cast one
      --> m.connect(io.y_o, io.a_i & io.b_i);, in module bad
"#);

refuses!(negative_literal_and_unsigned { a_i: In = uint(8), y_o: Out = sint(9) } |m, io| {
    m.connect(io.y_o, (io.a_i + -1).as_sint());
} r#"
    error: the literal -1 is negative and the other operand unsigned; extend that one by a bit and cast it (as_sint)
      --> m.connect(io.y_o, (io.a_i + -1).as_sint());, in module bad
"#);

refuses!(literal_does_not_fit { a_i: In = uint(8), y_o: Out = uint(8), z_o: Out = uint(4) } |m, io| {
    m.connect(io.y_o, io.a_i & 256);
    m.connect(io.z_o, 16);
} r#"
    error: the literal 256 does not fit uint(8) (0 to 255)
      --> m.connect(io.y_o, io.a_i & 256);, in module bad
    error: the literal 16 does not fit uint(4) (0 to 15)
      --> m.connect(io.z_o, 16);, in module bad
"#);

refuses!(typed_literal_does_not_fit { y_o: Out = sint(4) } |m, io| {
    m.connect(io.y_o, sint(4).lit(8));
} r#"
    error: the literal 8 does not fit sint(4) (-8 to 7)
      --> m.connect(io.y_o, sint(4).lit(8));, in module bad
"#);

refuses!(select_of_a_mux { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    m.connect(io.y_o, mux(io.a_i, io.a_i, 0));
} r#"
    error: the select of a mux is one unsigned bit, not `a_i` (uint(8))
      --> m.connect(io.y_o, mux(io.a_i, io.a_i, 0));, in module bad
"#);

refuses!(branches_of_a_mux { c_i: In = bit(), a_i: In = uint(8), b_i: In = uint(9), y_o: Out = uint(8) } |m, io| {
    m.connect(io.y_o, mux(io.c_i, io.a_i, io.b_i));
} r#"
    error: mux of different types: `a_i` (uint(8)) and `b_i` (uint(9)); extend, truncate or cast one
      --> m.connect(io.y_o, mux(io.c_i, io.a_i, io.b_i));, in module bad
"#);

refuses!(truncate_that_widens { a_i: In = uint(8), y_o: Out = uint(9) } |m, io| {
    m.connect(io.y_o, io.a_i.truncate(9));
} r#"
    error: truncate to 9 bits: `a_i` (uint(8)) is narrower; extend it
      --> m.connect(io.y_o, io.a_i.truncate(9));, in module bad
"#);

refuses!(extend_that_narrows { a_i: In = uint(8), y_o: Out = uint(7) } |m, io| {
    m.connect(io.y_o, io.a_i.extend(7));
} r#"
    error: extend to 7 bits: `a_i` (uint(8)) is wider; say truncate or saturate
      --> m.connect(io.y_o, io.a_i.extend(7));, in module bad
"#);

refuses!(zero_width_operations { a_i: In = uint(8), s_i: In = sint(8), y_o: Out = uint(1), z_o: Out = sint(1) } |m, io| {
    m.connect(io.y_o, io.a_i.truncate(0));
    m.connect(io.z_o, io.s_i.saturate(0));
} r#"
    error: truncate to 0 bits: the smallest width is 1
      --> m.connect(io.y_o, io.a_i.truncate(0));, in module bad
    error: truncate to 0 bits: the smallest width is 1
      --> m.connect(io.z_o, io.s_i.saturate(0));, in module bad
"#);

refuses!(slice_out_of_range { a_i: In = uint(8), y_o: Out = uint(3), z_o: Out = bit() } |m, io| {
    m.connect(io.y_o, io.a_i.slice(6..9));
    m.connect(io.z_o, io.a_i.bit(u32::MAX));
} r#"
    error: slice 6..9 is not inside `a_i` (uint(8))
      --> m.connect(io.y_o, io.a_i.slice(6..9));, in module bad
    error: slice 4294967295..4294967295 is not inside `a_i` (uint(8))
      --> m.connect(io.z_o, io.a_i.bit(u32::MAX));, in module bad
"#);

refuses!(slice_of_nothing { a_i: In = uint(8), y_o: Out = bit() } |m, io| {
    m.connect(io.y_o, io.a_i.slice(3..3));
} r#"
    error: slice 3..3 is not inside `a_i` (uint(8))
      --> m.connect(io.y_o, io.a_i.slice(3..3));, in module bad
"#);

refuses!(signed_index_and_amount { a_i: In = uint(8), s_i: In = sint(8), y_o: Out = bit(), z_o: Out = uint(8) } |m, io| {
    m.connect(io.y_o, io.a_i.bit_at(io.s_i));
    m.connect(io.z_o, io.a_i.shl_by(io.s_i));
} r#"
    error: a bit index is unsigned, not sint(8); cast it with as_uint
      --> m.connect(io.y_o, io.a_i.bit_at(io.s_i));, in module bad
    error: a shift amount is unsigned, not sint(8); cast it with as_uint
      --> m.connect(io.z_o, io.a_i.shl_by(io.s_i));, in module bad
"#);

refuses!(empty_lists { a_i: In = uint(8), y_o: Out = bit(), z_o: Out = bit() } |m, io| {
    m.connect(io.y_o, cat(&[]));
    let value = m.lookup("value", io.a_i, &[]);
    m.connect(io.z_o, value);
} r#"
    error: a concatenation needs at least one part
      --> m.connect(io.y_o, cat(&[]));, in module bad
    error: lookup of 0 values by an index of type uint(8): use an unsigned index that reaches all values
      --> let value = m.lookup("value", io.a_i, &[]);, in module bad
"#);

refuses!(lookup_that_cannot_reach_all { a_i: In = bit(), y_o: Out = uint(2) } |m, io| {
    let values: Vec<_> = (0..3_u32).map(|v| uint(2).lit(v)).collect();
    let value = m.lookup("value", io.a_i, &values);
    m.connect(io.y_o, value);
} r#"
    error: lookup of 3 values by an index of type uint(1): use an unsigned index that reaches all values
      --> let value = m.lookup("value", io.a_i, &values);, in module bad
"#);

refuses!(lookup_of_different_types { a_i: In = bit(), y_o: Out = uint(2) } |m, io| {
    let value = m.lookup("value", io.a_i, &[uint(2).lit(0), uint(3).lit(0)]);
    m.connect(io.y_o, value);
} r#"
    error: lookup of different types: the first value is uint(2), another is an expression (uint(3))
      --> let value = m.lookup("value", io.a_i, &[uint(2).lit(0), uint(3).lit(0)]);, in module bad
"#);

refuses!(repeat_of_nothing { a_i: In = bit(), y_o: Out = bit() } |m, io| {
    m.connect(io.y_o, io.a_i.repeat(0));
} r#"
    error: repeat needs a count of at least 1
      --> m.connect(io.y_o, io.a_i.repeat(0));, in module bad
"#);

// ---- sizes ----

refuses!(zero_width { y_o: Out = uint(0), z_o: Out = sint(0), v_i: InArray = uint(4).array(0) } |m, io| {
    m.connect(io.y_o, 0);
    m.connect(io.z_o, io.z_o.msb().as_sint());
    m.unused(io.v_i.at(0));
    let r = m.reg_init("r_q", sint(0), 0);
    r.next(sint(0).lit(0));
    m.unused(r.q);
} r#"
    error: `y_o` has width 0; the smallest width is 1
      --> refuses!(zero_width { y_o: Out = uint(0), z_o: Out = sint(0), v_i: InArray = uint(4).array(0) } |m, io| {, in module bad
    error: `z_o` has width 0; the smallest width is 1
      --> refuses!(zero_width { y_o: Out = uint(0), z_o: Out = sint(0), v_i: InArray = uint(4).array(0) } |m, io| {, in module bad
    error: `v_i` has 0 elements, allowed: 1 to 16777216
      --> refuses!(zero_width { y_o: Out = uint(0), z_o: Out = sint(0), v_i: InArray = uint(4).array(0) } |m, io| {, in module bad
    error: `r_q` has width 0; the smallest width is 1
      --> let r = m.reg_init("r_q", sint(0), 0);, in module bad
    error: a literal of type sint(0): the width of a signal is 1 to 1048576
      --> r.next(sint(0).lit(0));, in module bad
    error: combinational loop: z_o -> z_o
      --> refuses!(zero_width { y_o: Out = uint(0), z_o: Out = sint(0), v_i: InArray = uint(4).array(0) } |m, io| {, in module bad
"#);

refuses!(enormous_widths { a_i: In = uint(u32::MAX), b_i: In = uint(64), y_o: Out = uint(64) } |m, io| {
    m.unused(io.a_i);
    let all = [
        io.b_i.repeat(u32::MAX),
        io.b_i.shl(u32::MAX),
        io.b_i.extend(u32::MAX),
        uint(u32::MAX).lit(1),
        sint(u32::MAX).lit(-1).as_uint(),
        cat(&[io.b_i.extend(1 << 20), io.b_i]),
        io.b_i.extend(1 << 20) * io.b_i,
        io.b_i.extend(1 << 20) + io.b_i,
        io.b_i.slice(0..u32::MAX),
        io.b_i.saturate(u32::MAX),
    ];
    let low: Vec<_> = all.iter().map(|s| s.bit(0).extend(64)).collect();
    m.connect(io.y_o, or_all(uint(64), &low));
} r#"
    error: `a_i` has 4294967295 bits; the widest signal has 1048576
      --> refuses!(enormous_widths { a_i: In = uint(u32::MAX), b_i: In = uint(64), y_o: Out = uint(64) } |m, io| {, in module bad
    error: an expression has 4294967295 bits; the widest signal has 1048576
      --> io.b_i.repeat(u32::MAX),, in module bad
    error: a literal of type uint(4294967295): the width of a signal is 1 to 1048576
      --> io.b_i.shl(u32::MAX),, in module bad
    error: an expression has 4294967295 bits; the widest signal has 1048576
      --> io.b_i.extend(u32::MAX),, in module bad
    error: a literal of type uint(4294967295): the width of a signal is 1 to 1048576
      --> uint(u32::MAX).lit(1),, in module bad
    error: a literal of type sint(4294967295): the width of a signal is 1 to 1048576
      --> sint(u32::MAX).lit(-1).as_uint(),, in module bad
    error: an expression has 1048640 bits; the widest signal has 1048576
      --> cat(&[io.b_i.extend(1 << 20), io.b_i]),, in module bad
    error: an expression has 1048640 bits; the widest signal has 1048576
      --> io.b_i.extend(1 << 20) * io.b_i,, in module bad
    error: an expression has 1048577 bits; the widest signal has 1048576
      --> io.b_i.extend(1 << 20) + io.b_i,, in module bad
    error: slice 0..4294967295 is not inside `b_i` (uint(64))
      --> io.b_i.slice(0..u32::MAX),, in module bad
    error: an expression has 4294967295 bits; the widest signal has 1048576
      --> io.b_i.saturate(u32::MAX),, in module bad
"#);

refuses!(enormous_arrays { v_i: InArray = uint(1 << 12).array(1 << 12), y_o: Out = uint(1) } |m, io| {
    m.unused(io.v_i.at(0));
    let x = m.nets("x", uint(1), u32::MAX);
    let g = m.grid("g", uint(1), u32::MAX, u32::MAX);
    m.connect(x.at(0), 0);
    m.connect(g.at((0, 0)), x.at(0));
    let ram = m.memory("ram", u32::MAX, u32::MAX, 1);
    m.connect(io.y_o, g.at(0));
} r#"
    error: `v_i` has 16777216 bits; the widest signal has 1048576
      --> refuses!(enormous_arrays { v_i: InArray = uint(1 << 12).array(1 << 12), y_o: Out = uint(1) } |m, io| {, in module bad
    error: `x` has 4294967295 elements, allowed: 1 to 16777216
      --> let x = m.nets("x", uint(1), u32::MAX);, in module bad
    error: `g` has 4294967295 elements, allowed: 1 to 16777216
      --> let g = m.grid("g", uint(1), u32::MAX, u32::MAX);, in module bad
    error: memory `ram` has depth 4294967295, allowed: 2 to 16777216
      --> let ram = m.memory("ram", u32::MAX, u32::MAX, 1);, in module bad
    error: memory `ram` has width 4294967295, allowed: 1 to 1048576
      --> let ram = m.memory("ram", u32::MAX, u32::MAX, 1);, in module bad
"#);

refuses!(enormous_loops { y_o: Out = bit() } |m, io| {
    m.for_each("i", 1 << 13, |m, _| m.for_each("j", 1 << 13, |m, _| {
        let one = m.wire("one", bit().lit(1));
        m.unused(one);
    }));
    m.connect(io.y_o, 1);
} r#"
    error: bad has more than 16777216 nets, elements of arrays and copies in loops counted
      --> let Err(error) = elaborate(block) else { return "no error\n".into() };, in module bad
"#);

// ---- drivers ----

refuses!(nothing_drives { a_i: In = uint(8), y_o: Out = uint(8), z_o: OutArray = uint(8).array(4) } |m, io| {
    let x = m.net("x", uint(8));
    let v = m.nets("v", uint(8), 3);
    let r = m.reg("r_q", uint(8));
    let child = m.instance("u_child", Child { width: 8 });
    m.connect(v.at(1), io.a_i);
    m.connect(io.z_o.at(2), x & v.at(0) & v.at(2) & v.at(1) & r & child.now_o);
} r#"
    error: output `y_o` has no driver
      --> refuses!(nothing_drives { a_i: In = uint(8), y_o: Out = uint(8), z_o: OutArray = uint(8).array(4) } |m, io| {, in module bad
    error: element 0 of output `z_o` has no driver (and 2 more of it)
      --> refuses!(nothing_drives { a_i: In = uint(8), y_o: Out = uint(8), z_o: OutArray = uint(8).array(4) } |m, io| {, in module bad
    error: `x` has no driver
      --> let x = m.net("x", uint(8));, in module bad
    error: element 0 of `v` has no driver (and 1 more of it)
      --> let v = m.nets("v", uint(8), 3);, in module bad
    error: register `r_q` is never assigned
      --> let r = m.reg("r_q", uint(8));, in module bad
    error: `a_i` of u_child has no driver
      --> let child = m.instance("u_child", Child { width: 8 });, in module bad
"#);

refuses!(two_drivers { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    m.connect(io.y_o, io.a_i);
    m.connect(io.y_o, 3);
} r#"
    error: output `y_o` has two drivers
      --> m.connect(io.y_o, 3);, in module bad
      note: the other driver at m.connect(io.y_o, io.a_i);
"#);

refuses!(two_drivers_of_an_element { a_i: In = uint(8), y_o: OutArray = uint(8).array(4) } |m, io| {
    m.for_each("low", 3, |m, i| m.connect(io.y_o.at(i), io.a_i));
    m.for_each("high", 2, |m, i| m.connect(io.y_o.at(i + 2), io.a_i));
} r#"
    error: element 2 of output `y_o` has two drivers
      --> m.for_each("high", 2, |m, i| m.connect(io.y_o.at(i + 2), io.a_i));, in module bad
      note: the other driver at m.for_each("low", 3, |m, i| m.connect(io.y_o.at(i), io.a_i));
"#);

refuses!(every_turn_drives_the_same { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    m.for_each("turn", 2, |m, _| m.connect(io.y_o, io.a_i));
} r#"
    error: output `y_o` is driven once in every turn of a loop, or of a loop in Rust
      --> m.for_each("turn", 2, |m, _| m.connect(io.y_o, io.a_i));, in module bad
"#);

refuses!(register_assigned_twice { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    let r = m.reg("r_q", uint(8));
    r.next(io.a_i);
    r.next(3);
    m.connect(io.y_o, r);
} r#"
    error: register `r_q` has two drivers
      --> r.next(3);, in module bad
      note: the other driver at r.next(io.a_i);
"#);

refuses!(register_of_another_type { a_i: In = uint(8), y_o: Out = sint(8), } |m, io| {
    let r = m.reg_init("r_q", sint(8), 128);
    r.next_when(io.a_i, io.a_i);
    m.connect(io.y_o, r);
} r#"
    error: the reset value 128 of `r_q` does not fit sint(8)
      --> let r = m.reg_init("r_q", sint(8), 128);, in module bad
    error: register `r_q` (sint(8)) cannot take `a_i` (uint(8)); cast (as_sint) it
      --> r.next_when(io.a_i, io.a_i);, in module bad
"#);

refuses!(enable_of_many_bits { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    let r = m.reg("r_q", uint(8));
    r.next_when(io.a_i, io.a_i);
    m.connect(io.y_o, r);
} r#"
    error: an enable is one unsigned bit, not `a_i` (uint(8))
      --> r.next_when(io.a_i, io.a_i);, in module bad
"#);

refuses!(targets_that_cannot_be_driven { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    m.connect(io.a_i, 0);
    let x = m.wire("x", io.a_i);
    m.connect(x, 0);
    let r = m.reg("r_q", uint(8));
    r.next(x);
    m.connect(r.q, 0);
    let child = m.instance("u_child", Child { width: 8 });
    m.connect(child.a_i, r);
    m.connect(child.now_o, 0);
    m.connect(!r.q, 0);
    m.connect(io.y_o, child.later_o);
} r#"
    error: cannot drive `a_i` (uint(8)): it is an input of this module
      --> m.connect(io.a_i, 0);, in module bad
    error: cannot drive `x` (uint(8)): it is already driven where it is named; declare it with `net` instead
      --> m.connect(x, 0);, in module bad
    error: cannot drive `r_q` (uint(8)): it is a register; use its `next`
      --> m.connect(r.q, 0);, in module bad
    error: cannot drive `child_now` (uint(8)): it is an output of an instance
      --> m.connect(child.now_o, 0);, in module bad
    error: connect needs a port, net or array element as its target, not an expression (uint(8))
      --> m.connect(!r.q, 0);, in module bad
"#);

// ---- readers ----

refuses!(never_read { a_i: In = uint(8), b_i: InArray = uint(8).array(2), y_o: Out = bit() } |m, io| {
    let x = m.wire("x", io.a_i);
    let r = m.reg("r_q", uint(8));
    r.next(3);
    let ram = m.memory("ram", 4, 4, 4);
    let data = ram.read_async("data", uint(2).lit(0));
    m.connect(io.y_o, 1);
} r#"
    error: input `b_i` is never read: remove it, or say `m.unused(..)`
      --> refuses!(never_read { a_i: In = uint(8), b_i: InArray = uint(8).array(2), y_o: Out = bit() } |m, io| {, in module bad
    error: wire `x` is never read: remove it, or say `m.unused(..)`
      --> let x = m.wire("x", io.a_i);, in module bad
    error: register `r_q` is never read: remove it, or say `m.unused(..)`
      --> let r = m.reg("r_q", uint(8));, in module bad
    error: read data `data` is never read: remove it, or say `m.unused(..)`
      --> let data = ram.read_async("data", uint(2).lit(0));, in module bad
"#);

refuses!(read_by_checks_only { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    let r = m.reg_init("r_q", uint(8), 0);
    r.next(io.a_i);
    let odd = m.wire("odd", r.q.bit(0));
    m.connect(io.y_o, r);
    m.formal(|m| m.assert_always("never_odd", !odd));
} r#"
    error: wire `odd` is read by checks only: make it inside `m.formal`
      --> let odd = m.wire("odd", r.q.bit(0));, in module bad
"#);

// ---- combinational loops ----

refuses!(loop_in_a_module { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    let x = m.net("x", uint(8));
    let y = m.wire("y", x & io.a_i);
    m.connect(x, !y);
    m.connect(io.y_o, y);
} r#"
    error: combinational loop: x -> y -> x
      --> let y = m.wire("y", x & io.a_i);, in module bad
"#);

refuses!(loop_through_two_instances { y_o: Out = uint(8) } |m, io| {
    let first = m.instance("u_first", Child { width: 8 });
    let second = m.instance("u_second", Child { width: 8 });
    m.connect(first.a_i, second.now_o);
    m.connect(second.a_i, first.now_o);
    m.connect(io.y_o, first.later_o);
} r#"
    error: combinational loop: first_now -> second_a_i -> second_now -> first_a_i -> first_now
      --> let first = m.instance("u_first", Child { width: 8 });, in module bad
"#);

refuses!(loop_through_an_array { a_i: In = bit(), y_o: Out = bit() } |m, io| {
    let ring = m.nets("ring", bit(), 4);
    m.for_each("step", 3, |m, i| m.connect(ring.at(i + 1), ring.at(i) & io.a_i));
    m.connect(ring.at(0), ring.at(3));
    m.connect(io.y_o, ring.at(2));
} r#"
    error: combinational loop: ring[3] -> ring[0] -> ring[1] -> ring[2] -> ring[3]
      --> let ring = m.nets("ring", bit(), 4);, in module bad
"#);

refuses!(loop_through_a_state_machine { y_o: Out = bit() } |m, io| {
    let fsm = m.fsm("state", &["idle", "run"]);
    let go = m.wire("go", fsm.next_is("idle"));
    fsm.goto("idle", go, "run");
    m.connect(io.y_o, fsm.is("run"));
} r#"
    error: combinational loop: go -> state_d -> go
      --> let fsm = m.fsm("state", &["idle", "run"]);, in module bad
"#);

refuses!(no_loop_through_registers { a_i: In = uint(8), y_o: Out = uint(8), z_o: Out = bit() } |m, io| {
    let r = m.reg("r_q", uint(8));
    r.next(r.q & io.a_i);
    let first = m.instance("u_first", Child { width: 8 });
    m.connect(first.a_i, first.later_o & r.q);
    m.connect(io.y_o, first.now_o);
    // Neither a chain of different elements nor a memory is a loop.
    let chain = m.nets("chain", bit(), 4);
    m.connect(chain.at(0), r.q.bit(0));
    m.for_each("step", 3, |m, i| m.connect(chain.at(i + 1), !chain.at(i)));
    m.connect(io.z_o, chain.at(3));
} "no error");

// ---- names ----

refuses!(bad_names { a_i: In = bit(), y_o: Out = bit() } |m, io| {
    let x = ["reg", "Data", "a__b", "1st", "", "end_", "naïve"].map(|name| m.wire(name, io.a_i));
    x.iter().for_each(|&x| m.unused(x));
    m.connect(io.y_o, io.a_i);
} r#"
    error: `reg` is a reserved word of Verilog or SystemVerilog; choose another name
      --> let x = ["reg", "Data", "a__b", "1st", "", "end_", "naïve"].map(|name| m.wire(name, io.a_i));, in module bad
    error: `Data` is not a good name: use lower-case letters, digits and `_`, starting with a letter
      --> let x = ["reg", "Data", "a__b", "1st", "", "end_", "naïve"].map(|name| m.wire(name, io.a_i));, in module bad
    error: `a__b` is not a good name: no double or trailing `_`
      --> let x = ["reg", "Data", "a__b", "1st", "", "end_", "naïve"].map(|name| m.wire(name, io.a_i));, in module bad
    error: `1st` is not a good name: use lower-case letters, digits and `_`, starting with a letter
      --> let x = ["reg", "Data", "a__b", "1st", "", "end_", "naïve"].map(|name| m.wire(name, io.a_i));, in module bad
    error: a name is empty
      --> let x = ["reg", "Data", "a__b", "1st", "", "end_", "naïve"].map(|name| m.wire(name, io.a_i));, in module bad
    error: `end_` is not a good name: no double or trailing `_`
      --> let x = ["reg", "Data", "a__b", "1st", "", "end_", "naïve"].map(|name| m.wire(name, io.a_i));, in module bad
    error: `naïve` is not a good name: use lower-case letters, digits and `_`, starting with a letter
      --> let x = ["reg", "Data", "a__b", "1st", "", "end_", "naïve"].map(|name| m.wire(name, io.a_i));, in module bad
"#);

refuses!(name_taken { a_i: In = bit(), y_o: Out = bit() } |m, io| {
    let x = m.wire("x", io.a_i);
    let y = m.wire("x", x);
    let clk = m.wire("clk_i", y);
    m.connect(io.y_o, clk);
} r#"
    error: the name `x` is taken
      --> let y = m.wire("x", x);, in module bad
      note: previous definition at let x = m.wire("x", io.a_i);
    error: the name `clk_i` is taken
      --> let clk = m.wire("clk_i", y);, in module bad
      note: previous definition at let Err(error) = elaborate(block) else { return "no error\n".into() };
"#);

refuses!(port_without_direction { data: In = bit(), y_o: Out = bit() } |m, io| {
    m.connect(io.y_o, io.data);
} r#"
    error: port `data` needs the suffix `_i`
      --> refuses!(port_without_direction { data: In = bit(), y_o: Out = bit() } |m, io| {, in module bad
"#);

refuses!(two_parameter_sets_with_one_name { a_i: In = uint(9), y_o: Out = uint(9) } |m, io| {
    let narrow = m.instance("u_narrow", Child { width: 8 });
    let wide = m.instance("u_wide", Child { width: 9 });
    m.connect(narrow.a_i, io.a_i.truncate(8));
    m.connect(wide.a_i, io.a_i);
    m.connect(io.y_o, wide.now_o & narrow.now_o.extend(9));
} r#"
    error: two modules are called child_w8; module_name() must tell these parameters apart: {"width":9}
      --> let wide = m.instance("u_wide", Child { width: 9 });, in module bad
      note: child with {"width":8} at let narrow = m.instance("u_narrow", Child { width: 8 });
"#);

refuses!(state_names { y_o: Out = bit() } |m, io| {
    let fsm = m.fsm("state", &["idle", "IDLE", "K\u{fc}r"]);
    m.connect(io.y_o, fsm.is("idle"));
    let none = m.fsm("none", &[]);
    m.unused(none.is("idle"));
} r#"
    error: the name `state_idle` is taken
      --> let fsm = m.fsm("state", &["idle", "IDLE", "K\u{fc}r"]);, in module bad
      note: previous definition at let fsm = m.fsm("state", &["idle", "IDLE", "K\u{fc}r"]);
    error: `state_kür` is not a good name: use lower-case letters, digits and `_`, starting with a letter
      --> let fsm = m.fsm("state", &["idle", "IDLE", "K\u{fc}r"]);, in module bad
    error: the state machine `none` has no states
      --> let none = m.fsm("none", &[]);, in module bad
"#);

// ---- places ----

refuses!(index_out_of_range { v_i: InArray = uint(8).array(4), y_o: Out = uint(8), z_o: OutArray = uint(8).array(4) } |m, io| {
    m.connect(io.y_o, io.v_i.at(4) & io.v_i.at(u64::MAX) & io.v_i.at(-1));
    m.for_each("lane", 4, |m, i| m.connect(io.z_o.at(i), io.v_i.at(i + 1)));
} r#"
    error: index 4 of `v_i` is outside its 4 elements (0 to 3)
      --> m.connect(io.y_o, io.v_i.at(4) & io.v_i.at(u64::MAX) & io.v_i.at(-1));, in module bad
    error: index 9223372036854775807 of `v_i` is outside its 4 elements (0 to 3)
      --> m.connect(io.y_o, io.v_i.at(4) & io.v_i.at(u64::MAX) & io.v_i.at(-1));, in module bad
    error: index -1 of `v_i` is outside its 4 elements (0 to 3)
      --> m.connect(io.y_o, io.v_i.at(4) & io.v_i.at(u64::MAX) & io.v_i.at(-1));, in module bad
    error: index 1 to 4 of `v_i` is outside its 4 elements (0 to 3)
      --> m.for_each("lane", 4, |m, i| m.connect(io.z_o.at(i), io.v_i.at(i + 1)));, in module bad
"#);

refuses!(five_loops_in_one_index { y_o: Out = bit() } |m, io| {
    let v = m.nets("v", bit(), 64);
    m.for_each("a", 2, |m, a| m.for_each("b", 2, |m, b| m.for_each("c", 2, |m, c| m.for_each("d", 2, |m, d| {
        m.for_each("e", 2, |m, e| m.connect(v.at(a * 16 + b * 8 + c * 4 + d * 2 + e), 1));
    }))));
    m.for_each("rest", 32, |m, i| m.connect(v.at(i + 32), 0));
    m.for_each("all", 32, |m, i| m.connect(v.at(i), 0));
    m.connect(io.y_o, v.at(0));
} r#"
    error: an index of `v` is made of more than 4 loop variables
      --> m.for_each("e", 2, |m, e| m.connect(v.at(a * 16 + b * 8 + c * 4 + d * 2 + e), 1));, in module bad
"#);

refuses!(loop_value_too_narrow { key_i: In = uint(2), y_o: OutArray = bit().array(5) } |m, io| {
    m.for_each("lane", 5, |m, i| m.connect(io.y_o.at(i), io.key_i.eq(i.value(2))));
} r#"
    error: index values 0 to 4 do not fit uint(2)
      --> m.for_each("lane", 5, |m, i| m.connect(io.y_o.at(i), io.key_i.eq(i.value(2))));, in module bad
"#);

refuses!(signal_used_outside_its_loop { a_i: In = bit(), y_o: Out = bit() } |m, io| {
    let mut inner = None;
    m.for_each("lane", 2, |m, _| inner = Some(m.wire("inner", io.a_i)));
    m.connect(io.y_o, inner.unwrap());
} r#"
    error: `inner` (uint(1)) belongs to a loop or formal section that has ended
      --> m.connect(io.y_o, inner.unwrap());, in module bad
"#);

refuses!(arrays_of_different_types { v_i: InArray = uint(8).array(4), y_o: OutArray = uint(8).array(5) } |m, io| {
    m.connect_each("all", io.y_o, io.v_i);
} r#"
    error: cannot connect an array of 4 x uint(8) to one of 5 x uint(8)
      --> m.connect_each("all", io.y_o, io.v_i);, in module bad
"#);

refuses!(state_machine_driven_from_a_loop { a_i: In = bit(), y_o: Out = bit() } |m, io| {
    let fsm = m.fsm("state", &["idle", "run"]);
    m.for_each("lane", 2, |m, i| {
        let hit = m.wire("hit", io.a_i & i.value(1));
        fsm.goto("idle", hit, "run");
    });
    m.connect(io.y_o, fsm.is("run"));
} r#"
    error: `hit` (uint(1)) belongs to a loop or formal section inside of which the state machine is not
      --> fsm.goto("idle", hit, "run");, in module bad
"#);

refuses!(design_driven_from_a_formal_section { a_i: In = bit(), y_o: Out = bit(), z_o: Out = bit() } |m, io| {
    let r = m.reg_init("r_q", bit(), 0);
    m.connect(io.z_o, r);
    m.formal(|m| {
        m.connect(io.y_o, io.a_i);
        r.next(io.a_i);
    });
} r#"
    error: `y_o` belongs to the design and cannot be driven from a formal section
      --> m.connect(io.y_o, io.a_i);, in module bad
    error: `r_q` belongs to the design and cannot be driven from a formal section
      --> r.next(io.a_i);, in module bad
"#);

refuses!(check_outside_of_a_formal_section { a_i: In = uint(2), y_o: Out = uint(2) } |m, io| {
    m.connect(io.y_o, io.a_i);
    m.assert_always("holds", io.a_i.any());
    m.formal(|m| m.cover("wide", io.a_i));
} r#"
    error: check `holds` stands outside of a formal section; put it in `m.formal(|m| ...)`
      --> m.assert_always("holds", io.a_i.any());, in module bad
    error: a check's condition is one unsigned bit, not `a_i` (uint(2))
      --> m.formal(|m| m.cover("wide", io.a_i));, in module bad
"#);

refuses!(formal_register_without_reset { a_i: In = bit(), y_o: Out = bit() } |m, io| {
    m.connect(io.y_o, io.a_i);
    m.formal(|m| {
        let before = m.reg_init("before_q", bit(), 0);
        before.next(io.a_i);
        m.assert_always("never", !before.q);
    });
} r#"
    error: a formal section has registers but the module has no register with a reset
      --> m.formal(|m| {, in module bad
"#);

// ---- streams, state machines, memories ----

refuses!(fields_of_a_stream { load: InStream = stream().field("tag", uint(3)), y_o: Out = uint(3) } |m, io| {
    m.connect(io.load.ready, io.load.valid);
    m.connect(io.y_o, io.load.field("tga") & io.load.field("tag"));
    m.connect(io.y_o, io.load.array("tag").at(0));
} r#"
    error: stream `load` has no field `tga`; its fields are: tag (uint(3))
      --> m.connect(io.y_o, io.load.field("tga") & io.load.field("tag"));, in module bad
    error: stream `load` has no array field `tag`; its fields are: tag (uint(3))
      --> m.connect(io.y_o, io.load.array("tag").at(0));, in module bad
    error: output `y_o` has two drivers
      --> m.connect(io.y_o, io.load.array("tag").at(0));, in module bad
      note: the other driver at m.connect(io.y_o, io.load.field("tga") & io.load.field("tag"));
"#);

refuses!(states_and_conditions { a_i: In = uint(2), y_o: Out = bit() } |m, io| {
    let fsm = m.fsm("state", &["idle", "run"]);
    fsm.goto("idle", io.a_i, "run");
    fsm.goto("run", true, "stop");
    m.connect(io.y_o, fsm.is("walk"));
} r#"
    error: a transition's condition is one unsigned bit, not `a_i` (uint(2))
      --> fsm.goto("idle", io.a_i, "run");, in module bad
    error: `state` has no state `stop`; its states are idle, run
      --> fsm.goto("run", true, "stop");, in module bad
    error: `state` has no state `walk`; its states are idle, run
      --> m.connect(io.y_o, fsm.is("walk"));, in module bad
"#);

refuses!(memory_sizes { y_o: Out = bit() } |m, io| {
    let shallow = m.memory("shallow", 1, 8, 8);
    let thin = m.memory("thin", 4, 0, 1);
    let uneven = m.memory("uneven", 4, 8, 3);
    let zero = m.memory("zero", 4, 8, 0);
    m.connect(io.y_o, 1);
} r#"
    error: memory `shallow` has depth 1, allowed: 2 to 16777216
      --> let shallow = m.memory("shallow", 1, 8, 8);, in module bad
    error: memory `thin` has width 0, allowed: 1 to 1048576
      --> let thin = m.memory("thin", 4, 0, 1);, in module bad
    error: memory `uneven` has write granule 3, which does not divide its width 8
      --> let uneven = m.memory("uneven", 4, 8, 3);, in module bad
    error: memory `zero` has write granule 0, which does not divide its width 8
      --> let zero = m.memory("zero", 4, 8, 0);, in module bad
"#);

refuses!(memory_ports { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    let ram = m.memory("ram", 16, 8, 4);
    ram.write(io.a_i.bit(0), io.a_i, io.a_i.slice(0..4));
    let data = ram.read("data", io.a_i, io.a_i.as_sint());
    m.connect(io.y_o, data);
} r#"
    error: the write enable of memory `ram` is uint(2), not an expression (uint(1))
      --> ram.write(io.a_i.bit(0), io.a_i, io.a_i.slice(0..4));, in module bad
    error: the write address of memory `ram` is uint(4), not `a_i` (uint(8))
      --> ram.write(io.a_i.bit(0), io.a_i, io.a_i.slice(0..4));, in module bad
    error: the write data of memory `ram` is uint(8), not an expression (uint(4))
      --> ram.write(io.a_i.bit(0), io.a_i, io.a_i.slice(0..4));, in module bad
    error: the read enable of memory `ram` is uint(1), not `a_i` (uint(8))
      --> let data = ram.read("data", io.a_i, io.a_i.as_sint());, in module bad
    error: the read address of memory `ram` is uint(4), not an expression (sint(8))
      --> let data = ram.read("data", io.a_i, io.a_i.as_sint());, in module bad
"#);

// ---- blocks ----

refuses!(refused_parameter_inside { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    let child = m.instance("u_child", Child { width: 17 });
    m.connect(io.y_o, child.now_o.truncate(8) & io.a_i);
} r#"
    child in bad: parameter `width` is 17, allowed: from 1 to 16
"#);

refuses!(external_modules { a_i: In = bit(), y_o: Out = bit() } |m, io| {
    let port = |name: &str, ty| ExternalPort { name: name.into(), direction: Direction::Input, ty };
    let cell = ExternalModule { name: "CELL".into(), ports: vec![port("A", bit())], ..Default::default() };
    let other = ExternalModule { ports: vec![port("A", uint(2))], ..cell.clone() };
    let odd = ExternalModule { name: "a b".into(), ports: vec![port("wire", bit())], ..Default::default() };
    let first = m.external("u_first", &cell);
    m.connect(first.port("A"), io.a_i);
    m.connect(first.port("Z"), io.a_i);
    let second = m.external("u_second", &other);
    m.connect(second.port("A"), 0);
    let third = m.external("u_third", &odd);
    m.connect(third.port("wire"), io.a_i);
    m.connect(io.y_o, io.a_i);
} r#"
    error: module CELL has no port `Z`; its ports are: A
      --> m.connect(first.port("Z"), io.a_i);, in module bad
    error: two external modules called CELL differ in ports, clock, reset or source
      --> let second = m.external("u_second", &other);, in module bad
      note: the other one at let first = m.external("u_first", &cell);
    error: `a b` is not a Verilog identifier
      --> let third = m.external("u_third", &odd);, in module bad
    error: `wire` is a reserved word of Verilog or SystemVerilog
      --> let third = m.external("u_third", &odd);, in module bad
"#);

refuses!(several_at_once { a_i: In = uint(8), y_o: Out = uint(9), z_o: Out = bit() } |m, io| {
    m.connect(io.y_o, io.a_i);
    m.connect(io.z_o, io.a_i.slice(7..9));
    for _ in 0..3 {
        m.connect(io.z_o, io.a_i.eq(-1));
    }
    let x = m.wire("x", io.a_i);
} r#"
    error: cannot connect `a_i` (uint(8)) to `y_o` (uint(9)); extend it
      --> m.connect(io.y_o, io.a_i);, in module bad
    error: slice 7..9 is not inside `a_i` (uint(8))
      --> m.connect(io.z_o, io.a_i.slice(7..9));, in module bad
    error: the literal -1 is negative and the other operand unsigned; extend that one by a bit and cast it (as_sint)
      --> m.connect(io.z_o, io.a_i.eq(-1));, in module bad
    error: output `z_o` has two drivers
      --> m.connect(io.z_o, io.a_i.eq(-1));, in module bad
      note: the other driver at m.connect(io.z_o, io.a_i.slice(7..9));
    error: output `z_o` is driven once in every turn of a loop, or of a loop in Rust
      --> m.connect(io.z_o, io.a_i.eq(-1));, in module bad
"#);

#[test]
fn parameters_are_refused_with_name_value_and_range() {
    expect(&report(&Child { width: 0 }), "child: parameter `width` is 0, allowed: from 1 to 16");
}

/// A block inside itself: with the same parameters, and with others each time.
#[derive(Serialize)]
struct Nest {
    level: u32,
    step: u32,
}

ports! { struct NestPorts(p: &Nest) { y_o: Out = bit(), } }

impl Block for Nest {
    type Ports = NestPorts;
    const ABOUT: About = About { name: "nest", summary: "", contract: "", reference: "", source: file!() };
    fn module_name(&self) -> String {
        format!("nest_l{}", self.level)
    }
    fn build(&self, m: &mut Module, io: &NestPorts) {
        let inner = m.instance("u_inner", Nest { level: self.level + self.step, step: self.step });
        m.connect(io.y_o, inner.y_o);
    }
}

#[test]
fn a_block_inside_itself() {
    expect(
        &report(&Nest { level: 3, step: 0 }),
        r#"
        error: nest_l3 contains itself
          --> let inner = m.instance("u_inner", Nest { level: self.level + self.step, step: self.step });, in module nest_l3
    "#,
    );
}

#[test]
fn a_block_inside_itself_without_end() {
    expect(
        &report(&Nest { level: 0, step: 1 }),
        r#"
        error: nest_l100 is 100 levels deep: does a block contain itself, each time with other parameters?
          --> let inner = m.instance("u_inner", Nest { level: self.level + self.step, step: self.step });, in module nest_l99
    "#,
    );
}

#[test]
fn signals_of_another_module() {
    use std::cell::RefCell;
    type Handles = (Signal, Array, Reg, Fsm, Memory);
    thread_local! {
        static KEPT: RefCell<Option<Handles>> = const { RefCell::new(None) };
    }
    #[derive(Serialize)]
    struct Keeps;
    ports! { struct KeepsPorts(p: &Keeps) { y_o: Out = bit(), } }
    impl Block for Keeps {
        type Ports = KeepsPorts;
        const ABOUT: About = About { name: "keeps", summary: "", contract: "", reference: "", source: file!() };
        fn module_name(&self) -> String {
            "keeps".into()
        }
        fn build(&self, m: &mut Module, io: &KeepsPorts) {
            let x = m.wire("x", bit().lit(1));
            let v = m.nets("v", bit(), 1);
            m.connect(v.at(0), x);
            let r = m.reg("r_q", bit());
            r.next(v.at(0));
            let fsm = m.fsm("state", &["a", "b"]);
            fsm.goto("a", true, "b");
            let ram = m.memory("ram", 2, 1, 1);
            ram.write(r.q, fsm.is("b"), x);
            let data = ram.read_async("data", r.q);
            m.connect(io.y_o, data);
            KEPT.set(Some((x, v, r, fsm, ram)));
        }
    }
    #[derive(Serialize)]
    struct Uses;
    ports! { struct UsesPorts(p: &Uses) { y_o: Out = bit(), } }
    impl Block for Uses {
        type Ports = UsesPorts;
        const ABOUT: About = About { name: "uses", summary: "", contract: "", reference: "", source: file!() };
        fn module_name(&self) -> String {
            "uses".into()
        }
        fn build(&self, m: &mut Module, io: &UsesPorts) {
            let (x, v, r, fsm, ram) = KEPT.take().unwrap();
            m.connect(io.y_o, x);
            m.connect(io.y_o, v.at(0));
            r.next(x);
            m.connect(io.y_o, fsm.is("a"));
            fsm.goto("a", true, "b");
            ram.write(x, x, x);
            m.connect(io.y_o, ram.read("data", x, x));
        }
    }
    // Kept from another elaboration altogether.
    assert!(elaborate(&Keeps).is_ok());
    expect(
        &report(&Uses),
        r#"
        error: a signal of another module is used inside uses; connect it through a port of the instance
          --> m.connect(io.y_o, x);, in module uses
        error: an array of another module is used here; connect it through a port of the instance
          --> m.connect(io.y_o, v.at(0));, in module uses
        error: a signal of another module is used inside uses; connect it through a port of the instance
          --> r.next(x);, in module uses
        error: a signal of another module is used inside uses; connect it through a port of the instance
          --> m.connect(io.y_o, fsm.is("a"));, in module uses
        error: a signal of another module is used inside uses; connect it through a port of the instance
          --> fsm.goto("a", true, "b");, in module uses
        error: a memory of another module is used inside uses
          --> ram.write(x, x, x);, in module uses
        error: a memory of another module is used inside uses
          --> m.connect(io.y_o, ram.read("data", x, x));, in module uses
        error: output `y_o` has two drivers
          --> m.connect(io.y_o, v.at(0));, in module uses
          note: the other driver at m.connect(io.y_o, x);
        error: output `y_o` has two drivers
          --> m.connect(io.y_o, fsm.is("a"));, in module uses
          note: the other driver at m.connect(io.y_o, v.at(0));
        error: output `y_o` has two drivers
          --> m.connect(io.y_o, ram.read("data", x, x));, in module uses
          note: the other driver at m.connect(io.y_o, fsm.is("a"));
    "#,
    );
}

/// Outside of any elaboration there is nothing to describe and nothing to go wrong.
#[test]
fn signals_outside_of_an_elaboration() {
    let dead = uint(8).lit(3);
    let more = (dead + dead).extend(20).slice(3..7).repeat(2) & dead;
    assert_eq!(more.width(), 8);
    assert_eq!(mux(dead, more, 0).saturate(3).msb().width(), 1);
    assert_eq!(cat(&[dead, more]).bit_at(dead).width(), 1);
}

/// Long chains and heavy sharing stay cheap: neither recursion nor time grows with them.
#[test]
fn deep_and_shared_expressions() {
    #[derive(Serialize)]
    struct Chain;
    ports! { struct ChainPorts(p: &Chain) { a_i: In = uint(8), b_i: In = uint(8), y_o: OutArray = uint(8).array(4) } }
    impl Block for Chain {
        type Ports = ChainPorts;
        const ABOUT: About = About { name: "chain", summary: "", contract: "", reference: "", source: file!() };
        fn module_name(&self) -> String {
            "chain".into()
        }
        fn build(&self, m: &mut Module, io: &ChainPorts) {
            let long = (0..20_000).fold(io.a_i, |x, _| !(x & io.b_i));
            m.connect(io.y_o.at(0), long);
            // Each step uses the one before twice: 2^200 paths.
            let shared = (0..200).fold(io.a_i, |x, _| (x ^ x.shr_by(uint(1).lit(1))).wrapping_add(x));
            m.connect(io.y_o.at(1), shared);
            let doubled = (0..200).fold(io.a_i, |x, _| x + x);
            m.connect(io.y_o.at(2), doubled.truncate(8));
            let choices: Vec<_> = (0..4000_u32).map(|i| (io.a_i.eq(i % 256), uint(8).lit(i % 251))).collect();
            m.connect(io.y_o.at(3), select(&choices, io.b_i));
        }
    }
    let design = elaborate(&Chain).unwrap_or_else(|e| panic!("{e}"));
    let text = &design.verilog()[0].text;
    let long = text.lines().find(|l| l.len() > 110);
    assert_eq!(long, None);
    assert!(text.len() < 2_000_000, "{} bytes", text.len());
}
