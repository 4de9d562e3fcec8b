//! The whole model in the memory of one accelerator, or of several side by side.

use std::sync::{Mutex, PoisonError};
use std::thread;

use host::Window;
use jobs::hardware::Hardware;
use lower::needs::Room;
use lower::whole::{Checked, DecoderModel, Executor, Golden, Move, Orders, Sizes, Source, Spent, Team};
use models::decoder::{Config, Model};
use sim::bus::AxiConfig;
use sim::process::processor_time;
use sim::{BuildOptions, Initial, Opt};
use testbenches::accelerators::decoding::{WholeAccelerator, window};

use super::super::calibration::Learnt;
use super::args::LATENCY;
use super::choice::{self, Choice};
use super::failures::{failed, refused};
use super::prompt::{asked, longest};
use super::text::{Next, Part, Reader, Texts, Took, count};
use crate::error::Result;
use crate::present::numbers::significant;

/// Accelerators side by side, where nobody says how many, and the model has equal shares for them: a simulation keeps
/// one core busy.
const TOPS: usize = 2;

/// Tokens of a prompt that come together, where nobody says how many. With more the golden model is hardly faster, and
/// the rows take more memory.
const CHUNK: usize = 16;

/// Tokens of a pass where so many come in all. Passes are about equal: the first one of a size takes the golden model
/// longer, as it computes the cycles of each operation.
fn chunk(tokens: usize) -> usize {
    tokens.div_ceil(tokens.div_ceil(CHUNK).max(1)).max(1)
}

/// Writes the texts and returns their cost.
pub(super) fn run(
    text: &mut Texts<'_>,
    model: Model,
    (on, name): (&dyn WholeAccelerator, &str),
    room: Room,
    known: &dyn Fn(&Config) -> Result<Option<Learnt>>,
) -> Result<String> {
    let (config, lowering) = (*model.config(), on.lowering());
    let tops = match text.args.tops {
        Some(tops) => tops as usize,
        None if lowering.shares(&config, TOPS).is_ok() => TOPS,
        None => 1,
    };
    lowering.shares(&config, tops).map_err(refused)?;
    let known = known(&config)?;
    let settings = known.as_ref().map_or_else(|| lowering.defaults(), |known| Ok(known.settings.clone()));
    let needs = settings.and_then(|settings| lowering.needs(&asked(&config, room, text.prompts), &settings));
    needs.and_then(|needs| needs.refuse(name)).map_err(refused)?;
    let chunk = text.args.chunk.map_or_else(|| chunk(longest(text.prompts)), |chunk| chunk as usize);
    let sizes = Sizes { rows: chunk * room.texts, room };
    let learnt = Learnt::known_or_new(known, lowering, (&model, text.tokenizer), text.progress)?;
    let window = window(on.address_width());
    let golden = on.golden(&window, Some(LATENCY)).map_err(failed)?;
    let simulations = if text.args.golden { None } else { Some(compiled(text, on)?) };
    let chooses = choice::block(config.vocabulary);
    let chooser = simulations.as_ref().map(|_| choice::compiled(&chooses)).transpose().map_err(failed)?;
    let mut chooser = chooser.map(|model| model.instance_with(Initial::Random(1))).transpose()?;
    let mut choice = Choice::new(&chooses, chooser.as_mut()).map_err(failed)?;
    let (checked, did) = (!text.args.no_check, Mutex::new(Did::default()));
    let member = |orders: Orders| match &simulations {
        None => orders.serve(&mut golden.duplicate()),
        Some(model) => simulate((on, model), &window, checked.then(|| golden.duplicate()), (orders, &did)),
    };
    let (all, took) = thread::scope(|scope| {
        let mut team = Team::new(scope, vec![&member; tops]);
        write(text, (model, &learnt), (on, &window), (sizes, chunk), (&mut team, &mut choice))
    })?;
    let mut did = did.into_inner().unwrap_or_else(PoisonError::into_inner);
    did.bytes += choice.bytes();
    let chosen = choice.cycles / choice.chosen.max(1);
    Ok(told(text, (on, name), (&all, &took), (tops, &did, chosen)))
}

fn compiled(text: &Texts<'_>, on: &dyn WholeAccelerator) -> Result<sim::Model> {
    let design = on.design().map_err(failed)?;
    text.progress.message(format!("compiling {}, once", design.top));
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
fn simulate(
    (on, model): (&dyn WholeAccelerator, &sim::Model),
    window: &Window,
    golden: Option<Box<dyn Golden>>,
    (orders, did): (Orders, &Mutex<Did>),
) -> anyhow::Result<()> {
    let mut sim = model.instance_with(Initial::Random(1))?;
    let hardware = Hardware::new(&mut sim, &AxiConfig::ideal(LATENCY), 1)?;
    let device = on.on_hardware(hardware, window)?;
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

    fn copy(&mut self, moves: &[Move]) -> anyhow::Result<()> {
        self.on.copy(moves)
    }

    fn run(&mut self, job: u64) -> anyhow::Result<Spent> {
        let clock = processor_time();
        let spent = self.on.run(job);
        self.busy += processor_time() - clock;
        spent
    }
}

/// The decoder, and who does its jobs.
struct Running<'a, 'b> {
    model: &'a Model,
    decoder: Box<dyn DecoderModel>,
    /// Tokens of a prompt that come together.
    chunk: usize,
    on: &'a mut dyn Executor,
    choice: &'a mut Choice<'b>,
    all: Spent,
}

impl Reader for Running<'_, '_> {
    fn read(&mut self, texts: &[Next], done: &mut dyn FnMut(Part)) -> anyhow::Result<Vec<u32>> {
        let (jobs, mut found) = (self.decoder.jobs(), vec![0; texts.len()]);
        let (mut read, mut passed) = (0, 0);
        loop {
            // The next tokens of each text that is not at its end, and whether they are its last ones.
            let (mut pass, mut ends) = (Vec::new(), Vec::new());
            for (place, (text, tokens)) in texts.iter().enumerate() {
                let part = &tokens[passed.min(tokens.len())..tokens.len().min(passed + self.chunk)];
                if !part.is_empty() {
                    let rows = self.model.embed(part, self.decoder.tokens(*text))?;
                    pass.push((*text, rows.iter().map(<[f64]>::to_vec).collect()));
                    ends.push((place, passed + self.chunk >= tokens.len()));
                }
            }
            if pass.is_empty() {
                return Ok(found);
            }
            let (rows, mut job): (usize, usize) = (pass.iter().map(|(_, rows): &(_, Vec<_>)| rows.len()).sum(), 0);
            let all = &mut self.all;
            let mut add = |spent: &Spent| {
                *all += *spent;
                job += 1;
                let of = jobs.max(job);
                let tokens = read as f64 + rows as f64 * job as f64 / of as f64;
                done(Part { token: read, what: "job", done: job, of, tokens });
                Ok(())
            };
            let wanted = ends.iter().any(|(_, ends)| *ends);
            let logits = self.decoder.pass(self.on, (&pass, wanted), &mut add)?;
            for ((place, ends), logits) in ends.iter().zip(&logits) {
                if *ends {
                    found[*place] = self.choice.of(logits)?;
                }
            }
            read += rows;
            passed += self.chunk;
        }
    }
}

fn write(
    text: &mut Texts<'_>,
    (model, learnt): (Model, &Learnt),
    (by, window): (&dyn WholeAccelerator, &Window),
    (sizes, chunk): (Sizes, usize),
    (on, choice): (&mut dyn Executor, &mut Choice<'_>),
) -> Result<(Spent, Took)> {
    text.progress.message("putting the weights into memory");
    let (model, layers) = model.apart();
    let source = Source::apart(&model, layers).map_err(failed)?;
    let decoder = by.lowering().model_with(window, source, learnt.borrowed(), sizes, on).map_err(refused)?;
    let mut running = Running { model: &model, decoder, chunk, on, choice, all: Spent::default() };
    let took = text.write(&mut running)?;
    Ok((running.all, took))
}

fn told(
    text: &Texts<'_>,
    (on, name): (&dyn WholeAccelerator, &str),
    (all, took): (&Spent, &Took),
    (tops, did, chosen): (usize, &Did, u64),
) -> String {
    let shape = on.about();
    let mut lines = match tops {
        1 => vec![format!("  on          {name}, {shape}")],
        _ => vec![
            format!("  on          {tops} {name} side by side, each with {shape}"),
            "  shares      each computes an equal share of the columns of every projection".to_owned(),
        ],
    };
    lines.push(text.counted());
    let time = format!("  time        {}", took.speed());
    if text.args.golden {
        lines.extend([time, took.speeds()]);
    } else {
        // Others may have had the processor meanwhile.
        let each = took.each(did.busy) / tops as f64;
        let thread = if tops == 1 { "the thread of the simulation" } else { "each thread of a simulation" };
        lines.push(format!("{time}, of which {thread} ran {} s", significant(each, 2)));
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
        format!("  choice      reduce_top finds the largest logit in {} cycles", count(chosen)),
        format!("  host        looks embeddings up, {}{host}", on.lowering().host_work()),
    ]);
    if !text.args.golden && !text.args.no_check {
        let bytes = count(did.bytes);
        lines.push(format!(
            "  checked     {bytes} bytes of results and the cycles of each job; all equal the golden model's"
        ));
    }
    lines.join("\n") + "\n"
}
