//! Several managers before one memory.

use sim::bus::{AxiConfig, AxiMemory, Partner, Stalls, cycle};
use sim::stimulus::Stall;
use sim::{BuildOptions, Design, Model};

/// Managers with a number behind one name, each alone: one reads, one writes.
#[test]
fn all_managers_of_a_name_share_the_memory() {
    let design = "
    module pair(
      input  wire clk_i, input wire rst_ni, output reg [31:0] read_o,
      output wire [31:0] mem0_araddr_o, output wire mem0_arvalid_o, input wire mem0_arready_i,
      input  wire [31:0] mem0_rdata_i, input wire [1:0] mem0_rresp_i, input wire mem0_rvalid_i, output wire mem0_rready_o,
      output wire [31:0] mem1_awaddr_o, output wire mem1_awvalid_o, input wire mem1_awready_i,
      output wire [31:0] mem1_wdata_o, output wire [3:0] mem1_wstrb_o, output wire mem1_wvalid_o, input wire mem1_wready_i,
      input  wire [1:0] mem1_bresp_i, input wire mem1_bvalid_i, output wire mem1_bready_o);
      reg live_q, sent_q, data_q, written_q, asked_q;
      always @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) {live_q, sent_q, data_q, written_q, asked_q} <= 5'b00000;
        else begin
          live_q <= 1'b1;
          if (mem1_awvalid_o && mem1_awready_i) sent_q <= 1'b1;
          if (mem1_wvalid_o && mem1_wready_i) data_q <= 1'b1;
          if (mem1_bvalid_i) written_q <= 1'b1;
          if (mem0_arvalid_o && mem0_arready_i) asked_q <= 1'b1;
        end
      always @(posedge clk_i) if (mem0_rvalid_i) read_o <= mem0_rdata_i;
      assign {mem1_awaddr_o, mem1_awvalid_o} = {32'h123_4500, live_q && !sent_q};
      assign {mem1_wdata_o, mem1_wstrb_o, mem1_wvalid_o} = {32'hcafe_f00d, 4'b1111, live_q && !data_q};
      assign {mem0_araddr_o, mem0_arvalid_o} = {32'h123_4500, written_q && !asked_q};
      assign {mem0_rready_o, mem1_bready_o} = 2'b11;
    endmodule";
    let mut sim =
        Model::build(&Design::from_verilog("pair", design), &BuildOptions::default()).unwrap().instance().unwrap();
    let mut memory = AxiMemory::new();
    let stalls = Stalls { w: Stall::OneIn(4), ..Stalls::default() };
    let config = AxiConfig { stalls, ..AxiConfig::ideal(2) };
    assert_eq!(memory.serve_all(&sim, "mem", &config, 1).unwrap(), ["mem0", "mem1"]);
    sim.reset(2).unwrap();
    for _ in 0..30 {
        cycle(&mut sim, &mut [&mut memory]).unwrap();
    }
    assert!(memory.is_idle());
    let read = sim.output("read_o").unwrap();
    assert_eq!(sim.peek_u64(read), 0xcafe_f00d);
    assert_eq!((memory.stats("mem0").read_beats, memory.stats("mem1").write_beats), (1, 1));
    let waits = memory.write_wait_cycles();
    assert_eq!((waits > 0, waits, 0), (true, memory.stats("mem1").write_waits, memory.stats("mem0").write_waits));
    let none = memory.serve_all(&sim, "other", &config, 1).unwrap_err().to_string();
    assert!(none.contains("there is neither `other_arvalid_o` nor"), "{none}");
}
