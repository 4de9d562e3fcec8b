//! Measures what a checked AXI memory costs: a top that moves 16 bytes a cycle, fed by [`AxiMemory`] and by answers that
//! are constant and unchecked.
//!
//! Time is that of the processor, since other load on the machine would disturb the shorter runs more.
//! `cargo run --release -p senbazuru-sim --example bus_speed -- [JOBS]` (default 20, of 2,000 bursts each).

use std::error::Error;

use sim::bus::{AxiConfig, AxiMemory, cycle};
use sim::process::processor_time;
use sim::{BuildOptions, Design, In, Model, Out, Sim};

const ROUNDS: u32 = 5;
const BURSTS: u64 = 2000;

fn main() -> Result<(), Box<dyn Error>> {
    let jobs: u64 = std::env::args().nth(1).map_or(Ok(20), |a| a.parse())?;
    let copier = include_str!("../tests/designs/copier.v");
    for lanes in [0, 64, 512] {
        let text = if lanes == 0 { copier.to_owned() } else { with_lanes(copier, lanes) };
        let model = Model::build(&Design::from_verilog("copier", &text), &BuildOptions::default())?;
        // Short alternating runs, the best of each: other load on the machine disturbs both alike.
        let (mut ours, mut constant) = (0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            ours = ours.max(checked(&model, jobs)?);
            constant = constant.max(unchecked(&model, jobs)?);
        }
        let ratio = ours / constant;
        println!(
            "copier and {lanes} multipliers: {ours:.0} cycles/s; constant answers {constant:.0}; ratio {ratio:.3}"
        );
    }
    Ok(())
}

/// A top that also computes on what it moves: multiply-accumulates over the 16 bytes that come in.
fn with_lanes(copier: &str, lanes: u32) -> String {
    let mut text = copier.replace("output reg failed_o,", "output reg failed_o, output wire [31:0] sum_o,");
    let mut body = String::new();
    for lane in 0..lanes {
        let (low, weight) = (lane % 16 * 8, 2 * lane + 1);
        body += &format!(
            "  reg [31:0] sum{lane}_q;
  always @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) sum{lane}_q <= 32'd0;
    else if (r) sum{lane}_q <= sum{lane}_q + {{24'd0, mem_rdata_i[{low} +: 8]}} * (sum{lane}_q ^ 32'd{weight});\n"
        );
    }
    let sums: Vec<String> = (0..lanes).map(|lane| format!("sum{lane}_q")).collect();
    body += &format!("  assign sum_o = {};\nendmodule", sums.join(" ^ "));
    text.truncate(text.rfind("endmodule").unwrap_or(text.len()));
    text + &body
}

/// The ports that start the copier and tell that it is done.
fn prepare(sim: &mut Sim) -> sim::Result<(In, Out)> {
    sim.reset(2)?;
    for (port, value) in [("src_i", 0x1000), ("dst_i", 0x80_0000), ("bursts_i", BURSTS)] {
        let port = sim.input(port)?;
        sim.poke_u64(port, value);
    }
    Ok((sim.input("start_i")?, sim.output("done_o")?))
}

/// Runs jobs with `cycle`; cycles a second of processor time. The first job is not timed: it touches the pages of memory.
fn jobs(sim: &mut Sim, jobs: u64, mut cycle: impl FnMut(&mut Sim) -> sim::Result<()>) -> sim::Result<f64> {
    let (start, done) = prepare(sim)?;
    let (mut before, mut clock) = (0, 0);
    for job in 0..=jobs {
        if job == 1 {
            (before, clock) = (sim.cycle_count(), processor_time());
        }
        sim.poke_u64(start, 1);
        cycle(sim)?;
        sim.poke_u64(start, 0);
        while sim.peek_u64(done) == 0 {
            cycle(sim)?;
        }
    }
    Ok((sim.cycle_count() - before) as f64 / (processor_time() - clock) as f64 * 1e9)
}

fn checked(model: &Model, count: u64) -> sim::Result<f64> {
    let mut sim = model.instance()?;
    let mut memory = AxiMemory::new();
    memory.serve(&sim, "mem", &AxiConfig::ideal(20), 1)?;
    let data: Vec<u8> = (0..256 * BURSTS as u32).map(|i| i.wrapping_mul(0x9e37_79b9).to_be_bytes()[0]).collect();
    memory.memory_mut().store(0x1000, &data);
    jobs(&mut sim, count, |sim| {
        cycle(sim, &mut [&mut memory])?;
        Ok(())
    })
}

/// The least that lets the design run: every request is counted, every answer has the same data.
fn unchecked(model: &Model, count: u64) -> sim::Result<f64> {
    let mut sim = model.instance()?;
    sim::handles! {
        struct Ports {
            arvalid: Out = "mem_arvalid_o",
            wvalid: Out = "mem_wvalid_o",
            wlast: Out = "mem_wlast_o",
            arready: In = "mem_arready_i",
            awready: In = "mem_awready_i",
            wready: In = "mem_wready_i",
            rvalid: In = "mem_rvalid_i",
            rdata: In = "mem_rdata_i",
            bvalid: In = "mem_bvalid_i",
        }
    }
    let ports = Ports::find(&sim)?;
    for port in [ports.arready, ports.awready, ports.wready] {
        sim.poke_u64(port, 1);
    }
    sim.poke_words(ports.rdata, &[0x1234_5678, 0x9abc_def0, 0x0fed_cba9, 0x8765_4321]);
    let (mut beats, mut answers) = (0_u64, 0_u64);
    jobs(&mut sim, count, |sim| {
        sim.poke_u64(ports.rvalid, u64::from(beats > 0));
        sim.poke_u64(ports.bvalid, u64::from(answers > 0));
        beats -= u64::from(beats > 0);
        answers -= u64::from(answers > 0);
        sim.settle()?;
        beats += 16 * sim.peek_u64(ports.arvalid);
        answers += sim.peek_u64(ports.wvalid) & sim.peek_u64(ports.wlast);
        sim.tick()
    })
}
