//! All layers on `tender_top`.

use hdl::accelerators::tender::TenderTop;
use models::smollm2::Model;
use models::tender::decoder::{Checked, Decoder, Executor, InSoftware, Learnt, OnDevice, Spent, likeliest};
use sim::bus::AxiConfig;
use sim::process::processor_time;
use sim::{BuildOptions, Initial, Opt};
use testbenches::systems::hardware::Hardware;
use testbenches::systems::tender_top::decoding::{for_decoding, simulated};
use testbenches::systems::tender_top::timing::timing;
use testbenches::systems::tender_top::{caps_of, golden_of};

use super::text::{Part, Reader, Text};
use super::{LATENCY, WINDOW, count, failed};
use crate::error::Result;

/// Tokens there is room for: a chunk of rows, for which one calibration holds (Tender, section III-B).
pub(super) const CONTEXT: usize = 256;
/// Columns of PEs; there are two rows, the least, which are one of products of 8 bits.
const COLUMNS: u32 = 128;

/// Writes the text; what it took.
pub(super) fn run(text: &mut Text<'_>, model: &Model) -> Result<String> {
    text.progress.message("calibrating: the float model reads another text");
    let learnt = Learnt::of_texts(model, text.tokenizer, CONTEXT).map_err(failed)?;
    let block = for_decoding(COLUMNS);
    let golden = InSoftware::new(golden_of(&block).map_err(failed)?, &WINDOW).timed(timing(&block, LATENCY));
    if text.args.golden {
        let mut on = golden;
        write(text, (model, &learnt), &block, &mut on)
    } else {
        simulate(text, (model, &learnt), &block, golden)
    }
}

fn simulate(text: &mut Text<'_>, model: (&Model, &Learnt), block: &TenderTop, golden: InSoftware) -> Result<String> {
    let design = simulated(block).map_err(failed)?;
    text.progress.message("compiling tender_top: some minutes, once");
    let options = BuildOptions { opt: Opt::O3, ..BuildOptions::default() };
    let mut sim = sim::Model::build(&design, &options)?.instance_with(Initial::Random(1))?;
    let hardware = Hardware::new(&mut sim, &AxiConfig::ideal(LATENCY), 1)?;
    let device = OnDevice::new(hardware, &WINDOW, Hardware::sleep).map_err(failed)?;
    if text.args.no_check {
        let mut on = device;
        return write(text, model, block, &mut on);
    }
    let mut on = Checked::new(device, golden);
    let told = write(text, model, block, &mut on)?;
    let bytes = count(on.bytes());
    Ok(format!(
        "{told}  checked     {bytes} bytes of results and the cycles of each job, all those of the golden model\n"
    ))
}

/// The decoder, and who does its jobs.
struct Running<'a> {
    decoder: Decoder,
    on: &'a mut dyn Executor,
    all: Spent,
}

impl Reader for Running<'_> {
    fn read(&mut self, tokens: &[u32], done: &mut dyn FnMut(Part)) -> anyhow::Result<u32> {
        let Self { decoder, on, all } = self;
        let (jobs, mut logits) = (decoder.jobs(), Vec::new());
        for (number, &token) in tokens.iter().enumerate() {
            let mut job = 0;
            let mut add = |spent: &Spent| {
                *all += *spent;
                job += 1;
                let tokens = number as f64 + f64::from(job) / jobs as f64;
                done(Part { token: number, what: "job", done: job as usize, of: jobs, tokens });
                Ok(())
            };
            logits = decoder.token(*on, (token, number + 1 == tokens.len()), &mut add)?;
        }
        Ok(likeliest(&logits))
    }
}

fn write(
    text: &mut Text<'_>,
    (model, learnt): (&Model, &Learnt),
    block: &TenderTop,
    on: &mut dyn Executor,
) -> Result<String> {
    text.progress.message("putting the weights into memory");
    let decoder = Decoder::new((model, learnt), (&caps_of(block), &WINDOW), CONTEXT, on).map_err(failed)?;
    let (mut running, clock) = (Running { decoder, on, all: Spent::default() }, processor_time());
    let took = text.write(&mut running)?;
    let busy = (processor_time() - clock) as f64 * 1e-9;
    let (all, array) = (running.all, &block.array);
    let shape = format!("{} x {} PEs, INT8, a bus of {} bits", array.rows, array.columns, block.axi.data_width);
    let mut lines = vec![
        format!("  on          tender_top, {shape}"),
        text.counted(),
        // Others may have had the processor meanwhile.
        format!(
            "  time        {:.1} s a token, of which this thread ran {:.1} s",
            took.each(took.seconds),
            took.each(busy)
        ),
    ];
    if !text.args.golden {
        let computing = 100.0 * all.computing as f64 / all.cycles as f64;
        let speed = count((all.cycles as f64 / busy) as u64);
        lines.push(format!("  simulation  {speed} cycles a second of processor time"));
        lines.push(format!("  computing   array or vector unit in {computing:.1} % of the cycles"));
    }
    let each = |amount: u64| count(amount / took.tokens as u64);
    lines.extend([
        format!("  cycles      {} a token", each(all.cycles)),
        format!("  operations  {}, {} a token", count(all.descriptors), each(all.descriptors)),
        format!("  saturated   {} words of results left the range of the calibration", count(all.overflows)),
        "  host        looks embeddings up, puts keys and values into their panels, chooses the largest logit"
            .to_owned(),
    ]);
    Ok(lines.join("\n") + "\n")
}
