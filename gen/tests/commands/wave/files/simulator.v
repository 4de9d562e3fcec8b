// What gen/tests/commands/wave/files.rs runs in Icarus Verilog: kinds of variables that the accelerators do not have.
`timescale 1ns / 1ps
module tb;
  reg clk_i = 0;
  real load = 0.5;
  realtime at = 0;
  integer total = 0;
  event ping;
  reg [15:8] data_i = 8'ha5;
  reg [0:7] flags_i = 8'h12;

  always #5 clk_i = !clk_i;

  genvar g;
  generate
    for (g = 0; g < 2; g = g + 1) begin : gen
      reg [3:0] part = g;
      always @(posedge clk_i) part <= part + 1;
    end
  endgenerate

  always @(posedge clk_i) begin
    load <= load * -1.5;
    at <= $realtime;
    data_i <= data_i + 1;
    flags_i <= {flags_i[1:7], flags_i[0]};
    total <= total - 1;
    if (total == -1) -> ping;
  end

  initial begin
    $dumpfile("out.vcd");
    $dumpvars(0, tb);
    #47 $finish;
  end
endmodule
