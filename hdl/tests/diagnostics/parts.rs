//! Streams, state machines, memories, and blocks inside of blocks.

use hdl::lang::*;

use crate::{Child, expect, report};

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

refuses!(refused_parameter_inside { a_i: In = uint(8), y_o: Out = uint(8) } |m, io| {
    let child = m.instance("u_child", Child { width: 17 });
    m.connect(io.y_o, child.now_o.truncate(8) & io.a_i);
} r#"
    child in bad: parameter `width` is 17, allowed: 1 to 16
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
    error: two external modules called CELL differ in ports, clock, reset, source or registered outputs
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
    expect(&report(&Child { width: 0 }), "child: parameter `width` is 0, allowed: 1 to 16");
}

parameters! {
    /// A block inside itself: with the same parameters, and with others each time.
    struct Nest {
        /// Level of this one.
        level: u32 = 0, tag "l";
        /// To the next one.
        step: u32 = 0;
    }
}

ports! { struct NestPorts(p: &Nest) { y_o: Out = bit(), } }

impl Block for Nest {
    type Ports = NestPorts;
    const ABOUT: About = About { name: "nest", summary: "", contract: "", reference: "" };
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
    parameters! {
        /// Nothing.
        struct Keeps {}
    }
    ports! { struct KeepsPorts(p: &Keeps) { y_o: Out = bit(), } }
    impl Block for Keeps {
        type Ports = KeepsPorts;
        const ABOUT: About = About { name: "keeps", summary: "", contract: "", reference: "" };
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
    parameters! {
        /// Nothing.
        struct Uses {}
    }
    ports! { struct UsesPorts(p: &Uses) { y_o: Out = bit(), } }
    impl Block for Uses {
        type Ports = UsesPorts;
        const ABOUT: About = About { name: "uses", summary: "", contract: "", reference: "" };
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
    assert!(elaborate(&Keeps {}).is_ok());
    expect(
        &report(&Uses {}),
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
    parameters! {
        /// Nothing.
        struct Chain {}
    }
    ports! { struct ChainPorts(p: &Chain) { a_i: In = uint(8), b_i: In = uint(8), y_o: OutArray = uint(8).array(4) } }
    impl Block for Chain {
        type Ports = ChainPorts;
        const ABOUT: About = About { name: "chain", summary: "", contract: "", reference: "" };
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
    let design = elaborate(&Chain {}).unwrap_or_else(|e| panic!("{e}"));
    let text = &design.verilog()[0].text;
    let long = text.lines().find(|l| l.len() > 110);
    assert_eq!(long, None);
    assert!(text.len() < 2_000_000, "{} bytes", text.len());
}

struct Named {
    y_o: Signal,
    z_o: Option<Signal>,
}

refuses!(connections_by_name { a_i: In = uint(2), y_o: Out = bit(), z_o: OutOption = bit().when(true) } |m, io| {
    let from = Named { y_o: io.a_i, z_o: Some(io.a_i) };
    connect_all!(m, io, from, [y_o, z_o]);
} r#"
    error: cannot connect `a_i` (uint(2)) to `y_o` (uint(1)); truncate, saturate or slice it
      --> connect_all!(m, io, from, [y_o, z_o]);, in module bad
    error: cannot connect `a_i` (uint(2)) to `z_o` (uint(1)); truncate, saturate or slice it
      --> connect_all!(m, io, from, [y_o, z_o]);, in module bad
"#);

// A port that only one side has is missed where it is needed, and only there.
refuses!(options_of_one_side { a_i: In = bit(), y_o: Out = bit(), z_o: OutOption = bit().when(true) } |m, io| {
    m.connect_option(None, Some(io.a_i));
    let from = Named { y_o: io.a_i, z_o: None };
    connect_all!(m, io, from, [y_o, z_o]);
} r#"
    error: output `z_o` has no driver
      --> refuses!(options_of_one_side { a_i: In = bit(), y_o: Out = bit(), z_o: OutOption = bit().when(true) } |m, io| {, in module bad
"#);
