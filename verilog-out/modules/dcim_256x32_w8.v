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
  genvar k;
  generate
    for (k = 0; k < 32; k = k + 1) begin : g_column
      reg [7:0] weights [0:255];
      reg [15:0] partial_q;
      function [15:0] cells_sum(input [255:0] chosen);
        reg [8:0] cell_at;
        begin
          cells_sum = 16'd0;
          for (cell_at = 9'd0; cell_at < 9'd256; cell_at = cell_at + 9'd1)
            if (chosen[cell_at[7:0]]) cells_sum = cells_sum + {{8{weights[cell_at[7:0]][7]}}, weights[cell_at[7:0]]};
        end
      endfunction
      always @(posedge clk) if (step) partial_q <= cells_sum(bits);
      always @(posedge clk) if (write) weights[row] <= data[8*k +: 8];
      assign partial[16*k +: 16] = partial_q;
    end
  endgenerate
endmodule
