//! Drivers, readers and combinational loops.

use hdl::lang::*;

use crate::{Child, expect, report};

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
    error: combinational loop: first_now -> second_a_in -> second_now -> first_a_in -> first_now
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
