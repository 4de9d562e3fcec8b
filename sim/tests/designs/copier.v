// Copies bursts of 16 beats of 16 bytes: up to 8 reads are open, a write address goes out when its data is there.
// The defines break it in one way each.
module copier(
  input  wire         clk_i, input wire rst_ni,
  input  wire         start_i, input wire [31:0] src_i, input wire [31:0] dst_i, input wire [15:0] bursts_i,
  output wire         done_o, output reg failed_o,
  output wire [3:0]   mem_arid_o, output wire [31:0] mem_araddr_o, output wire [7:0] mem_arlen_o,
  output wire [2:0]   mem_arsize_o, output wire [1:0] mem_arburst_o, output wire [3:0] mem_arcache_o,
  output wire [2:0]   mem_arprot_o, output wire mem_arvalid_o, input wire mem_arready_i,
  input  wire [3:0]   mem_rid_i, input wire [127:0] mem_rdata_i, input wire [1:0] mem_rresp_i,
  input  wire         mem_rlast_i, input wire mem_rvalid_i, output wire mem_rready_o,
  output wire [3:0]   mem_awid_o, output wire [31:0] mem_awaddr_o, output wire [7:0] mem_awlen_o,
  output wire [2:0]   mem_awsize_o, output wire [1:0] mem_awburst_o, output wire [3:0] mem_awcache_o,
  output wire [2:0]   mem_awprot_o, output wire mem_awvalid_o, input wire mem_awready_i,
  output wire [127:0] mem_wdata_o, output wire [15:0] mem_wstrb_o, output wire mem_wlast_o,
  output wire         mem_wvalid_o, input wire mem_wready_i,
  input  wire [3:0]   mem_bid_i, input wire [1:0] mem_bresp_i, input wire mem_bvalid_i, output wire mem_bready_o);

  reg [15:0]  ar_left_q, aw_left_q, b_left_q;
  reg [31:0]  ar_addr_q, aw_addr_q;
  reg [7:0]   reserved_q, there_q, owed_q;
  reg [6:0]   write_q, read_q;
  reg [127:0] fifo_q [0:127];

  wire ar = mem_arvalid_o && mem_arready_i;
  wire r  = mem_rvalid_i && mem_rready_o;
  wire aw = mem_awvalid_o && mem_awready_i;
  wire w  = mem_wvalid_o && mem_wready_i;
  wire b  = mem_bvalid_i && mem_bready_o;

  assign mem_arid_o    = 4'd3;
  assign mem_araddr_o  = ar_addr_q;
  assign mem_arlen_o   = 8'd15;
  assign mem_arsize_o  = 3'd4;
  assign mem_arburst_o = 2'b01;
  assign mem_arcache_o = 4'b0011;
  assign mem_arprot_o  = 3'b000;
`ifdef READS_TOO_MUCH
  assign mem_arvalid_o = ar_left_q != 16'd0;
`else
  assign mem_arvalid_o = ar_left_q != 16'd0 && reserved_q <= 8'd112;
`endif
`ifdef NEVER_TAKES
  assign mem_rready_o  = 1'b0;
`else
  assign mem_rready_o  = 1'b1;
`endif

  assign mem_awid_o    = 4'd5;
  assign mem_awaddr_o  = aw_addr_q;
  assign mem_awlen_o   = 8'd15;
  assign mem_awsize_o  = 3'd4;
  assign mem_awburst_o = 2'b01;
  assign mem_awcache_o = 4'b0011;
  assign mem_awprot_o  = 3'b000;
  assign mem_awvalid_o = aw_left_q != 16'd0 && there_q >= 8'd16;
  assign mem_wdata_o   = fifo_q[read_q];
  assign mem_wstrb_o   = 16'hffff;
`ifdef LAST_EARLY
  assign mem_wlast_o   = read_q[3:0] == 4'd14;
`else
  assign mem_wlast_o   = read_q[3:0] == 4'd15;
`endif
`ifdef HOLDS_DATA
  assign mem_wvalid_o  = 1'b0;
`elsif VALID_DROPS
  reg blink_q;
  always @(posedge clk_i or negedge rst_ni) if (!rst_ni) blink_q <= 1'b0; else blink_q <= !blink_q;
  assign mem_wvalid_o  = owed_q != 8'd0 && blink_q;
`else
  assign mem_wvalid_o  = owed_q != 8'd0;
`endif
  assign mem_bready_o  = 1'b1;
  assign done_o        = b_left_q == 16'd0;

  always @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      {ar_left_q, aw_left_q, b_left_q} <= 48'd0;
      {ar_addr_q, aw_addr_q} <= 64'd0;
      {reserved_q, there_q, owed_q} <= 24'd0;
      {write_q, read_q, failed_o} <= 15'd0;
    end else if (start_i && done_o) begin
      {ar_left_q, aw_left_q, b_left_q} <= {3{bursts_i}};
      {ar_addr_q, aw_addr_q} <= {src_i, dst_i};
      failed_o <= 1'b0;
    end else begin
      if (ar) {ar_left_q, ar_addr_q} <= {ar_left_q - 16'd1, ar_addr_q + 32'd256};
      if (aw) {aw_left_q, aw_addr_q} <= {aw_left_q - 16'd1, aw_addr_q + 32'd256};
      if (b) b_left_q <= b_left_q - 16'd1;
      reserved_q <= reserved_q + (ar ? 8'd16 : 8'd0) - {7'd0, w};
      there_q <= there_q + {7'd0, r} - (aw ? 8'd16 : 8'd0);
      owed_q <= owed_q + (aw ? 8'd16 : 8'd0) - {7'd0, w};
      if (r) write_q <= write_q + 7'd1;
      if (w) read_q <= read_q + 7'd1;
      if (r && mem_rresp_i[1] || b && mem_bresp_i[1]) failed_o <= 1'b1;
    end
  always @(posedge clk_i) if (r) fifo_q[write_q] <= mem_rdata_i;

  wire _unused = &{1'b0, mem_rid_i, mem_bid_i, mem_rlast_i, mem_rresp_i[0], mem_bresp_i[0]};
endmodule
