//! Blocks in rust-hdl: some to be imported, some that hold ours.

use hdl::blocks::common::{MacMesh, MacPe};
use hdl::lang::elaborate;
use rust_hdl::prelude::*;
use rust_hdl_bridge::{BlackBox, export};

/// Adds signed samples while enabled; `idle` is combinational.
#[derive(LogicBlock, Default)]
pub struct Accumulate {
    pub clock: Signal<In, Clock>,
    pub enable: Signal<In, Bit>,
    pub sample: Signal<In, Signed<12>>,
    pub sum: Signal<Out, Signed<20>>,
    pub idle: Signal<Out, Bit>,
    store: DFF<Signed<20>>,
}

impl Logic for Accumulate {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, store);
        if self.enable.val() {
            self.store.d.next = self.store.q.val() + signed_bit_cast::<20, 12>(self.sample.val());
        }
        self.sum.next = self.store.q.val();
        self.idle.next = !self.enable.val();
    }
}

/// A three-stage delay line, with names that our ports cannot have.
#[derive(LogicInterface, Default, Clone, Debug)]
#[allow(non_snake_case, reason = "on purpose")]
pub struct Bus {
    pub DATA: Signal<In, Bits<5>>,
    pub late: Signal<Out, Bits<5>>,
}

#[derive(LogicBlock, Default)]
#[allow(non_snake_case, reason = "on purpose")]
pub struct Delay {
    pub CLK: Signal<In, Clock>,
    pub bus: Bus,
    store: [DFF<Bits<5>>; 3],
}

impl Logic for Delay {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..3 {
            self.store[i].clock.next = self.CLK.val();
        }
        self.store[0].d.next = self.bus.DATA.val();
        for i in 0..2 {
            self.store[i + 1].d.next = self.store[i].q.val();
        }
        self.bus.late.next = self.store[2].q.val();
    }
}

/// A block that cannot be imported.
#[derive(LogicBlock, Default)]
pub struct TwoClocks {
    pub clock: Signal<In, Clock>,
    pub other_clock: Signal<In, Clock>,
    pub late: Signal<Out, Bit>,
    store: DFF<Bit>,
    other: DFF<Bit>,
}

impl Logic for TwoClocks {
    #[hdl_gen]
    fn update(&mut self) {
        self.store.clock.next = self.clock.val();
        self.other.clock.next = self.other_clock.val();
        self.store.d.next = !self.store.q.val();
        self.other.d.next = self.store.q.val();
        self.late.next = self.other.q.val();
    }
}

// Eight words of nine bits, from rust-hdl's library.
declare_sync_fifo!(Fifo, Bits<9>, 8, 2);

rust_hdl_bridge::black_box! {
    /// Our multiply-accumulate cell as rust-hdl sees it.
    pub struct PeBox {
        clk_i: Signal<In, Clock>,
        rst_ni: Signal<In, Bit>,
        clear_i: Signal<In, Bit>,
        act_i: Signal<In, Signed<8>>,
        weight_i: Signal<In, Signed<8>>,
        clear_o: Signal<Out, Bit>,
        act_o: Signal<Out, Signed<8>>,
        weight_o: Signal<Out, Signed<8>>,
        acc_o: Signal<Out, Signed<24>>,
    }
}

/// A rust-hdl block with two of our cells in a row; its kernel is ordinary rust-hdl.
#[derive(LogicBlock)]
pub struct Pair {
    pub clk_i: Signal<In, Clock>,
    pub rst_ni: Signal<In, Bit>,
    pub clear_i: Signal<In, Bit>,
    pub act_i: Signal<In, Signed<8>>,
    pub left_i: Signal<In, Signed<8>>,
    pub right_i: Signal<In, Signed<8>>,
    pub sum_o: Signal<Out, Signed<24>>,
    left: PeBox,
    right: PeBox,
}

impl Pair {
    pub fn new() -> Self {
        let design = elaborate(&MacPe { operand_width: 8, accumulator_width: 24 }).unwrap();
        Self {
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            clear_i: Signal::default(),
            act_i: Signal::default(),
            left_i: Signal::default(),
            right_i: Signal::default(),
            sum_o: Signal::default(),
            left: PeBox::new(&design).unwrap(),
            right: PeBox::new(&design).unwrap(),
        }
    }
}

impl Logic for Pair {
    #[hdl_gen]
    fn update(&mut self) {
        self.left.clk_i.next = self.clk_i.val();
        self.right.clk_i.next = self.clk_i.val();
        self.left.rst_ni.next = self.rst_ni.val();
        self.right.rst_ni.next = self.rst_ni.val();
        self.left.clear_i.next = self.clear_i.val();
        self.right.clear_i.next = self.left.clear_o.val();
        self.left.act_i.next = self.act_i.val();
        self.right.act_i.next = self.left.act_o.val();
        self.left.weight_i.next = self.left_i.val();
        self.right.weight_i.next = self.right_i.val();
        self.sum_o.next = self.left.acc_o.val() + self.right.acc_o.val();
    }
}

/// A rust-hdl block whose only content is a design of ours with run-time ports: all ports are passed on.
#[derive(LogicBlock)]
pub struct Shell {
    pub clk_i: Signal<In, Clock>,
    pub rst_ni: Signal<In, Bit>,
    pub clear_i: Signal<In, Bits<16>>,
    pub act_i: Signal<In, Bits<64>>,
    pub weight_i: Signal<In, Bits<64>>,
    pub row_i: Signal<In, Bits<4>>,
    pub acc_o: Signal<Out, Bits<64>>,
    mesh: BlackBox,
}

impl Shell {
    pub fn new(p: &MacMesh) -> Self {
        Self {
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            clear_i: Signal::default(),
            act_i: Signal::default(),
            weight_i: Signal::default(),
            row_i: Signal::default(),
            acc_o: Signal::default(),
            mesh: export(&elaborate(p).unwrap()).unwrap(),
        }
    }
}

impl Logic for Shell {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.acc_o.connect();
        for port in ["clk_i", "rst_ni", "clear_i", "act_i", "weight_i", "row_i"] {
            self.mesh.drive(port).unwrap();
        }
    }

    // Verilog cuts the wide ports of the shell to what the mesh has: its size is known at run time only.
    fn hdl(&self) -> Verilog {
        let passed = ["clk_i", "rst_ni", "clear_i", "act_i", "weight_i", "row_i"];
        let code: String = passed.iter().map(|p| format!("always @(*) mesh${p} = {p};\n")).collect();
        Verilog::Custom(format!("{code}always @(*) acc_o = mesh$acc_o;\n"))
    }
}

/// The text as a user of rust-hdl makes it.
pub fn text_of<B: Block>(mut block: B) -> String {
    block.connect_all();
    generate_verilog(&block)
}
