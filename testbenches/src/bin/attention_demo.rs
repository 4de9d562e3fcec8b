//! One attention head of a real decoder on a small Tender accelerator: one start, a chain of descriptors, all results in memory.
//! Used by `scripts/demo`.

use std::sync::Mutex;

use anyhow::{Context, Result};
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::AxiSpec;
use hdl::blocks::common::row::RowUnits;
use hdl::blocks::tender::MultiScaleArray;
use host::tender::Caps;
use host::vector::Integer;
use host::{Counters, Device, Format, Rows, Window};
use jobs::hardware::{on_hardware, ready};
use lower::chain::Measured;
use sim::bus::AxiConfig;
use testbenches::accelerators::float_head::HEAD;
use testbenches::accelerators::tender::attention::real_head;
use testbenches::accelerators::tender::golden_of;

/// Tokens of the text.
const TOKENS: usize = 24;

const WINDOW: Window = Window { base: 0x10_0000, limit: 0x3f_ffff, address_width: 40 };

/// 8 x 8 PEs of 4 bits on a bus of 8 bytes; a panel and a row hold the model's width, 576.
fn small() -> TenderTop {
    TenderTop {
        bus: TopParameters {
            axi: AxiSpec { address_width: 40, data_width: 64, id_width: 1 },
            ..TopParameters::default()
        },
        vector: VectorParameters {
            max_beats: 144,
            units: RowUnits { layer_norm: false, ..RowUnits::all() },
            ..VectorParameters::all()
        },
        array: MultiScaleArray { rows: 8, columns: 8, ..MultiScaleArray::default() },
        depth: 576,
        steps: 640,
        ..TenderTop::default()
    }
}

/// Least share, and how it is drawn.
const SHADES: [(f64, char); 6] = [(0.5, '@'), (0.2, '#'), (0.1, '+'), (0.05, '-'), (0.02, ':'), (0.01, '.')];

fn legend() -> String {
    SHADES.map(|(least, shade)| format!("{shade} from {:.0} %", 100.0 * least)).join(", ")
}

fn main() -> Result<()> {
    let block = small();
    let golden = golden_of(&block)?;
    let done = Mutex::new(None);
    on_hardware(&block, &AxiConfig::ideal(20), |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 16).unwrap_or_else(|e| panic!("{e:#}"));
        let caps = Caps::read(&mut device).unwrap_or_else(|e| panic!("{e}"));
        let head = real_head(&caps, &WINDOW, golden.clone(), Integer::Int8, TOKENS).unwrap_or_else(|e| panic!("{e:#}"));
        let counters = head.job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
        *done.lock().unwrap_or_else(|e| panic!("{e}")) = Some((head, counters));
    });
    let done = done.into_inner().ok().flatten();
    let (head, counters) = done.context("the hardware did not run")?;
    show(&head, &counters)
}

fn show(head: &Measured, counters: &Counters) -> Result<()> {
    let job = &head.job;
    println!(
        "head {HEAD} of layer 14, {TOKENS} tokens, INT8 on 8 x 8 PEs, from the residual stream to the head's results"
    );
    println!("1 start, {} descriptors; all bytes in memory equal the golden model's\n", job.descriptors);
    println!("result                bytes  squared error relative to float arithmetic");
    for results in &job.results {
        let error = head.errors.iter().find(|(name, _)| *name == results.name);
        let error = error.map_or(String::new(), |(_, error)| format!("{error:.1e}"));
        let line = format!("{:<20} {:>6}  {error}", results.name, results.bytes.len());
        println!("{}", line.trim_end());
    }
    let share = 100.0 * counters.compute_cycles as f64 / counters.cycles as f64;
    println!("\n{} cycles; PEs or lanes compute in {share:.0} % of them", counters.cycles);
    println!("{} bytes read, {} written\n", 8 * counters.read_beats, 8 * counters.write_beats);
    let probabilities = job.results.iter().find(|r| r.name == "probabilities").context("there are no probabilities")?;
    let values = Rows::dense(Format::Fp16, TOKENS, TOKENS)?.unpack_floats(&probabilities.bytes)?;
    println!("how much of it (across) each token (down) takes from the tokens before, {}", legend());
    for row in values.chunks(TOKENS) {
        let shade = |p: &half::f16| SHADES.iter().find(|(least, _)| p.to_f64() >= *least).map_or(' ', |(_, c)| *c);
        let line: String = row.iter().map(shade).collect();
        println!("{}", line.trim_end());
    }
    Ok(())
}
