//! Names, indices, and what belongs to which section.

use hdl::lang::*;

use crate::{Child, expect, report};

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
    error: two modules are called child_w8; a `tag` must tell these parameters apart: {"width":9}
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

refuses!(column_of_another_row { row_i: In = uint(1), y_o: Out = bit() } |m, io| {
    let grid = m.grid("grid", bit(), 2, 4);
    m.for_each("row", 2, |m, r| m.for_each("column", 4, |m, c| m.connect(grid.at((r, c)), 0)));
    m.connect(io.y_o, grid.at((0, 5)) & grid.at((io.row_i, 4)));
} r#"
    error: index 5 of `grid` is outside of a coordinate's 4 places (0 to 3)
      --> m.connect(io.y_o, grid.at((0, 5)) & grid.at((io.row_i, 4)));, in module bad
    error: index 4 of `grid` is outside of a coordinate's 4 places (0 to 3)
      --> m.connect(io.y_o, grid.at((0, 5)) & grid.at((io.row_i, 4)));, in module bad
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

refuses!(two_formal_sections { a_i: In = bit(), y_o: Out = bit() } |m, io| {
    m.connect(io.y_o, io.a_i);
    m.formal(|m| m.assert_always("holds", io.a_i));
    m.formal(|m| m.cover("seen", io.a_i));
} "
    error: the module has a formal section already: all checks go into one
      --> m.formal(|m| m.cover(\"seen\", io.a_i));, in module bad
");
