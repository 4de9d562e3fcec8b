//! What overlap brings on `tender_top`: cycles of layer 14 of SmolLM2-135M, for a prompt and for a token after it, by the
//! recurrence which the benches hold the hardware to.
//!
//! `./scripts/data/weights` once, then `cargo run --release -p senbazuru-testbenches --example tender_overlap`; `--facts FILE`
//! writes the cycles as JSON.

use anyhow::{Result, anyhow, ensure};
use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::memory::{Memory, SparseMemory};
use golden::accelerators::tender::cycles::Timing;
use golden::accelerators::tender::{Operation, TenderTop as Golden};
use golden::common::shell::job_controller::Limits;
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::blocks::common::AxiSpec;
use hdl::blocks::tender::MultiScaleArray;
use host::Window;
use lower::learn::Learnt;
use lower::needs::Room;
use lower::tender::MAX_DESCRIPTORS;
use lower::whole::{Executor, Sizes, Source, Spent};
use models::calibration::Source as Learning;
use models::decoder::{Decoder, Precision};
use models::{schemes, smollm2};
use sim::facts::Facts;
use testbenches::accelerators::decoding::{WholeAccelerator, window};
use testbenches::accelerators::tender::decoding::{OnTender, for_decoding};
use testbenches::accelerators::tender::{golden_of, timing};

/// Of memory.
const LATENCY: u32 = 20;
/// Of SmolLM2-135M.
const LAYER: usize = 14;
/// Tokens of the prompt.
const PROMPT: usize = 64;

/// The golden model, and what its jobs took.
struct Timed {
    golden: Golden,
    window: Window,
    memory: SparseMemory,
    timing: Timing,
    turns: Turns,
    cycles: u64,
    products: u64,
    /// Of packings, and of rows, one after the other; wrong where they overlap.
    others: [u64; 2],
}

impl Executor for Timed {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.memory.store(address, bytes);
        Ok(())
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.memory.read(address, bytes).map_err(|e| anyhow!("memory answers {e:?}"))
    }

    fn run(&mut self, job: u64) -> Result<Spent> {
        let Window { base, limit, .. } = self.window;
        let limits = Limits { base, limit, max_descriptors: MAX_DESCRIPTORS };
        let spent = self.timing.job(&self.golden, limits, job, (&mut self.memory.clone(), &mut self.turns));
        for one in spent.map_err(|code| anyhow!("the job ends with error {code}"))? {
            self.cycles += one.cycles;
            self.products += one.operation.products();
            match one.operation {
                Operation::MatMul(_) => {}
                Operation::Pack(_) => self.others[0] += one.cycles,
                Operation::Vector(_) => self.others[1] += one.cycles,
            }
        }
        let end = self.golden.run(limits, job, &mut self.memory).end;
        ensure!(end.code == 0, "the golden model ends with error {} at {:#x}", end.code, end.place);
        Ok(Spent::default())
    }
}

/// 16 x 16 PEs, as the page of the accelerator has them.
fn for_prompts() -> TenderTop {
    TenderTop {
        bus: TopParameters {
            axi: AxiSpec { address_width: 32, data_width: 128, id_width: 1 },
            ..TopParameters::default()
        },
        array: MultiScaleArray { rows: 16, columns: 16, ..MultiScaleArray::default() },
        depth: 1536,
        steps: 1600,
        vector: hdl::accelerators::vector::VectorParameters { max_beats: 192, ..for_decoding(16).vector },
        ..TenderTop::default()
    }
}

fn main() -> Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    let model = Decoder::open(&smollm2::path(), Precision::File)?.model;
    let tokens: Vec<u32> = (300..301 + PROMPT as u32).collect();
    let rows: Vec<Vec<f64>> = model.embed(&tokens, 0)?.iter().map(<[f64]>::to_vec).collect();
    let learning = schemes::Learning { windows: vec![tokens[..16].to_vec()] };
    println!("| PEs | tokens | operations | cycles | the array takes products in | packings | rows |");
    println!("| --- | ---: | --- | ---: | ---: | ---: | ---: |");
    for (block, name) in [(for_prompts(), "16 x 16"), (for_decoding(128), "2 x 128")] {
        for overlaps in [false, true] {
            let block = TenderTop { bus: TopParameters { overlaps, ..block.bus.clone() }, ..block.clone() };
            let on = OnTender::new(block.clone())?;
            let (lowering, window) = (on.lowering(), window(on.address_width()));
            let mut timed = Timed {
                golden: golden_of(&block)?,
                window,
                memory: SparseMemory::new(),
                timing: timing::timing(&block, LATENCY),
                turns: Turns::default(),
                cycles: 0,
                products: 0,
                others: [0; 2],
            };
            let settings = lowering.defaults()?;
            let arrays = lowering.learn(&Learning { model: &model, learning: &learning }, &settings, &mut |_| ())?;
            let learnt = Learnt { settings: &settings, arrays: &arrays };
            let sizes = Sizes { rows: PROMPT, room: Room::for_one(PROMPT + 1) };
            let mut decoder = lowering.model_with(&window, Source::layer(&model, LAYER)?, learnt, sizes, &mut timed)?;
            for (count, of) in [(PROMPT, &rows[..PROMPT]), (1, &rows[PROMPT..])] {
                (timed.cycles, timed.products, timed.others) = (0, 0, [0; 2]);
                decoder.pass(&mut timed, (&[(0, of.to_vec())], false), &mut |_| Ok(()))?;
                let share = timed.products as f64 / timed.cycles as f64;
                let how = if overlaps { "overlap" } else { "one by one" };
                let [packings, vectors] =
                    timed.others.map(|cycles| if overlaps { "-".into() } else { cycles.to_string() });
                println!("| {name} | {count} | {how} | {} | {share:.3} | {packings} | {vectors} |", timed.cycles);
                facts.add(&format!("{name} {count} {how}"), timed.cycles as f64);
            }
        }
    }
    Ok(facts.write()?)
}
