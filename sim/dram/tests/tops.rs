//! Work of the accelerators with DRAM, compared with the cycle model. `Served` gives the cycles with
//! DRAM from the cycles with an ideal memory. If all bytes take more cycles at the DRAM's peak, that number counts. The
//! tests print rows of the table in docs/dram.md.

use std::ops::RangeInclusive;
use std::sync::Mutex;

use dram::{Dram, Kind, Served};
use golden::accelerators::cycles::{Recurrence, Spent, Turns};
use golden::accelerators::memory::{Memory, SparseMemory};
use golden::common::shell::job_controller::Limits;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::accelerators::vector::VectorTop;
use hdl::blocks::common::AxiSpec;
use hdl::lang::CatalogBlock;
use host::kllm::Bits;
use host::vector::{Caps, Integer, Operand, VectorJob};
use host::{Chain, Counters, Device, Link, Window};
use jobs::hardware::{Hardware, on_hardware, ready};
use lower::chain::Job;
use sim::bus::AxiConfig;
use testbenches::accelerators::{kelle, kllm, tender, titanus, vector};

const WINDOW: Window = Window { base: 0x10_0000, limit: 0x3f_ffff, address_width: 40 };

/// One cycle of the designs, ns.
const PERIOD: f64 = 1.0;

type On<'a, 'b> = Device<&'a mut Hardware<'b>>;

/// Cycles of a job with an ideal memory of a latency.
type Model<'a> = Box<dyn Fn(u32) -> u64 + 'a>;

/// Tolerance of the cycle model for a chain of an accelerator.
const CLOSE: [RangeInclusive<f64>; 2] = [0.95..=1.05, 0.95..=1.05];

/// Cycles of an accelerator with each kind of DRAM, relative to the cycle model. `work` runs a job. It returns the
/// counters, and the cycles with an ideal memory.
fn before_dram<'a, B: CatalogBlock>(
    (name, block): (&str, &B),
    (bus, ratios): (u64, [RangeInclusive<f64>; 2]),
    work: impl Fn(&mut On<'_, '_>) -> (Counters, Model<'a>),
) {
    for (kind, ratios) in [Kind::Hbm2, Kind::Lpddr4].into_iter().zip(ratios) {
        let served = Served::by(kind, PERIOD, bus).unwrap();
        println!("{kind:?}, a bus of {bus} bytes: {served:?}");
        let found = Mutex::new(None);
        on_hardware(block, &AxiConfig::ideal(1), |hardware| {
            let dram = Dram::new(kind, PERIOD).unwrap();
            let (peak, reads) = (dram.peak(), dram.reads());
            hardware.memory.timed_by(Box::new(dram));
            let ports = hardware.ports.clone();
            let mut device = Device::new(hardware);
            ready(&mut device, WINDOW, 128).unwrap();
            let (Counters { cycles, .. }, model) = work(&mut device);
            let stats = ports.iter().map(|port| device.bus().memory.stats(port));
            let beats = stats.map(|stats| stats.read_beats + stats.write_beats).sum::<u64>();
            let bytes = bus * beats;
            let wait = reads.get().cycles as f64 / reads.get().bursts as f64;
            let ideal = model(served.latency.round() as u32);
            let expected = served.cycles(beats, model).max(bytes as f64 / (peak * PERIOD));
            let (rate, ratio) = (bytes as f64 / (cycles as f64 * PERIOD), cycles as f64 / expected);
            println!(
                "| {name} | {kind:?} | {bytes} | {cycles} | {ideal} | {expected:.0} | {ratio:.3} | {wait:.0} | {rate:.1} | {:.2} |",
                rate / peak
            );
            *found.lock().unwrap() = Some(ratio);
        });
        let ratio = found.into_inner().unwrap().unwrap();
        assert!(ratios.contains(&ratio), "{name}, {kind:?}: {ratio:.3} of the cycle model");
    }
}

/// Rows through the vector unit: two operands are read, one is written, and almost no arithmetic overlaps with that.
/// Operands are 1 MiB and `step` bytes apart.
fn rows(name: &str, block: &VectorTop, step: u64, ratios: [RangeInclusive<f64>; 2]) {
    let golden = vector::golden_of(block);
    before_dram((name, block), (u64::from(block.axi.data_width / 8), ratios), |device| {
        let caps = Caps::read(device).unwrap();
        let (rows, columns) = (256, 512);
        let operand = |address| Operand { address, stride: 2 * columns };
        let steps = VectorJob::new(rows, columns, operand(0x11_0000), operand(0x31_0000 + 2 * step))
            .multiply_rows(operand(0x21_0000 + step));
        let chain = Chain::new().then(Link::from(steps.build(&caps, &WINDOW).unwrap()));
        let image = chain.place(0x10_0000, &WINDOW, 4).unwrap();
        device.run(&image, 1_000_000).unwrap();
        let golden = golden.clone();
        let model = move |latency| {
            let mut memory = SparseMemory::new();
            memory.store(image.address, &image.bytes);
            let turns = &mut Turns::default();
            let spent = vector::timing(block, latency).job(&golden, limits(1), image.address, (&mut memory, turns));
            spent.unwrap().iter().map(|spent| spent.cycles).sum()
        };
        (device.counters().unwrap(), Box::new(model))
    });
}

fn limits(max_descriptors: u32) -> Limits {
    Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors }
}

#[test]
fn vector_rows() {
    let axi = |data_width| AxiSpec { address_width: 40, data_width, id_width: 1 };
    let narrow = VectorTop {
        bus: TopParameters { axi: axi(128), ..TopParameters::default() },
        vector: VectorParameters { max_beats: 64, ..VectorParameters::default() },
        ..VectorTop::default()
    };
    rows("`vector_top`, 16 bytes, in the same banks", &narrow, 0, [0.9..=1.2, 0.9..=1.6]);
    rows("`vector_top`, 16 bytes, apart", &narrow, APART, [0.9..=1.2, 0.9..=1.2]);
    let wide = VectorTop {
        bus: TopParameters { axi: axi(256), ports: 3, ..TopParameters::default() },
        vector: VectorParameters { max_beats: 32, ..VectorParameters::default() },
        ..VectorTop::default()
    };
    rows("`vector_top`, 3 ports of 32 bytes, in the same banks", &wide, 0, [0.9..=3.6, 0.9..=1.4]);
    rows("`vector_top`, 3 ports of 32 bytes, apart", &wide, APART, [0.9..=1.15, 0.9..=1.05]);
}

/// Other channels in HBM2, and other banks in both kinds.
const APART: u64 = 0x6000;

/// Cycles of a chain by the recurrence of its accelerator.
fn recurrence<O>(job: &Job, spent: impl Fn(Limits, (&mut dyn Memory, &mut Turns)) -> Result<Vec<Spent<O>>, u8>) -> u64 {
    let mut memory = SparseMemory::new();
    job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
    let spent = spent(limits(job.descriptors), (&mut memory, &mut Turns::default()));
    spent.unwrap().iter().map(|spent| spent.cycles).sum()
}

#[test]
fn head_on_tender() {
    let block = tender::real::layer_size();
    let golden = tender::golden_of(&block).unwrap();
    before_dram(("`tender_top`, a head, 25 tokens, INT8", &block), (16, CLOSE), |device| {
        let caps = host::tender::Caps::read(device).unwrap();
        let job = tender::attention::real_head(&caps, &WINDOW, golden.clone(), Integer::Int8, 25).unwrap().job;
        let counters = job.run(device).unwrap();
        let (block, golden) = (&block, &golden);
        let model = move |latency| {
            let timing = tender::timing::timing(block, latency);
            recurrence(&job, |limits, state| timing.job(golden, limits, job.address, state))
        };
        (counters, Box::new(model))
    });
}

#[test]
fn head_on_kllm() {
    let block = kllm::real::with_orizuru();
    let golden = kllm::golden_of(&block).unwrap();
    before_dram(("`kllm_top`, a head, 24 tokens, W4A4", &block), (16, CLOSE), |device| {
        let caps = host::kllm::Caps::read(device).unwrap();
        let job = kllm::attention::real_head(&caps, &WINDOW, golden.clone(), Bits::Four, (24, 3)).unwrap().job;
        let counters = job.run(device).unwrap();
        let block = &block;
        let model = move |latency| kllm::timing::clock((block, latency), &WINDOW).unwrap().cycles(&job).unwrap();
        (counters, Box::new(model))
    });
}

/// A prompt of 32 tokens and 32 tokens after it, with three query heads. The later tokens attend to the kept tokens.
#[test]
fn head_on_kelle() {
    let block = kelle::real::head_top();
    let golden = kelle::golden_of(&block).unwrap();
    before_dram(("`kelle_top`, 8 x 8, a head, 64 tokens", &block), (16, CLOSE), |device| {
        let caps = host::kelle::Caps::read(device).unwrap();
        let policy = host::kelle::Policy::of_budget(32, 24);
        let refresh = Some(host::kelle::RefreshJob::of_paper(16, 1000));
        let of = kelle::real::Decode {
            layer: 14,
            group: 3,
            prompt: 32,
            steps: 32,
            policy,
            refresh,
            late: false,
            recompute: 0,
        };
        let job = kelle::real::decode(&caps, &WINDOW, golden.clone(), of).unwrap().measured.job;
        let counters = job.run(device).unwrap();
        let block = &block;
        let model = move |latency| kelle::timing::clock((block, latency), &WINDOW).unwrap().cycles(&job).unwrap();
        (counters, Box::new(model))
    });
}

/// Weights into macros, and the prompt.
#[test]
fn head_on_titanus() {
    let block = titanus::head_core();
    let golden = titanus::golden_of(&block).unwrap();
    before_dram(("`titanus_core`, a head and its weights, 16 tokens", &block), (16, CLOSE), |device| {
        let keeping = titanus::head::Keeping { thresholds: [6, 6], bits: [3, 3] };
        let caps = titanus::caps_of(&golden);
        let mut jobs = titanus::head::real_head(&caps, &WINDOW, golden.clone(), keeping, (16, 1)).unwrap().jobs;
        let job = jobs.swap_remove(0);
        let counters = job.run(device).unwrap();
        let (block, golden) = (&block, golden.clone());
        let model = move |latency| {
            let timing = titanus::timing::timing(block, latency);
            recurrence(&job, |limits, state| timing.job(&golden.clone(), limits, job.address, state))
        };
        (counters, Box::new(model))
    });
}
