// Four registers of 32 bits on AXI4-Lite at 0x0 to 0xc; 0x10 to 0x1f answer SLVERR, all else DECERR. Address and data of
// a write may come in any order. The defines break it in one way each.
module registers(
  input  wire        clk_i, input wire rst_ni,
  input  wire [11:0] ctrl_awaddr_i, input wire [2:0] ctrl_awprot_i, input wire ctrl_awvalid_i, output wire ctrl_awready_o,
  input  wire [31:0] ctrl_wdata_i, input wire [3:0] ctrl_wstrb_i, input wire ctrl_wvalid_i, output wire ctrl_wready_o,
  output wire [1:0]  ctrl_bresp_o, output wire ctrl_bvalid_o, input wire ctrl_bready_i,
  input  wire [11:0] ctrl_araddr_i, input wire [2:0] ctrl_arprot_i, input wire ctrl_arvalid_i, output wire ctrl_arready_o,
  output wire [31:0] ctrl_rdata_o, output wire [1:0] ctrl_rresp_o, output wire ctrl_rvalid_o, input wire ctrl_rready_i);

  reg [31:0] value_q [0:3];
  reg        aw_q, w_q, b_q, r_q;
  reg [11:0] addr_q;
  reg [31:0] data_q, rdata_q;
  reg [3:0]  strb_q;
  reg [1:0]  bresp_q, rresp_q;
  integer    i;

  function [1:0] response(input [11:0] addr);
    response = addr < 12'h10 ? 2'b00 : addr < 12'h20 ? 2'b10 : 2'b11;
  endfunction

`ifdef NO_AW
  assign ctrl_awready_o = 1'b0;
`elsif NEEDS_BOTH
  assign ctrl_awready_o = !aw_q && (ctrl_wvalid_i || w_q);
`else
  assign ctrl_awready_o = !aw_q;
`endif
`ifdef NO_W
  assign ctrl_wready_o  = 1'b0;
`else
  assign ctrl_wready_o  = !w_q;
`endif
`ifdef NO_AR
  assign ctrl_arready_o = 1'b0;
`else
  assign ctrl_arready_o = !r_q;
`endif
`ifdef B_ALWAYS
  assign ctrl_bvalid_o  = 1'b1;
`elsif B_EARLY
  assign ctrl_bvalid_o  = b_q || w_q;
`else
  assign ctrl_bvalid_o  = b_q;
`endif
  assign ctrl_bresp_o   = bresp_q;
`ifdef NO_R
  assign ctrl_rvalid_o  = 1'b0;
`elsif R_DROPS
  reg blink_q;
  always @(posedge clk_i or negedge rst_ni) if (!rst_ni) blink_q <= 1'b0; else blink_q <= !blink_q;
  assign ctrl_rvalid_o  = r_q && blink_q;
`else
  assign ctrl_rvalid_o  = r_q;
`endif
  assign ctrl_rdata_o   = rdata_q;
`ifdef EXOKAY
  assign ctrl_rresp_o   = 2'b01;
`else
  assign ctrl_rresp_o   = rresp_q;
`endif

  wire do_write = aw_q && w_q && !b_q;
  always @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {aw_q, w_q, b_q, r_q} <= 4'b0000;
      for (i = 0; i < 4; i = i + 1) value_q[i] <= 32'd0;
    end else begin
      if (ctrl_awvalid_i && ctrl_awready_o) aw_q <= 1'b1;
      if (ctrl_wvalid_i && ctrl_wready_o) w_q <= 1'b1;
`ifdef NO_B
      if (do_write) {aw_q, w_q} <= 2'b00;
`else
      if (do_write) {aw_q, w_q, b_q} <= 3'b001;
`endif
      if (do_write && addr_q < 12'h10)
        for (i = 0; i < 4; i = i + 1)
`ifdef NO_STROBES
          value_q[addr_q[3:2]][8 * i +: 8] <= data_q[8 * i +: 8];
`else
          if (strb_q[i]) value_q[addr_q[3:2]][8 * i +: 8] <= data_q[8 * i +: 8];
`endif
      if (ctrl_bvalid_o && ctrl_bready_i) b_q <= 1'b0;
      if (ctrl_arvalid_i && ctrl_arready_o) r_q <= 1'b1;
      else if (ctrl_rvalid_o && ctrl_rready_i) r_q <= 1'b0;
    end
  always @(posedge clk_i) begin
    if (ctrl_awvalid_i && ctrl_awready_o) addr_q <= ctrl_awaddr_i;
    if (ctrl_wvalid_i && ctrl_wready_o) {data_q, strb_q} <= {ctrl_wdata_i, ctrl_wstrb_i};
    if (do_write) bresp_q <= response(addr_q);
    if (ctrl_arvalid_i && ctrl_arready_o) begin
      rresp_q <= response(ctrl_araddr_i);
      rdata_q <= ctrl_araddr_i < 12'h10 ? value_q[ctrl_araddr_i[3:2]] : 32'd0;
    end
  end
  wire _unused = &{1'b0, ctrl_awprot_i, ctrl_arprot_i};
endmodule
