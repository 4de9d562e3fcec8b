//! An accelerator of another crate with a whole model in its memory: nothing of it is known by name.

use anyhow::{Result, bail};
use half::f16;
use host::Window;
use host::vector::Operand;
use jobs::hardware::Hardware;
use lower::learn::Learnt;
use lower::needs::{Asked, Needs, Room};
use lower::pass::Rows;
use lower::whole::{DecoderModel, Executor, Golden, ModelLowering, Sizes, Source, Spent, Written};
use models::calibration::{self, Arrays, Calibrates, Wanted};
use models::decoder::{Config, Decoder, Precision};
use models::schemes::{Choice, Settings};
use sim::Design;
use testbenches::accelerators::clock::Clock;
use testbenches::accelerators::decoding::{Machine, WholeAccelerator, window};

/// Its next token is the number of tokens so far. A job is the address of the counter.
struct Counting;

impl Calibrates for Counting {
    fn choices(&self) -> Vec<Choice> {
        Vec::new()
    }

    fn window(&self) -> usize {
        2
    }

    fn wanted(&self, _: &calibration::Asked<'_>) -> Result<Vec<Wanted>> {
        Ok(Vec::new())
    }

    fn learn(&self, _: &calibration::Source<'_>, _: &Settings, _: &mut dyn FnMut(usize)) -> Result<Arrays> {
        Ok(Arrays::new())
    }
}

impl ModelLowering for Counting {
    fn shares(&self, _: &Config, parts: usize) -> Result<()> {
        if parts == 1 { Ok(()) } else { bail!("{parts} counters side by side, wanted is one") }
    }

    fn needs(&self, _: &Asked<'_>, _: &Settings) -> Result<Needs> {
        Ok(Needs::default())
    }

    fn host_work(&self) -> &'static str {
        "counts tokens"
    }

    fn model_with(
        &self,
        window: &Window,
        source: Source<'_>,
        _: Learnt<'_>,
        sizes: Sizes,
        memory: &mut dyn Executor,
    ) -> Result<Box<dyn DecoderModel>> {
        memory.write(window.base, &[0])?;
        let (jobs, vocabulary) = (source.layers.count(), source.model.config().vocabulary);
        Ok(Box::new(Counted { at: window.base, jobs, vocabulary, tokens: vec![0; sizes.room.texts] }))
    }
}

#[derive(Clone)]
struct Counted {
    at: u64,
    jobs: usize,
    vocabulary: usize,
    tokens: Vec<usize>,
}

impl DecoderModel for Counted {
    fn tokens(&self, text: usize) -> usize {
        self.tokens[text]
    }

    fn jobs(&self) -> usize {
        self.jobs
    }

    fn residual(&self) -> Operand {
        Operand { address: self.at, stride: 0 }
    }

    fn pass(
        &mut self,
        on: &mut dyn Executor,
        (texts, _): (&[(usize, Rows)], bool),
        done: &mut dyn FnMut(&Spent) -> Result<()>,
    ) -> Result<Vec<Vec<f16>>> {
        let mut logits = Vec::new();
        for (text, rows) in texts {
            self.tokens[*text] += rows.len();
            for _ in rows {
                done(&on.run(self.at)?)?;
            }
            let mut count = [0];
            on.read(self.at, &mut count)?;
            let is = |token: usize| f16::from_f32(if token == usize::from(count[0]) { 1.0 } else { 0.0 });
            logits.push((0..self.vocabulary).map(is).collect());
        }
        Ok(logits)
    }

    fn duplicate(&self) -> Box<dyn DecoderModel> {
        Box::new(self.clone())
    }
}

/// A byte of memory; each job adds one.
struct Counter {
    at: u64,
    byte: u8,
}

impl Executor for Counter {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        match bytes {
            [byte] if address == self.at => self.byte = *byte,
            _ => bail!("no memory at {address:#x}"),
        }
        Ok(())
    }

    fn read(&mut self, _: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.fill(self.byte);
        Ok(())
    }

    fn run(&mut self, job: u64) -> Result<Spent> {
        Ok(self.job(job)?.1)
    }
}

impl Golden for Counter {
    fn job(&mut self, job: u64) -> Result<(Written, Spent)> {
        self.byte += 1;
        let spent = Spent { descriptors: 1, ..Spent::default() };
        Ok((Written { ranges: vec![job..=job], undefined: Vec::new() }, spent))
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn duplicate(&self) -> Box<dyn Golden> {
        Box::new(Self { at: self.at, byte: self.byte })
    }
}

struct OnCounter;

impl WholeAccelerator for OnCounter {
    fn about(&self) -> String {
        "a counter".into()
    }

    fn design(&self) -> Result<Design> {
        bail!("a counter has no design")
    }

    fn address_width(&self) -> u32 {
        32
    }

    fn on_hardware<'a>(&self, _: Hardware<'a>, _: &Window) -> Result<Box<dyn Executor + 'a>> {
        bail!("a counter has no design")
    }

    fn golden(&self, window: &Window, _: Option<u32>) -> Result<Box<dyn Golden>> {
        Ok(Box::new(Counter { at: window.base, byte: 0 }))
    }

    fn clock(&self, _: &Window, _: u32) -> Result<Clock> {
        bail!("a counter has no time")
    }

    fn lowering(&self) -> &dyn ModelLowering {
        &Counting
    }
}

#[test]
fn another_accelerator_has_a_whole_model() {
    let machine = Machine::Whole(Box::new(OnCounter));
    assert_eq!((format!("{machine:?}"), machine.calibrates().window()), ("a counter".into(), 2));
    let Machine::Whole(on) = &machine else { unreachable!() };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/models/tests/oracle/llama-tied");
    let model = Decoder::open(folder.as_ref(), Precision::File).unwrap().model;
    let (lowering, window) = (on.lowering(), window(on.address_width()));
    let (settings, arrays) = (lowering.defaults().unwrap(), Arrays::new());
    let learnt = Learnt { settings: &settings, arrays: &arrays };
    let mut golden = on.golden(&window, None).unwrap();
    let sizes = Sizes { rows: 2, room: Room { texts: 1, tokens: 8 } };
    let mut decoder = lowering.model_with(&window, Source::whole(&model), learnt, sizes, &mut golden).unwrap();
    assert_eq!(decoder.jobs(), model.config().layers);
    let mut jobs = 0;
    let mut next = |rows: usize| {
        let rows = model.embed(&vec![3; rows], 0).unwrap().iter().map(<[f64]>::to_vec).collect();
        let mut done = |spent: &Spent| {
            jobs += spent.descriptors;
            Ok(())
        };
        let logits = decoder.pass(&mut golden, (&[(0, rows)], true), &mut done).unwrap();
        logits[0].iter().position(|&logit| logit == f16::ONE)
    };
    assert_eq!([next(2), next(1)], [Some(2), Some(3)]);
    assert_eq!((jobs, decoder.tokens(0)), (3, 3));
}
