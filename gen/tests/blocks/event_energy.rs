//! The energy of a whole accelerator by its events, against the energy of its netlist by the activity of all nets.
//!
//! Energies of a cycle and of an event are found on some kinds of jobs, and tell the energy of other kinds.

use std::fs::{self, File};
use std::io::BufReader;
use std::sync::{Arc, Mutex};

use golden::accelerators::events::Events;
use hdl::accelerators::top::TopParameters;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use jobs::draft::Operations;
use jobs::program::Program;
use jobs::timing::{self, Waits};
use rand::RngExt;
use senbazuru::accelerators::reduce::golden::ReduceTop as Golden;
use senbazuru::accelerators::reduce::{self, ReduceEngine, ReduceOperation, ReduceTop};
use senbazuru::flows::energy::{Cells, Netlist, count, input_transition, sum};
use senbazuru::flows::lint::Sources;
use senbazuru::flows::{liberty, synth};
use sim::stimulus::StimulusRng;
use sim::{Design, RunOptions, Trace};
use test_tag::tag;

use super::events::Tallied;

/// A design in cells, whose energy can be measured.
struct InCells {
    block: ReduceTop,
    design: Design,
    cells: Cells,
    netlist: Netlist,
    /// Transition time at the inputs, in seconds.
    slew: f64,
}

/// A kind of jobs: rows of a descriptor, and elements of a row.
#[derive(Clone, Copy, Debug)]
struct Jobs {
    rows: [u64; 2],
    columns: [u64; 2],
    seed: u64,
}

/// What energy depends on: cycles, beats that are read with all that happens to them, and beats that are written.
type Causes = [f64; 3];

impl InCells {
    fn new(block: ReduceTop) -> Self {
        let library = liberty::open(&["osu018"]).unwrap();
        let text = fs::read_to_string(&library.files[0]).unwrap();
        let cells = Cells::read(&liberty::parse(&text).unwrap()).unwrap();
        let elaborated = hdl::lang::elaborate(&block).unwrap();
        let (sources, design) = (Sources::from(&elaborated), Design::from(&elaborated));
        let jobs = std::thread::available_parallelism().unwrap();
        let json = synth::netlist_by_modules(&sources, &library, jobs).unwrap_or_else(|e| panic!("{e}"));
        let netlist = Netlist::read(&json, &design.top, &cells).unwrap();
        let slew = input_transition(&cells, library.driver.as_deref());
        let design = Design { files: netlist.verilog(&cells), ..design };
        Self { block, design, cells, netlist, slew }
    }

    /// Picojoules of a run of jobs, and what they depend on.
    fn measured(&self, jobs: Jobs) -> (f64, Causes) {
        let tally = Arc::new(Mutex::new(Events::default()));
        let of = tally.clone();
        let timed = move |block: &ReduceTop, latency: u32| Tallied(reduce::timing(block, latency), of.clone());
        let draw = move |rng: &mut StimulusRng, (operations, golden): (&Operations, &Golden), most: u32| {
            drawn(rng, (operations, golden), most, jobs)
        };
        let bench =
            timing::bench(&self.block, (reduce::golden_of(&self.block), Waits::default()), 4, draw, timed).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (trace, waves) = (Trace::Vcd, Some(folder.path().into()));
        let options = RunOptions { vectors: 3, seed: jobs.seed, trace, waves, ..RunOptions::default() };
        let report = sim::run(&*bench, &self.design, &options).unwrap_or_else(|e| panic!("{e:#}"));
        let waveform = BufReader::new(File::open(report.waveform.expect("a waveform")).unwrap());
        let energy = sum(&self.netlist, &self.cells, &count(waveform).unwrap(), self.slew).total();
        let events = tally.lock().unwrap();
        let beats = ["read beat", "write beat"].map(|event| events.count(event) as f64);
        (1e12 * energy, [report.cycles as f64, beats[0], beats[1]])
    }
}

/// A chain of right jobs of a kind.
fn drawn(rng: &mut StimulusRng, (operations, golden): (&Operations, &Golden), most: u32, jobs: Jobs) -> Program {
    Program::draw(rng, golden.bus[1], most, &(), |rng, program, ()| {
        let [rows, columns] = [jobs.rows, jobs.columns].map(|[from, to]| rng.random_range(from..=to));
        let stride = (2 * columns).next_multiple_of(64);
        let (x, out) = (program.take(rng, rows * stride), program.take(rng, rows * 64));
        let mut draft = operations.drawn(rng, program, "reduce");
        for (field, value) in [
            ("rows", rows),
            ("columns", columns),
            ("exact", 0),
            ("x_stride", stride),
            ("out_stride", 64),
            ("x_address", x),
            ("out_address", out),
        ] {
            draft.set(field, value);
        }
        draft.bytes()
    })
}

/// The energies of causes that explain measured energies best: least squares of relative errors.
fn explained(measured: &[(f64, Causes)]) -> Causes {
    let mut sums = [[0.0; 4]; 3];
    for (energy, causes) in measured {
        let shares = causes.map(|cause| cause / energy);
        for (row, share) in sums.iter_mut().zip(shares) {
            row.iter_mut().zip(shares.into_iter().chain([1.0])).for_each(|(sum, other)| *sum += share * other);
        }
    }
    for pivot in 0..3 {
        let by = sums[pivot][pivot];
        let scaled = sums[pivot].map(|x| x / by);
        for row in &mut sums {
            let factor = row[pivot];
            row.iter_mut().zip(scaled).for_each(|(x, by)| *x -= factor * by);
        }
        sums[pivot] = scaled;
    }
    sums.map(|row| row[3])
}

fn by(energies: &Causes, causes: &Causes) -> f64 {
    energies.iter().zip(causes).map(|(energy, count)| energy * count).sum()
}

/// Short rows, long rows and many rows tell the energies; rows between them are told within a tenth.
#[tag(full)]
#[test]
#[ignore = "minutes: synthesis of an accelerator, and waveforms of its netlist"]
fn energy_by_events() {
    let bus = TopParameters {
        axi: AxiSpec { address_width: 32, data_width: 32, id_width: 1 },
        dma: DmaSpec { burst_beats: 4, outstanding: 2, commands: 2, ..DmaSpec::default() },
        read_beats: 8,
        write_beats: 4,
        ..TopParameters::default()
    };
    let operation = ReduceOperation { max_columns: 200 };
    let top = InCells::new(ReduceTop { engine: ReduceEngine { bus, operation } });
    println!("{} cells", top.netlist.instances.len());
    let of = |rows, columns, seed| Jobs { rows, columns, seed };
    let known = [
        of([1, 1], [1, 8], 1),
        of([20, 30], [1, 4], 2),
        of([1, 2], [150, 200], 3),
        of([8, 12], [150, 200], 4),
        of([1, 30], [1, 200], 5),
    ];
    let others = [of([3, 6], [20, 60], 6), of([1, 1], [100, 100], 7), of([30, 40], [10, 16], 8), of([2, 4], [2, 6], 9)];
    let known: Vec<(f64, Causes)> = known.into_iter().map(|jobs| top.measured(jobs)).collect();
    let energies = explained(&known);
    println!("pJ of a cycle, a beat read, a beat written: {energies:.2?}");
    for (energy, causes) in &known {
        println!("known: {energy:.0} pJ, {causes:?}, ratio {:.3}", by(&energies, causes) / energy);
    }
    for jobs in others {
        let (energy, causes) = top.measured(jobs);
        let ratio = by(&energies, &causes) / energy;
        println!("{jobs:?}: {energy:.0} pJ, {causes:?}, ratio {ratio:.3}");
        assert!((0.9..1.1).contains(&ratio), "{jobs:?}: {ratio:.3} of the netlist's energy");
        // Cycles alone do not tell it: events count.
        assert!(energies.iter().all(|energy| *energy > 0.0), "{energies:?}");
    }
}

/// Energies that were put in come out.
#[test]
fn energies_are_found() {
    let energies = [20.0, 7.0, 11.0];
    let causes = [[100.0, 3.0, 1.0], [250.0, 120.0, 4.0], [90.0, 8.0, 30.0], [400.0, 10.0, 10.0]];
    let measured = causes.map(|causes| (by(&energies, &causes), causes));
    let found = explained(&measured);
    assert!(found.iter().zip(energies).all(|(found, energy)| (found - energy).abs() < 1e-9), "{found:?}");
}
