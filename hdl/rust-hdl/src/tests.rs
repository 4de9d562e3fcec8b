//! What is refused, and with which words; what the generated text looks like. Simulations are in `tests/bridge.rs`.

use rust_hdl::prelude::*;

use crate::{Import, export, import};
use hdl::blocks::common::{MacMesh, MacPe};
use hdl::lang::{elaborate, sint, uint};

#[track_caller]
fn refused<B: Block>(import: &Import, block: B) -> String {
    import.block(block).expect_err("this block cannot be imported").problem
}

/// One input, one output, a clock; `S` to `R` are the types that tests change.
#[derive(LogicBlock, Default)]
struct Two<S: Synth, R: Synth> {
    pub clock: Signal<In, Clock>,
    pub a: Signal<In, Bits<4>>,
    pub second: Signal<In, S>,
    pub third: Signal<In, R>,
    pub y: Signal<Out, Bits<4>>,
}

impl<S: Synth, R: Synth> Logic for Two<S, R> {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.a.val();
    }
}

#[test]
fn ports_clock_and_reset_are_recognised() {
    let module = Import::new("two").reset("second").registered_outputs();
    let module = module.block(Two::<Bit, Signed<7>>::default()).unwrap();
    let ports: Vec<_> = module.ports.iter().map(|p| (p.name.as_str(), p.ty)).collect();
    assert_eq!(ports, [("a", uint(4)), ("third", sint(7)), ("y", uint(4))]);
    assert_eq!((&module.clocks[..], module.reset.as_deref()), (&["clock".to_owned()][..], Some("second")));
    assert!(module.registered_outputs);
    assert!(!import("two", Two::<Bit, Bit>::default()).unwrap().registered_outputs);
    let source = module.source.unwrap();
    let wrapper = "module two (\n  input  wire clock,\n  input  wire [3:0] a,\n  input  wire second,\n  \
                   input  wire signed [6:0] third,\n  output wire [3:0] y\n);\n  two$core u_core (\n    .clock(clock),";
    assert!(source.contains(wrapper), "{source}");
}

#[test]
fn bad_names_and_clocks_are_refused() {
    let message = refused(&Import::new("Two"), Two::<Bit, Bit>::default());
    assert!(message.contains("lower-case"), "{message}");
    let message = refused(&Import::new("two"), Two::<Clock, Bit>::default());
    assert_eq!(message, "two clocks, `clock` and `second`; our modules have one");
    let message = refused(&Import::new("two").reset("rst"), Two::<Bit, Bits<3>>::default());
    assert_eq!(
        message,
        "reset `rst` is not a one-bit input; the ports are: clock (input Clock), a (input Bits<4>), \
         second (input Bits<1>), third (input Bits<3>), y (output Bits<4>)"
    );
    let message = refused(&Import::new("two").reset("third"), Two::<Bit, Bits<3>>::default());
    assert!(message.starts_with("reset `third` is not a one-bit input"), "{message}");
    let message = refused(&Import::new("two"), vec![Two::<Bit, Bit>::default(), Two::default()]);
    assert!(message.contains("got 2 blocks"), "{message}");
    let message = refused(&Import::new("two"), Signal::<In, Bit>::default());
    assert!(message.contains("got 0 blocks and 0 ports"), "{message}");
}

/// Port names that Verilog, or our rules, do not allow. rust-hdl knows eight reserved words.
#[test]
fn bad_ports_are_refused() {
    #[derive(LogicBlock, Default)]
    struct Keyword {
        pub begin: Signal<In, Bit>,
    }
    #[allow(non_snake_case, reason = "on purpose")]
    #[derive(LogicBlock, Default)]
    struct Clash {
        pub data_in: Signal<In, Bit>,
        pub data__in: Signal<In, Bit>,
    }
    #[derive(LogicBlock, Default)]
    struct Tristate {
        pub pin: Signal<InOut, Bit>,
    }
    #[derive(LogicBlock, Default)]
    struct ClockOut {
        pub a: Signal<In, Bit>,
        pub clock: Signal<Out, Clock>,
    }
    macro_rules! empty_kernels {
        ($($name:ident: $body:expr),*) => {$(
            impl Logic for $name {
                fn update(&mut self) {}
                fn connect(&mut self) {
                    let connect: fn(&mut Self) = $body;
                    connect(self);
                }
            }
        )*};
    }
    empty_kernels!(Keyword: |_| (), Clash: |_| (), Tristate: |s| s.pin.connect(), ClockOut: |s| s.clock.connect());
    let message = refused(&Import::new("x"), Keyword::default());
    assert!(message.starts_with("port `begin`: `begin` is a reserved word"), "{message}");
    let message = refused(&Import::new("x"), Clash::default());
    assert_eq!(message, "ports `data_in` and `data__in` both become `data_in`; rename one");
    let message = refused(&Import::new("x"), Tristate::default());
    assert_eq!(message, "port `pin` is an inout; only inputs and outputs can be connected");
    let message = refused(&Import::new("x"), ClockOut::default());
    assert_eq!(message, "output `clock` is a clock; our modules have one clock, from outside");
}

#[test]
fn what_rust_hdl_itself_refuses_is_an_error() {
    #[derive(LogicBlock, Default)]
    struct Open {
        pub a: Signal<In, Bit>,
        pub y: Signal<Out, Bit>,
    }
    impl Logic for Open {
        fn update(&mut self) {}
    }
    let message = refused(&Import::new("open"), Open::default());
    assert_eq!(message, "rust-hdl's check: nothing drives uut$y");
}

/// rust-hdl's own FIR filter prints `$signed((left_sample + right_sample) * coeff_memory$data)`: a product cut to 16 bits.
#[test]
fn lost_products_are_refused_wherever_they_are() {
    type Fir = MultiplyAccumulateSymmetricFiniteImpulseResponseFilter<3>;
    #[derive(LogicBlock)]
    struct Outer {
        pub clock: Signal<In, Clock>,
        pub y: Signal<Out, Bit>,
        fir: Fir,
    }
    impl Logic for Outer {
        #[hdl_gen]
        fn update(&mut self) {
            self.fir.clock.next = self.clock.val();
            self.fir.data_in.next = 0.into();
            self.fir.strobe_in.next = false;
            self.y.next = self.fir.busy.val();
        }
    }
    let fir = || Fir::new(&[1, 2, 3, 2, 1]);
    let message = refused(&Import::new("fir"), fir());
    assert!(message.contains("`block`") && message.contains("Local signal"), "{message}");
    let outer = Outer { clock: Signal::default(), y: Signal::default(), fir: fir() };
    let message = refused(&Import::new("outer"), outer);
    assert!(message.contains("`block.fir`"), "{message}");
}

#[test]
fn exported_ports_are_checked() {
    crate::black_box! {
        struct Wrong {
            clk_i: Signal<In, Bit>,
            clear_i: Signal<In, Bits<2>>,
            act_i: Signal<In, Bits<8>>,
            weight_i: Signal<Out, Bits<16>>,
            row_i: Signal<In, Bit>,
            acc_o: Signal<Out, Bits<64>>,
            extra: Signal<In, Bit>,
        }
    }
    let p = MacMesh { rows: 2, columns: 2, operand_width: 8, accumulator_width: 32 };
    let error = Wrong::new(&elaborate(&p).unwrap()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "rust-hdl interoperability, module mac_mesh_r2_c2_w8_a32: field `clk_i` is input Bits<1>; the design's port is \
         input Clock; field `rst_ni` is missing: input Bits<1>; field `act_i` is input Bits<8>; the design's port is \
         input Bits<16>; field `weight_i` is output Bits<16>; the design's port is input Bits<16>; field `extra` \
         (input Bits<1>) is not a port of the design"
    );
    let mut shell = export(&elaborate(&p).unwrap()).unwrap();
    assert!(shell.drive("act_i").is_ok());
    let message = shell.drive("acc_o").unwrap_err().problem;
    assert_eq!(message, "no input `acc_o`; the inputs are: clk_i, rst_ni, clear_i, act_i, weight_i, row_i");
}

/// An input that nobody drives is found by rust-hdl's check: run-time ports are ports like others.
#[test]
fn undriven_black_box_inputs_are_found_by_rust_hdl() {
    let pe = || export(&elaborate(&MacPe { operand_width: 4, accumulator_width: 8 }).unwrap()).unwrap();
    let check = |driven: &[&str]| {
        let mut inner = pe();
        driven.iter().for_each(|port| inner.drive(port).unwrap());
        let mut top = TopWrap::new(inner);
        top.connect_all();
        check_all(&top)
    };
    assert!(check(&["clk_i", "rst_ni", "clear_i", "act_i", "weight_i"]).is_ok());
    assert!(check(&["clk_i", "rst_ni", "clear_i", "act_i"]).is_err());
}
