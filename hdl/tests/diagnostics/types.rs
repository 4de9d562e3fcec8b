//! Types, widths and sizes.

use hdl::lang::*;

use crate::{expect, report};

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
