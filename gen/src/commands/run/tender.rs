//! All layers on `tender_top`.

use std::sync::{Mutex, PoisonError};
use std::thread;

use hdl::accelerators::tender::TenderTop;
use models::decoder::Model;
use models::tender::decoder::{
    Checked, Decoder, Executor, InSoftware, Learnt, OnDevice, Orders, Spent, Team, likeliest,
};
use sim::bus::AxiConfig;
use sim::process::processor_time;
use sim::{BuildOptions, Design, Initial, Opt};
use testbenches::systems::hardware::Hardware;
use testbenches::systems::tender_top::decoding::for_decoding;
use testbenches::systems::tender_top::timing::timing;
use testbenches::systems::tender_top::{caps_of, golden_of};

use super::text::{Part, Reader, Text, Took};
use super::{LATENCY, WINDOW, count, failed};
use crate::error::Result;

/// Tokens there is room for: a chunk of rows, for which one calibration holds (Tender, section III-B).
pub(super) const CONTEXT: usize = 256;
/// Columns of PEs; there are two rows, the least, which are one of products of 8 bits.
const COLUMNS: u32 = 128;
/// Accelerators side by side, where nobody says how many: a simulation keeps one core busy.
const TOPS: u64 = 2;

/// Writes the text and returns its cost.
pub(super) fn run(text: &mut Text<'_>, model: &Model) -> Result<String> {
    text.progress.message("calibrating: the float model reads another text");
    let learnt = Learnt::of_texts(model, text.tokenizer, CONTEXT).map_err(failed)?;
    let block = for_decoding(COLUMNS);
    let golden = InSoftware::new(golden_of(&block).map_err(failed)?, &WINDOW).timed(timing(&block, LATENCY));
    let simulations = if text.args.golden { None } else { Some(compiled(text, &block)?) };
    let (checked, did) = (!text.args.no_check, Mutex::new(Did::default()));
    let member = |orders: Orders| match &simulations {
        None => orders.serve(&mut golden.clone()),
        Some(model) => simulate(model, checked.then(|| golden.clone()), orders, &did),
    };
    let tops = text.args.tops.unwrap_or(TOPS) as usize;
    let (all, took) = thread::scope(|scope| {
        let mut team = Team::new(scope, vec![&member; tops]);
        write(text, (model, &learnt), &block, &mut team)
    })?;
    let did = did.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(told(text, &block, (&all, &took), (tops, &did)))
}

fn compiled(text: &Text<'_>, block: &TenderTop) -> Result<sim::Model> {
    let design = Design::from(&hdl::lang::elaborate(block).map_err(|e| failed(e.into()))?);
    text.progress.message("compiling tender_top, once");
    let options = BuildOptions { opt: Opt::O3, ..BuildOptions::default() };
    Ok(sim::Model::build(&design, &options)?)
}

/// Counts of all simulations.
#[derive(Clone, Copy, Debug, Default)]
struct Did {
    /// Bytes that were compared.
    bytes: u64,
    /// Seconds of processor time.
    busy: f64,
}

/// Simulates an accelerator that serves orders, next to its golden model.
fn simulate(model: &sim::Model, golden: Option<InSoftware>, orders: Orders, did: &Mutex<Did>) -> anyhow::Result<()> {
    let mut sim = model.instance_with(Initial::Random(1))?;
    let hardware = Hardware::new(&mut sim, &AxiConfig::ideal(LATENCY), 1)?;
    let device = OnDevice::new(hardware, &WINDOW, Hardware::sleep)?;
    let (bytes, busy) = match golden {
        None => clocked(device, orders).map(|(_, busy)| (0, busy))?,
        Some(golden) => clocked(Checked::new(device, golden), orders).map(|(both, busy)| (both.bytes(), busy))?,
    };
    let mut did = did.lock().unwrap_or_else(PoisonError::into_inner);
    did.bytes += bytes;
    did.busy += busy;
    Ok(())
}

/// Serves orders: who did, and seconds of processor time that jobs took.
fn clocked<E: Executor>(on: E, orders: Orders) -> anyhow::Result<(E, f64)> {
    let mut clocked = Clocked { on, busy: 0 };
    orders.serve(&mut clocked)?;
    Ok((clocked.on, clocked.busy as f64 * 1e-9))
}

struct Clocked<E> {
    on: E,
    /// Nanoseconds of processor time in jobs.
    busy: u64,
}

impl<E: Executor> Executor for Clocked<E> {
    fn write(&mut self, address: u64, bytes: &[u8]) -> anyhow::Result<()> {
        self.on.write(address, bytes)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> anyhow::Result<()> {
        self.on.read(address, bytes)
    }

    fn run(&mut self, job: u64) -> anyhow::Result<Spent> {
        let clock = processor_time();
        let spent = self.on.run(job);
        self.busy += processor_time() - clock;
        spent
    }
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
) -> Result<(Spent, Took)> {
    text.progress.message("putting the weights into memory");
    let decoder = Decoder::new((model, learnt), (&caps_of(block), &WINDOW), CONTEXT, on).map_err(failed)?;
    let mut running = Running { decoder, on, all: Spent::default() };
    let took = text.write(&mut running)?;
    Ok((running.all, took))
}

fn told(text: &Text<'_>, block: &TenderTop, (all, took): (&Spent, &Took), (tops, did): (usize, &Did)) -> String {
    let array = &block.array;
    let shape = format!("{} x {} PEs, INT8, a bus of {} bits", array.rows, array.columns, block.bus.axi.data_width);
    let mut lines = match tops {
        1 => vec![format!("  on          tender_top, {shape}")],
        _ => vec![
            format!("  on          {tops} tender_top side by side, each with {shape}"),
            "  shares      each computes an equal share of the columns of every projection".to_owned(),
        ],
    };
    lines.push(text.counted());
    let time = format!("  time        {}", took.speed());
    if text.args.golden {
        lines.push(time);
    } else {
        // Others may have had the processor meanwhile.
        let each = took.each(did.busy) / tops as f64;
        let thread = if tops == 1 { "the thread of the simulation" } else { "each thread of a simulation" };
        lines.push(format!("{time}, of which {thread} ran {each:.1} s"));
        let computing = 100.0 * all.computing as f64 / all.cycles as f64;
        // All do the same with other weights, so they have the same cycles.
        let speed = count((all.cycles as f64 * tops as f64 / did.busy) as u64);
        lines.push(format!("  simulation  {speed} cycles a second of processor time"));
        lines.push(format!("  computing   array or vector unit in {computing:.1} % of the cycles"));
    }
    let each = |amount: u64| count(amount / took.tokens as u64);
    let (of_each, host) = if tops == 1 { ("", "") } else { (", on each", ", brings shares of rows together") };
    let of_all = match tops {
        1 => String::new(),
        2 => "; a result that both compute is counted twice".to_owned(),
        _ => format!("; a result that all {tops} compute is counted {tops} times"),
    };
    lines.extend([
        format!("  cycles      {} a token on average", each(all.cycles)),
        format!("  operations  {}, {} a token{of_each}", count(all.descriptors), each(all.descriptors)),
        format!("  saturated   {} words of results left the range of the calibration{of_all}", count(all.overflows)),
        format!(
            "  host        looks embeddings up, puts keys and values into their panels{host}, chooses the largest logit"
        ),
    ]);
    if !text.args.golden && !text.args.no_check {
        let bytes = count(did.bytes);
        lines.push(format!(
            "  checked     {bytes} bytes of results and the cycles of each job; all equal the golden model's"
        ));
    }
    lines.join("\n") + "\n"
}
