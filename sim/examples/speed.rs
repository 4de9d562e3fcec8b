//! Measures build time and simulation speed on an int8 MAC array, beside a hand-written C++ loop over the same model.
//!
//! Speed is that of the processor, since other load on the machine would disturb one side or the other.
//! `cargo run --release -p senbazuru-sim --example speed -- [SIZE] [CYCLES]` (default 16 and 100000).

use std::error::Error;
use std::time::Instant;

use sim::process::Tool;
use sim::process::processor_time;
use sim::{BuildOptions, Cache, Design, Model, Opt};

const ROUNDS: u32 = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let size: u32 = args.next().map_or(Ok(16), |a| a.parse())?;
    let cycles: u64 = args.next().map_or(Ok(100_000), |a| a.parse())?;
    let folder = tempfile::tempdir()?;
    let design = Design::from_verilog("mesh", &mesh(size));
    let counter = Design::from_verilog("counter", COUNTER);
    let options = |opt| BuildOptions { opt, cache: Cache::At(folder.path().join("cache")), ..BuildOptions::default() };

    timed("counter, cold, with the runtime library", || Model::build(&counter, &options(Opt::O1)))?;
    let mut other = counter.clone();
    other.files[0].text.push('\n');
    timed("counter, cold", || Model::build(&other, &options(Opt::O1)))?;
    timed("counter, cached", || Model::build(&counter, &options(Opt::O1)))?;
    for opt in [Opt::O1, Opt::O3] {
        let model = timed(&format!("{size} x {size} array, {opt:?}"), || Model::build(&design, &options(opt)))?;
        let harness = harness(folder.path(), &design, &format!("-{opt:?}"))?;
        // Short alternating runs, the best of each: other load on the machine disturbs both alike.
        let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            let (speed, sum) = drive(&model, size, cycles)?;
            let line = Tool::new(&harness).args([size.to_string(), cycles.to_string()]).run()?.stdout;
            let mut words = line.split_whitespace();
            let other: f64 = words.next().ok_or("the harness printed nothing")?.parse()?;
            if words.next() != Some(&sum.to_string()) {
                return Err(format!("results differ: {sum} here, harness: {line}").into());
            }
            (ours, theirs) = (ours.max(speed), theirs.max(other));
        }
        println!("  {ours:.0} cycles/s; C++ harness {theirs:.0}; ratio {:.3}", ours / theirs);
    }
    let mut sim = Model::build(&counter, &options(Opt::O1))?.instance()?;
    let (en, count) = (sim.input("en_i")?, sim.output("count_o")?);
    sim.poke_u64(en, 1);
    let start = Instant::now();
    let mut sum = 0;
    for i in 0..10_000_000 {
        sim.poke_u64(en, i & 1);
        sim.settle()?;
        sum += sim.peek_u64(count);
        sim.tick()?;
    }
    println!("counter, poke-settle-peek-tick: {:.1} M cycles/s (sum {sum})", 10.0 / start.elapsed().as_secs_f64());
    let start = Instant::now();
    sim.cycles(10_000_000)?;
    println!("counter, one call: {:.1} M cycles/s", 10.0 / start.elapsed().as_secs_f64());
    Ok(())
}

fn timed<T>(what: &str, work: impl FnOnce() -> sim::Result<T>) -> sim::Result<T> {
    let start = Instant::now();
    let result = work();
    println!("build {what}: {:.2} s", start.elapsed().as_secs_f64());
    result
}

/// New random inputs in every cycle, as wide ports; the same generator as in the harness.
fn drive(model: &Model, size: u32, cycles: u64) -> sim::Result<(f64, u32)> {
    let mut sim = model.instance()?;
    let (act, wgt, sel) = (sim.input("act_i")?, sim.input("wgt_i")?, sim.input("sel_i")?);
    let acc = sim.output("acc_o")?;
    sim.reset(1)?;
    let words = (size / 4) as usize;
    let (mut a, mut w) = (vec![0; words], vec![0; words]);
    let (mut x, mut sum) = (88_172_645_463_325_252_u64, 0_u32);
    let start = processor_time();
    for i in 0..cycles {
        for (a, w) in a.iter_mut().zip(&mut w) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (*a, *w) = (x as u32, (x >> 32) as u32);
        }
        sim.poke_words(act, &a);
        sim.poke_words(wgt, &w);
        sim.poke_u64(sel, i % u64::from(size * size));
        sim.settle()?;
        sum = sum.wrapping_add(sim.peek_u64(acc) as u32);
        sim.tick()?;
    }
    Ok((cycles as f64 / (processor_time() - start) as f64 * 1e9, sum))
}

/// Compiles Verilator's own executable with the loop below, and with the options of `sim`'s models: both run the same code.
fn harness(folder: &std::path::Path, design: &Design, opt: &str) -> Result<String, Box<dyn Error>> {
    let work = folder.join(format!("harness{opt}"));
    std::fs::create_dir_all(&work)?;
    std::fs::write(work.join("mesh.v"), &design.files[0].text)?;
    std::fs::write(work.join("main.cpp"), HARNESS)?;
    let tool = Tool::new("verilator")
        .args(["--cc", "--exe", "--build", "-O3", "-fno-const-bit-op-tree", "--no-timing", "--top-module", "mesh"])
        .args(["--x-assign", "unique", "--x-initial", "unique", "--assert"])
        .args(["-CFLAGS", opt, "-MAKEFLAGS", &format!("OPT_FAST={opt}"), "mesh.v", "main.cpp", "-o", "harness"])
        .dir(&work);
    let output = tool.run()?;
    if !output.success() {
        return Err(output.log().into());
    }
    Ok(work.join("obj_dir/harness").to_string_lossy().into_owned())
}

const COUNTER: &str = "
module counter(input wire clk_i, input wire rst_ni, input wire en_i, output reg [31:0] count_o);
  always @(posedge clk_i or negedge rst_ni) if (!rst_ni) count_o <= 32'd0; else if (en_i) count_o <= count_o + 32'd1;
endmodule
";

const HARNESS: &str = r#"
#include "Vmesh.h"
#include "verilated.h"
#include <cstdio>
#include <cstdlib>
#include <ctime>
static double seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}
int main(int, char** argv) {
    const unsigned long size = atol(argv[1]), cycles = atol(argv[2]);
    VerilatedContext context;
    Vmesh m{&context};
    m.rst_ni = 1; m.clk_i = 0; m.eval();
    m.rst_ni = 0; m.eval(); m.clk_i = 1; m.eval();
    m.rst_ni = 1;
    uint64_t x = 88172645463325252ull;
    uint32_t sum = 0;
    const double start = seconds();
    for (unsigned long i = 0; i < cycles; ++i) {
        for (unsigned long k = 0; k < size / 4; ++k) {
            x ^= x << 13; x ^= x >> 7; x ^= x << 17;
            m.act_i[k] = static_cast<uint32_t>(x); m.wgt_i[k] = static_cast<uint32_t>(x >> 32);
        }
        m.sel_i = i % (size * size);
        m.clk_i = 0; m.eval();
        sum += m.acc_o;
        m.clk_i = 1; m.eval();
    }
    std::printf("%.0f %u\n", cycles / (seconds() - start), sum);
}
"#;

/// An output-stationary array of int8 multiply-accumulate units, nets between them as arrays of nets.
fn mesh(size: u32) -> String {
    let replace = [
        ("BUS", 8 * size - 1),
        ("SEL", (size * size - 1).ilog2()),
        ("NETS", size * (size + 1) - 1),
        ("LAST", size * size - 1),
        ("ROW", size + 1),
        ("SIZE", size),
    ];
    replace.into_iter().fold(MESH.to_owned(), |text, (name, value)| text.replace(name, &value.to_string()))
}

const MESH: &str = "
module pe(input wire clk_i, input wire rst_ni, input wire [7:0] a_i, input wire [7:0] w_i,
          output wire [7:0] a_o, output wire [7:0] w_o, output wire [31:0] acc_o);
  reg [7:0] a_q, w_q;
  reg [31:0] acc_q;
  wire [15:0] product = {{8{a_i[7]}}, a_i} * {{8{w_i[7]}}, w_i};
  always @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin a_q <= 8'd0; w_q <= 8'd0; acc_q <= 32'd0; end
    else begin a_q <= a_i; w_q <= w_i; acc_q <= acc_q + {{16{product[15]}}, product}; end
  assign a_o = a_q;
  assign w_o = w_q;
  assign acc_o = acc_q;
endmodule
module mesh(input wire clk_i, input wire rst_ni, input wire [BUS:0] act_i, input wire [BUS:0] wgt_i,
            input wire [SEL:0] sel_i, output wire [31:0] acc_o);
  wire [7:0] act [0:NETS];
  wire [7:0] wgt [0:NETS];
  wire [31:0] acc [0:LAST];
  genvar r, c;
  generate
    for (r = 0; r < SIZE; r = r + 1) begin : g_in
      assign act[r * ROW] = act_i[8 * r +: 8];
      assign wgt[r] = wgt_i[8 * r +: 8];
    end
    for (r = 0; r < SIZE; r = r + 1) begin : g_row
      for (c = 0; c < SIZE; c = c + 1) begin : g_col
        pe u_pe (.clk_i(clk_i), .rst_ni(rst_ni), .a_i(act[r * ROW + c]), .w_i(wgt[r * SIZE + c]),
                 .a_o(act[r * ROW + c + 1]), .w_o(wgt[(r + 1) * SIZE + c]), .acc_o(acc[r * SIZE + c]));
      end
    end
  endgenerate
  assign acc_o = acc[sel_i];
endmodule
";
