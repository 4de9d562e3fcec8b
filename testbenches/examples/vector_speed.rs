//! The cost of a checked AXI memory for a whole accelerator. `vector_top`, which reads and writes 16 bytes a cycle,
//! runs with [`AxiMemory`], and with constant, unchecked answers.
//!
//! Time is processor time, since other load on the machine would disturb the shorter runs more. `cargo run --release -p
//! senbazuru-testbenches --example vector_speed -- [ROWS]` (default 256, of 1 KiB).

use std::collections::VecDeque;
use std::error::Error;

use hdl::accelerators::vector::VectorTop;
use jobs::draft::Operations;
use sim::bus::{AxiConfig, AxiLiteHost, AxiMemory, LiteConfig, cycle};
use sim::process::processor_time;
use sim::{BuildOptions, Design, Model, Out, Sim};

const ROUNDS: u32 = 5;
const COLUMNS: u32 = 512;
const DESCRIPTOR: u64 = 0x10_0000;
const FROM: u64 = 0x20_0000;
const TO: u64 = 0x40_0000;

fn main() -> Result<(), Box<dyn Error>> {
    let rows: u32 = std::env::args().nth(1).map_or(Ok(256), |a| a.parse())?;
    let block = VectorTop::default();
    assert_eq!(block.bus.axi.data_width, 128, "16 bytes a beat");
    let model = Model::build(&Design::from(&hdl::lang::elaborate(&block)?), &BuildOptions::default())?;
    // Short alternating runs, the best of each: other load on the machine disturbs both alike.
    let (mut ours, mut constant) = (0.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        ours = ours.max(checked(&model, rows)?);
        constant = constant.max(unchecked(&model, rows)?);
    }
    let ratio = ours / constant;
    println!("vector_top: {ours:.0} cycles/s; constant answers {constant:.0}; ratio {ratio:.3}");
    Ok(())
}

/// One operation without steps: elements are copied.
fn descriptor(rows: u32) -> Vec<u8> {
    let mut copy = Operations::of(&VectorTop::default()).draft("vector");
    copy.set("rows", rows).set("columns", COLUMNS);
    copy.operand("x", (FROM, 2 * COLUMNS)).operand("out", (TO, 2 * COLUMNS));
    copy.bytes().to_vec()
}

/// Sets the registers: the window is everything, the interrupt comes with done and error.
fn prepare(sim: &mut Sim) -> sim::Result<Out> {
    sim.reset(2)?;
    let mut host = AxiLiteHost::new(sim, "ctrl", LiteConfig::default(), 1)?;
    let settings = [(0x10, 6), (0x18, 1), (0x28, DESCRIPTOR), (0x30, 0), (0x34, 0), (0x38, 0xffff_ffff), (0x08, 1)];
    for (at, value) in settings {
        host.store(sim, &mut [], at, value)?;
    }
    // Answers that come later are taken.
    let ready = sim.input("ctrl_bready_i")?;
    sim.poke_u64(ready, 1);
    sim.output("irq_o")
}

/// Runs `cycle` up to the interrupt; cycles a second of processor time.
fn job(sim: &mut Sim, rows: u32, mut cycle: impl FnMut(&mut Sim) -> sim::Result<()>) -> sim::Result<f64> {
    let irq = prepare(sim)?;
    let (before, clock) = (sim.cycle_count(), processor_time());
    let least = u64::from(rows * COLUMNS / 8);
    while sim.peek_u64(irq) == 0 && sim.cycle_count() - before < 2 * least {
        cycle(sim)?;
    }
    let (cycles, time) = (sim.cycle_count() - before, processor_time() - clock);
    assert!((least..least + least / 4).contains(&cycles), "{cycles} cycles for {least} beats");
    Ok(cycles as f64 / time as f64 * 1e9)
}

fn checked(model: &Model, rows: u32) -> sim::Result<f64> {
    let mut sim = model.instance()?;
    let mut memory = AxiMemory::new();
    memory.serve(&sim, "mem", &AxiConfig::ideal(20), 1)?;
    memory.memory_mut().store(DESCRIPTOR, &descriptor(rows));
    let data: Vec<u8> = (0..rows * COLUMNS).flat_map(|i| (0x3c00 | i as u16 & 0x3ff).to_le_bytes()).collect();
    memory.memory_mut().store(FROM, &data);
    // Pages of memory are touched before time is taken.
    memory.memory_mut().store(TO, &vec![0; data.len()]);
    let speed = job(&mut sim, rows, |sim| {
        cycle(sim, &mut [&mut memory])?;
        Ok(())
    })?;
    let mut written = vec![0; data.len()];
    memory.memory().load(TO, &mut written);
    assert!(written == data, "the rows are copied");
    Ok(speed)
}

/// The least that lets the design run: every request is counted, every answer after the descriptor has the same data.
fn unchecked(model: &Model, rows: u32) -> sim::Result<f64> {
    let mut sim = model.instance()?;
    sim::handles! {
        struct Ports {
            arvalid: Out = "mem_arvalid_o",
            arlen: Out = "mem_arlen_o",
            arid: Out = "mem_arid_o",
            awvalid: Out = "mem_awvalid_o",
            awid: Out = "mem_awid_o",
            wvalid: Out = "mem_wvalid_o",
            wlast: Out = "mem_wlast_o",
            arready: In = "mem_arready_i",
            awready: In = "mem_awready_i",
            wready: In = "mem_wready_i",
            rvalid: In = "mem_rvalid_i",
            rdata: In = "mem_rdata_i",
            rid: In = "mem_rid_i",
            bvalid: In = "mem_bvalid_i",
            bid: In = "mem_bid_i",
        }
    }
    let ports = Ports::find(&sim)?;
    for port in [ports.arready, ports.awready, ports.wready] {
        sim.poke_u64(port, 1);
    }
    let chain = descriptor(rows);
    let mut words = chain.chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    // Number and ID of the beats of each burst; IDs of write bursts, and how many have all of their data.
    let (mut reads, mut writes, mut complete) = (VecDeque::new(), VecDeque::new(), 0_u64);
    job(&mut sim, rows, |sim| {
        if let Some((beats, id)) = reads.front_mut() {
            if let Some(first) = words.next() {
                let next = [first, words.next().unwrap_or(0), words.next().unwrap_or(0), words.next().unwrap_or(0)];
                sim.poke_words(ports.rdata, &next);
            }
            sim.poke_u64(ports.rid, *id);
            *beats -= 1;
            sim.poke_u64(ports.rvalid, 1);
            if *beats == 0 {
                reads.pop_front();
            }
        } else {
            sim.poke_u64(ports.rvalid, 0);
        }
        let answer = if complete > 0 { writes.pop_front() } else { None };
        complete -= u64::from(answer.is_some());
        sim.poke_u64(ports.bvalid, answer.is_some().into());
        sim.poke_u64(ports.bid, answer.unwrap_or(0));
        sim.settle()?;
        if sim.peek_u64(ports.arvalid) == 1 {
            reads.push_back((sim.peek_u64(ports.arlen) + 1, sim.peek_u64(ports.arid)));
        }
        if sim.peek_u64(ports.awvalid) == 1 {
            writes.push_back(sim.peek_u64(ports.awid));
        }
        complete += sim.peek_u64(ports.wvalid) & sim.peek_u64(ports.wlast);
        sim.tick()
    })
}
