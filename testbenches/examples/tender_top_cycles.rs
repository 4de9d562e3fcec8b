//! Cycles of a slice of a real layer in arrays of several sizes, by the recurrence which
//! the benches hold the hardware to.
//!
//! `cargo run --release -p senbazuru-testbenches --example tender_top_cycles`; `--facts FILE` writes the cycles as JSON.

use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::MultiScaleArray;
use host::Window;
use host::vector::Integer;
use sim::facts::Facts;
use testbenches::accelerators::tender::real::q_projection;
use testbenches::accelerators::tender::{caps_of, golden_of, timing};

const WINDOW: Window = Window { base: 0x10_0000, limit: 0xff_ffff, address_width: 40 };
/// Of memory.
const LATENCY: u32 = 20;

/// A square array on a bus that brings it a word in each cycle. It can hold so many beats of each operand.
fn block(size: u32, beats: u32) -> TenderTop {
    TenderTop {
        bus: TopParameters {
            axi: AxiSpec { address_width: 40, data_width: (8 * size).clamp(32, 512), id_width: 1 },
            dma: DmaSpec { burst_beats: 8, ..DmaSpec::default() },
            read_beats: beats,
            ..TopParameters::default()
        },
        array: MultiScaleArray { rows: size, columns: size, ..MultiScaleArray::default() },
        depth: 576,
        steps: 600,
        ..TenderTop::default()
    }
}

fn main() -> anyhow::Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    println!("| array | bus | beats kept | G | INT8 | array busy | INT4 | array busy |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for size in [4, 8, 16, 32, 64] {
        for (beats, groups) in [(8, 8), (64, 1), (64, 8)] {
            let block = block(size, beats);
            let golden = golden_of(&block)?;
            let mut row = format!("| {size} x {size} | {} | {beats} | {groups} |", block.bus.axi.data_width / 8);
            for integer in [Integer::Int8, Integer::Int4] {
                let real = q_projection(&caps_of(&block), &WINDOW, (integer, groups), (64, 64))?;
                let mut memory = SparseMemory::new();
                real.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
                let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 1 };
                let job = timing::timing(&block, LATENCY);
                let spent = job
                    .job(&golden, limits, real.job, (&mut memory, &mut Turns::default()))
                    .map_err(|code| anyhow::anyhow!("the job ends with error {code}"))?;
                let cycles: u64 = spent.iter().map(|spent| spent.cycles).sum();
                let steps: u64 = spent.iter().map(|spent| spent.operation.products()).sum();
                row += &format!(" {cycles} | {:.3} |", steps as f64 / cycles as f64);
                facts.add(&format!("{size} {beats} {groups} {integer:?}"), cycles as f64);
            }
            println!("{row}");
        }
    }
    Ok(facts.write()?)
}
