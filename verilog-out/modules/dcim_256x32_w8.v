// dcim_256x32_w8: simulation model of a compute-in-memory macro; leave this file out where the macro is.
(* blackbox *)
module dcim_256x32_w8 (
  input  wire clk,
  input  wire write,
  input  wire [7:0] row,
  input  wire [255:0] data,
  input  wire step,
  input  wire [255:0] bits,
  output wire [511:0] partial
);
  reg [255:0] weights [0:255];
  reg [511:0] partial_q;
  function [511:0] cells_sums(input [255:0] chosen);
    reg [8:0] cell_at;
    reg [8:0] weight_at;
    reg [9:0] sum_at;
    reg [7:0] cell_weight;
    reg [15:0] cell_sum;
    begin
      cells_sums = 512'd0;
      weight_at = 9'd0;
      for (sum_at = 10'd0; sum_at < 10'd512; sum_at = sum_at + 10'd16) begin
        cell_sum = 16'd0;
        for (cell_at = 9'd0; cell_at < 9'd256; cell_at = cell_at + 9'd1) begin
          cell_weight = weights[cell_at[7:0]][weight_at[7:0] +: 8];
          if (chosen[cell_at[7:0]]) cell_sum = cell_sum + {{8{cell_weight[7]}}, cell_weight};
        end
        cells_sums[sum_at[8:0] +: 16] = cell_sum;
        weight_at = weight_at + 9'd8;
      end
    end
  endfunction
  always @(posedge clk) if (step) partial_q <= cells_sums(bits);
  always @(posedge clk) if (write) weights[row] <= data;
  assign partial = partial_q;
endmodule
