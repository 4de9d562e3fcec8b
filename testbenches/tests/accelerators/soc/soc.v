// A small system on chip: the CPU PicoRV32, an accelerator, and a memory outside that both reach, the CPU by cpu_*, the accelerator
// by mem_*. The registers are at the CPU's addresses from 0x4000_0000 to 0x4fff_ffff; all others are memory.
//
// `ACCELERATOR is the module that `senbazuru gen` writes; `ADDRESS_WIDTH, `DATA_WIDTH and `ID_WIDTH are those of its bus.
module soc (
  input  wire         clk_i,
  input  wire         rst_ni,
  output wire         trap_o,          // The CPU has given up
  output wire  [31:0] cpu_awaddr_o,
  output wire   [2:0] cpu_awprot_o,
  output wire         cpu_awvalid_o,
  input  wire         cpu_awready_i,
  output wire  [31:0] cpu_wdata_o,
  output wire   [3:0] cpu_wstrb_o,
  output wire         cpu_wvalid_o,
  input  wire         cpu_wready_i,
  input  wire   [1:0] cpu_bresp_i,
  input  wire         cpu_bvalid_i,
  output wire         cpu_bready_o,
  output wire  [31:0] cpu_araddr_o,
  output wire   [2:0] cpu_arprot_o,
  output wire         cpu_arvalid_o,
  input  wire         cpu_arready_i,
  input  wire  [31:0] cpu_rdata_i,
  input  wire   [1:0] cpu_rresp_i,
  input  wire         cpu_rvalid_i,
  output wire         cpu_rready_o,
  output wire [`ID_WIDTH-1:0] mem_awid_o,
  output wire [`ADDRESS_WIDTH-1:0] mem_awaddr_o,
  output wire   [7:0] mem_awlen_o,
  output wire   [2:0] mem_awsize_o,
  output wire   [1:0] mem_awburst_o,
  output wire   [3:0] mem_awcache_o,
  output wire   [2:0] mem_awprot_o,
  output wire         mem_awvalid_o,
  input  wire         mem_awready_i,
  output wire [`DATA_WIDTH-1:0] mem_wdata_o,
  output wire [`DATA_WIDTH/8-1:0] mem_wstrb_o,
  output wire         mem_wlast_o,
  output wire         mem_wvalid_o,
  input  wire         mem_wready_i,
  input  wire [`ID_WIDTH-1:0] mem_bid_i,
  input  wire   [1:0] mem_bresp_i,
  input  wire         mem_bvalid_i,
  output wire         mem_bready_o,
  output wire [`ID_WIDTH-1:0] mem_arid_o,
  output wire [`ADDRESS_WIDTH-1:0] mem_araddr_o,
  output wire   [7:0] mem_arlen_o,
  output wire   [2:0] mem_arsize_o,
  output wire   [1:0] mem_arburst_o,
  output wire   [3:0] mem_arcache_o,
  output wire   [2:0] mem_arprot_o,
  output wire         mem_arvalid_o,
  input  wire         mem_arready_i,
  input  wire [`ID_WIDTH-1:0] mem_rid_i,
  input  wire [`DATA_WIDTH-1:0] mem_rdata_i,
  input  wire   [1:0] mem_rresp_i,
  input  wire         mem_rlast_i,
  input  wire         mem_rvalid_i,
  output wire         mem_rready_o
);
  wire awvalid, wvalid, bready, arvalid, rready;
  wire ctrl_awready, ctrl_wready, ctrl_bvalid, ctrl_arready, ctrl_rvalid;
  wire [1:0] ctrl_bresp, ctrl_rresp;
  wire [31:0] ctrl_rdata;
  wire irq;

  // PicoRV32 has one access at a time and holds its address until the answer, so the decoder has no state.
  wire to_ctrl = cpu_awaddr_o[31:28] == 4'h4;
  wire from_ctrl = cpu_araddr_o[31:28] == 4'h4;
  assign cpu_awvalid_o = awvalid && !to_ctrl;
  assign cpu_wvalid_o = wvalid && !to_ctrl;
  assign cpu_bready_o = bready && !to_ctrl;
  assign cpu_arvalid_o = arvalid && !from_ctrl;
  assign cpu_rready_o = rready && !from_ctrl;
  wire bvalid = to_ctrl ? ctrl_bvalid : cpu_bvalid_i;
  wire rvalid = from_ctrl ? ctrl_rvalid : cpu_rvalid_i;
  wire [1:0] bresp = to_ctrl ? ctrl_bresp : cpu_bresp_i;
  wire [1:0] rresp = from_ctrl ? ctrl_rresp : cpu_rresp_i;

  // PicoRV32 does not look at answers: an error is interrupt 5. The accelerator's is 4, a level; PicoRV32 keeps the others.
  wire failed = bvalid && bready && bresp[1] || rvalid && rready && rresp[1];

  picorv32_axi #(
    .ENABLE_MUL     (1),
    .ENABLE_DIV     (1),
    .ENABLE_IRQ     (1),
    .LATCHED_IRQ    (32'hffff_ffef),
    .PROGADDR_RESET (32'h0000_0000),
    .PROGADDR_IRQ   (32'h0000_0010)
  ) cpu (
    .clk             (clk_i),
    .resetn          (rst_ni),
    .trap            (trap_o),
    .mem_axi_awvalid (awvalid),
    .mem_axi_awready (to_ctrl ? ctrl_awready : cpu_awready_i),
    .mem_axi_awaddr  (cpu_awaddr_o),
    .mem_axi_awprot  (cpu_awprot_o),
    .mem_axi_wvalid  (wvalid),
    .mem_axi_wready  (to_ctrl ? ctrl_wready : cpu_wready_i),
    .mem_axi_wdata   (cpu_wdata_o),
    .mem_axi_wstrb   (cpu_wstrb_o),
    .mem_axi_bvalid  (bvalid),
    .mem_axi_bready  (bready),
    .mem_axi_arvalid (arvalid),
    .mem_axi_arready (from_ctrl ? ctrl_arready : cpu_arready_i),
    .mem_axi_araddr  (cpu_araddr_o),
    .mem_axi_arprot  (cpu_arprot_o),
    .mem_axi_rvalid  (rvalid),
    .mem_axi_rready  (rready),
    .mem_axi_rdata   (from_ctrl ? ctrl_rdata : cpu_rdata_i),
    .pcpi_wr         (1'b0),
    .pcpi_rd         (32'h0),
    .pcpi_wait       (1'b0),
    .pcpi_ready      (1'b0),
    .irq             ({26'h0, failed, irq, 4'h0})
  );

  `ACCELERATOR accelerator (
    .clk_i          (clk_i),
    .rst_ni         (rst_ni),
    .ctrl_awaddr_i  (cpu_awaddr_o[11:0]),
    .ctrl_awprot_i  (cpu_awprot_o),
    .ctrl_awvalid_i (awvalid && to_ctrl),
    .ctrl_awready_o (ctrl_awready),
    .ctrl_wdata_i   (cpu_wdata_o),
    .ctrl_wstrb_i   (cpu_wstrb_o),
    .ctrl_wvalid_i  (wvalid && to_ctrl),
    .ctrl_wready_o  (ctrl_wready),
    .ctrl_bresp_o   (ctrl_bresp),
    .ctrl_bvalid_o  (ctrl_bvalid),
    .ctrl_bready_i  (bready && to_ctrl),
    .ctrl_araddr_i  (cpu_araddr_o[11:0]),
    .ctrl_arprot_i  (cpu_arprot_o),
    .ctrl_arvalid_i (arvalid && from_ctrl),
    .ctrl_arready_o (ctrl_arready),
    .ctrl_rdata_o   (ctrl_rdata),
    .ctrl_rresp_o   (ctrl_rresp),
    .ctrl_rvalid_o  (ctrl_rvalid),
    .ctrl_rready_i  (rready && from_ctrl),
    .mem_awid_o     (mem_awid_o),
    .mem_awaddr_o   (mem_awaddr_o),
    .mem_awlen_o    (mem_awlen_o),
    .mem_awsize_o   (mem_awsize_o),
    .mem_awburst_o  (mem_awburst_o),
    .mem_awcache_o  (mem_awcache_o),
    .mem_awprot_o   (mem_awprot_o),
    .mem_awvalid_o  (mem_awvalid_o),
    .mem_awready_i  (mem_awready_i),
    .mem_wdata_o    (mem_wdata_o),
    .mem_wstrb_o    (mem_wstrb_o),
    .mem_wlast_o    (mem_wlast_o),
    .mem_wvalid_o   (mem_wvalid_o),
    .mem_wready_i   (mem_wready_i),
    .mem_bid_i      (mem_bid_i),
    .mem_bresp_i    (mem_bresp_i),
    .mem_bvalid_i   (mem_bvalid_i),
    .mem_bready_o   (mem_bready_o),
    .mem_arid_o     (mem_arid_o),
    .mem_araddr_o   (mem_araddr_o),
    .mem_arlen_o    (mem_arlen_o),
    .mem_arsize_o   (mem_arsize_o),
    .mem_arburst_o  (mem_arburst_o),
    .mem_arcache_o  (mem_arcache_o),
    .mem_arprot_o   (mem_arprot_o),
    .mem_arvalid_o  (mem_arvalid_o),
    .mem_arready_i  (mem_arready_i),
    .mem_rid_i      (mem_rid_i),
    .mem_rdata_i    (mem_rdata_i),
    .mem_rresp_i    (mem_rresp_i),
    .mem_rlast_i    (mem_rlast_i),
    .mem_rvalid_i   (mem_rvalid_i),
    .mem_rready_o   (mem_rready_o),
    .irq_o          (irq)
  );
endmodule
