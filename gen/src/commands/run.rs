//! `run`: a language model writes text on an accelerator in simulation.

use std::io::IsTerminal;
use std::time::Instant;

use hdl::accelerators::tender::TenderTop;
use host::Window;
use models::smollm2::{Model, Precision, Tokenizer, open};
use models::tender::decoder::{Checked, Decoder, Executor, InSoftware, Learnt, OnDevice, Spent, likeliest};
use sim::bus::AxiConfig;
use sim::process::processor_time;
use sim::{BuildOptions, Initial, Opt};
use testbenches::systems::hardware::Hardware;
use testbenches::systems::tender_top::decoding::{for_decoding, simulated};
use testbenches::systems::tender_top::timing::timing;
use testbenches::systems::tender_top::{caps_of, golden_of};

use crate::error::{Failure, Result};
use crate::present::numbers::decimal;
use crate::present::progress::Progress;
use crate::present::report;
use crate::registry::similar;

/// Accelerators that a model runs on.
const ACCELERATORS: [&str; 1] = ["tender"];
/// Memory that the accelerator may touch: half a gigabyte, of which SmolLM2-135M takes 150 MB.
const WINDOW: Window = Window { base: 0x10_0000, limit: 0x1fff_ffff, address_width: 32 };
/// Tokens there is room for: a chunk of rows, for which one calibration holds (Tender, section III-B).
const CONTEXT: usize = 256;
/// Columns of PEs; there are two rows, the least, which are one of products of 8 bits.
const COLUMNS: u32 = 128;
/// Cycles until memory answers.
const LATENCY: u32 = 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Text to go on with
    prompt: String,
    /// Accelerator: tender
    #[arg(long, value_name = "NAME")]
    on: String,
    /// Tokens to write, at most: the model may end its text
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=CONTEXT as u64))]
    tokens: u64,
    /// Compute in the golden model alone, without a simulation: the same text, sooner
    #[arg(long)]
    golden: bool,
    /// Simulate without the golden model beside it, which is compared with every result otherwise
    #[arg(long, conflicts_with = "golden")]
    no_check: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    if !ACCELERATORS.contains(&args.on.as_str()) {
        let near = similar(&args.on, &ACCELERATORS);
        let hint = near.first().map(|name| format!(" did you mean {name}?")).unwrap_or_default();
        let known = ACCELERATORS.join(", ");
        return Err(Failure::Usage(format!("no model runs on `{}`;{hint} accelerators are: {known}", args.on)));
    }
    if args.prompt.is_empty() {
        return Err(Failure::Usage("the prompt is empty; give the text to go on with".into()));
    }
    let file = open()?;
    let tokenizer = Tokenizer::read(&file).map_err(failed)?;
    let prompt = tokenizer.encode(&args.prompt).map_err(|e| Failure::Usage(format!("the prompt: {e:#}")))?;
    // The last token that is written is not read any more.
    let needed = prompt.len() as u64 + args.tokens - 1;
    if needed > CONTEXT as u64 {
        let problem = format!("the prompt has {} tokens, --tokens is {}", prompt.len(), args.tokens);
        return Err(Failure::Usage(format!("{problem}; there is room for {CONTEXT} in all")));
    }
    let progress = Progress::new(1, "reading the weights of SmolLM2-135M");
    let model = Model::read(&file, Precision::File).map_err(failed)?;
    progress.message("calibrating: the float model reads another text");
    let learnt = Learnt::of_texts(&model, &tokenizer, CONTEXT).map_err(failed)?;
    let block = for_decoding(COLUMNS);
    let golden = InSoftware::new(golden_of(&block).map_err(failed)?, &WINDOW).timed(timing(&block, LATENCY));
    let mut text = Text { args, tokenizer: &tokenizer, prompt: &prompt, progress: &progress, written: Vec::new() };
    let told = if args.golden {
        let mut on = golden;
        text.write((&model, &learnt), &block, &mut on)?
    } else {
        simulate(&mut text, (&model, &learnt), &block, golden)?
    };
    let rest = if to_terminal() { text.text() } else { String::new() };
    drop(progress);
    report::print(&format!("{rest}\n\n{told}"))
}

fn failed(error: anyhow::Error) -> Failure {
    Failure::Check(format!("{error:#}"))
}

/// A text in a terminal would meet the moving line: it is shown in that line, and printed at the end.
fn to_terminal() -> bool {
    std::io::stdout().is_terminal()
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
        return text.write(model, block, &mut on);
    }
    let mut on = Checked::new(device, golden);
    let told = text.write(model, block, &mut on)?;
    let bytes = count(on.bytes());
    Ok(format!(
        "{told}  checked     {bytes} bytes of results and the cycles of each job, all those of the golden model\n"
    ))
}

/// A text that is being written.
struct Text<'a> {
    args: &'a Args,
    tokenizer: &'a Tokenizer,
    prompt: &'a [u32],
    progress: &'a Progress,
    written: Vec<u32>,
}

impl Text<'_> {
    fn text(&self) -> String {
        let written = self.tokenizer.decode(&self.written).unwrap_or_default();
        format!("{}{written}", self.args.prompt)
    }

    /// Reads the prompt and writes tokens; what it took.
    fn write(
        &mut self,
        (model, learnt): (&Model, &Learnt),
        block: &TenderTop,
        on: &mut dyn Executor,
    ) -> Result<String> {
        self.progress.message("putting the weights into memory");
        let mut decoder = Decoder::new((model, learnt), (&caps_of(block), &WINDOW), CONTEXT, on).map_err(failed)?;
        let (jobs, start, clock, mut all) = (decoder.jobs(), Instant::now(), processor_time(), Spent::default());
        if !to_terminal() {
            report::print(&self.args.prompt)?;
        }
        let (mut shown, mut next) = (0, self.prompt[0]);
        for number in 0.. {
            let wanted = number + 1 >= self.prompt.len();
            let (progress, text) = (self.progress, self.text());
            let mut job = 0;
            let mut done = |spent: &Spent| {
                all += *spent;
                job += 1;
                let seconds = start.elapsed().as_secs_f64() / (number as f64 + f64::from(job) / jobs as f64);
                progress.message(format!("token {}, job {job} of {jobs}, {seconds:.1} s a token: {text}", number + 1));
                Ok(())
            };
            let logits = decoder.token(on, (next, wanted), &mut done).map_err(failed)?;
            if let Some(&token) = self.prompt.get(number + 1) {
                next = token;
                continue;
            }
            next = likeliest(&logits);
            if next == self.tokenizer.end() {
                break;
            }
            self.written.push(next);
            shown = self.show(shown)?;
            if self.written.len() as u64 == self.args.tokens {
                break;
            }
        }
        let busy = (processor_time() - clock) as f64 * 1e-9;
        Ok(self.told(decoder.tokens(), [start.elapsed().as_secs_f64(), busy], &all, block))
    }

    /// Prints what is new of the text, as far as its characters are whole.
    fn show(&self, shown: usize) -> Result<usize> {
        if to_terminal() {
            return Ok(shown);
        }
        let text = self.tokenizer.decode(&self.written).map_err(failed)?;
        let whole = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
        report::print(whole.get(shown..).unwrap_or_default())?;
        Ok(whole.len().max(shown))
    }

    fn told(&self, tokens: usize, [seconds, busy]: [f64; 2], all: &Spent, block: &TenderTop) -> String {
        let array = &block.array;
        let shape = format!("{} x {} PEs, INT8, a bus of {} bits", array.rows, array.columns, block.axi.data_width);
        let (read, written) = (self.prompt.len(), self.written.len());
        let each = |seconds: f64| seconds / tokens as f64;
        let mut lines = vec![
            format!("  on          tender_top, {shape}"),
            format!("  tokens      {read} read, {written} written"),
            // Others may have had the processor meanwhile.
            format!("  time        {:.1} s a token, of which this thread ran {:.1} s", each(seconds), each(busy)),
        ];
        if !self.args.golden {
            let computing = 100.0 * all.computing as f64 / all.cycles as f64;
            let speed = count((all.cycles as f64 / busy) as u64);
            lines.push(format!("  simulation  {speed} cycles a second of processor time"));
            lines.push(format!("  computing   array or vector unit in {computing:.1} % of the cycles"));
        }
        lines.push(format!("  cycles      {} a token", count(all.cycles / tokens as u64)));
        lines.extend([
            format!("  operations  {}, {} a token", count(all.descriptors), count(all.descriptors / tokens as u64)),
            format!("  saturated   {} words of results left the range of the calibration", count(all.overflows)),
            "  host        looks embeddings up, puts keys and values into their panels, chooses the largest logit"
                .to_owned(),
        ]);
        lines.join("\n") + "\n"
    }
}

/// A number with groups of digits.
fn count(number: u64) -> String {
    decimal(number as f64, 0)
}
