// A manager whose signals the test sets, for requests that no design would make.
module probe(
  input  wire        clk_i, input wire rst_ni, output reg [31:0] cycles_o,
  input  wire [3:0]  arid_i, input wire [63:0] araddr_i, input wire [7:0] arlen_i, input wire [2:0] arsize_i,
  input  wire [1:0]  arburst_i, input wire arvalid_i, input wire rready_i,
  input  wire [3:0]  awid_i, input wire [63:0] awaddr_i, input wire [7:0] awlen_i, input wire [2:0] awsize_i,
  input  wire [1:0]  awburst_i, input wire awvalid_i, input wire bready_i,
  input  wire [31:0] wdata_i, input wire [3:0] wstrb_i, input wire wlast_i, input wire wvalid_i,
  output wire        arready_o, output wire [3:0] rid_o, output wire [31:0] rdata_o, output wire [1:0] rresp_o,
  output wire        rlast_o, output wire rvalid_o,
  output wire        awready_o, output wire wready_o, output wire [3:0] bid_o, output wire [1:0] bresp_o,
  output wire        bvalid_o,
  output wire [3:0]  mem_arid_o, output wire [63:0] mem_araddr_o, output wire [7:0] mem_arlen_o,
  output wire [2:0]  mem_arsize_o, output wire [1:0] mem_arburst_o, output wire mem_arvalid_o,
  input  wire        mem_arready_i,
  input  wire [3:0]  mem_rid_i, input wire [31:0] mem_rdata_i, input wire [1:0] mem_rresp_i,
  input  wire        mem_rlast_i, input wire mem_rvalid_i, output wire mem_rready_o,
  output wire [3:0]  mem_awid_o, output wire [63:0] mem_awaddr_o, output wire [7:0] mem_awlen_o,
  output wire [2:0]  mem_awsize_o, output wire [1:0] mem_awburst_o, output wire mem_awvalid_o,
  input  wire        mem_awready_i,
  output wire [31:0] mem_wdata_o, output wire [3:0] mem_wstrb_o, output wire mem_wlast_o, output wire mem_wvalid_o,
  input  wire        mem_wready_i,
  input  wire [3:0]  mem_bid_i, input wire [1:0] mem_bresp_i, input wire mem_bvalid_i, output wire mem_bready_o);

  assign {mem_arid_o, mem_araddr_o, mem_arlen_o, mem_arsize_o, mem_arburst_o, mem_arvalid_o} =
         {arid_i, araddr_i, arlen_i, arsize_i, arburst_i, arvalid_i};
  assign {mem_awid_o, mem_awaddr_o, mem_awlen_o, mem_awsize_o, mem_awburst_o, mem_awvalid_o} =
         {awid_i, awaddr_i, awlen_i, awsize_i, awburst_i, awvalid_i};
  assign {mem_wdata_o, mem_wstrb_o, mem_wlast_o, mem_wvalid_o} = {wdata_i, wstrb_i, wlast_i, wvalid_i};
  assign {mem_rready_o, mem_bready_o} = {rready_i, bready_i};
  assign {arready_o, rid_o, rdata_o, rresp_o, rlast_o, rvalid_o} =
         {mem_arready_i, mem_rid_i, mem_rdata_i, mem_rresp_i, mem_rlast_i, mem_rvalid_i};
  assign {awready_o, wready_o, bid_o, bresp_o, bvalid_o} =
         {mem_awready_i, mem_wready_i, mem_bid_i, mem_bresp_i, mem_bvalid_i};
  always @(posedge clk_i or negedge rst_ni) if (!rst_ni) cycles_o <= 32'd0; else cycles_o <= cycles_o + 32'd1;
endmodule
