//! The native engine and Verilator in lock step: every port in every cycle, and every net of their waveforms.

mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use senbazuru::registry;
use senbazuru::waveform::{Step, Value, Waveform};
use sim::{Bits, BuildOptions, Design, Dir, Engine, Model, RunOptions, Sim, Trace};
use support::on_all_cores;

/// Both engines on one design.
struct Pair {
    native: Sim,
    verilator: Sim,
}

fn model(design: &Design, engine: Engine, trace: Trace) -> Model {
    Model::build(design, &BuildOptions { engine: Some(engine), trace, ..BuildOptions::default() }).unwrap()
}

impl Pair {
    fn new(design: &Design, native: Trace, verilator: Trace) -> Self {
        let instance = |engine, trace| model(design, engine, trace).instance().unwrap();
        Self { native: instance(Engine::Native, native), verilator: instance(Engine::Verilator, verilator) }
    }

    fn both(&mut self, mut f: impl FnMut(&mut Sim)) {
        f(&mut self.native);
        f(&mut self.verilator);
    }

    fn compare(&self, name: &str, when: &str) {
        for port in self.native.ports().iter().filter(|p| p.dir == Dir::Output) {
            let value = |sim: &Sim| sim.peek(sim.output(&port.name).unwrap());
            let (got, expected) = (value(&self.native), value(&self.verilator));
            let cycle = self.native.cycle_count();
            assert_eq!(got, expected, "{name}: `{}` in cycle {cycle}, {when}: native is left", port.name);
        }
    }
}

/// Random inputs for both, compared after each step.
fn lockstep(name: &str, design: &Design, pair: &mut Pair, cycles: u32) {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seeds::seed(1));
    let has_reset = design.reset.is_some();
    let clocks: Vec<&String> = design.clock.iter().chain(&design.reset).collect();
    let inputs: Vec<_> =
        design.ports.iter().filter(|p| p.dir == Dir::Input && !clocks.contains(&&p.name)).cloned().collect();
    if has_reset {
        pair.both(|sim| sim.reset(2).unwrap());
    }
    for cycle in 0..cycles {
        for port in &inputs {
            // Often all zero, often as before: much hardware does nothing else for long.
            if rng.random_ratio(1, 3) {
                continue;
            }
            let zero = rng.random_ratio(1, 4);
            let words: Vec<u32> = (0..port.width.div_ceil(32)).map(|_| if zero { 0 } else { rng.random() }).collect();
            let mut value = Bits::from_words(port.width, &words);
            if port.width == 1 {
                value = Bits::truncated(1, u64::from(rng.random_ratio(3, 4)));
            }
            pair.both(|sim| sim.poke(sim.input(&port.name).unwrap(), &value));
        }
        pair.both(|sim| sim.settle().unwrap());
        pair.compare(name, "settled");
        if design.clock.is_some() {
            pair.both(|sim| sim.tick().unwrap());
            pair.compare(name, "after the edge");
        }
        if has_reset && cycle % 97 == 96 {
            pair.both(|sim| sim.reset(1).unwrap());
        }
    }
}

/// Whether the design has C; what has none says why, and is Verilog from outside.
fn has_native(design: &hdl::lang::Design) -> bool {
    match design.native() {
        Ok(_) => true,
        Err(problem) => {
            let known = ["is Verilog from outside", "has more cells than C evaluates fast"];
            assert!(known.iter().any(|reason| problem.ends_with(reason)), "{problem}");
            false
        }
    }
}

/// A block's bench passes in both, with as many comparisons in as many cycles.
fn benches(entry: &dyn registry::Entry, params: &registry::Params, design: &Design) {
    let bench = entry.bench(params).unwrap();
    let [native, verilator] = [Engine::Native, Engine::Verilator].map(|engine| {
        let build = BuildOptions { engine: Some(engine), ..BuildOptions::default() };
        let options = RunOptions { seed: seeds::seed(1), vectors: 12, build, ..RunOptions::default() };
        let report = sim::run(&*bench, design, &options).unwrap_or_else(|e| panic!("{engine:?}: {e}"));
        (report.compared, report.cycles)
    });
    assert_eq!(native, verilator, "comparisons and cycles; native is left");
}

/// Each block's first configuration; in a full run all of them. Two at a time: Verilator's models take long to compile.
#[test]
fn blocks_do_the_same_in_both_engines() {
    let mut designs = Vec::new();
    for entry in registry::all() {
        let configurations = entry.configurations();
        for params in seeds::some(&configurations, 1) {
            let elaborated = entry.elaborate(params).unwrap();
            if has_native(&elaborated) {
                let name = entry.about().name;
                designs.push((name.to_owned(), (name, params.clone(), Design::from(&elaborated))));
            }
        }
    }
    assert!(designs.len() > 90, "{} blocks are compared", designs.len());
    on_all_cores(designs, |(name, params, design)| {
        lockstep(name, design, &mut Pair::new(design, Trace::Off, Trace::Off), 300);
        benches(registry::find(name).unwrap().as_ref(), params, design);
        Ok(())
    });
}

/// Values of a net, each with the time from which it holds.
type Series = Vec<(u64, String)>;

/// What a waveform has of each net.
fn nets(path: &Path) -> BTreeMap<String, Series> {
    let wave = Waveform::open(path).unwrap();
    let names: Vec<(usize, String)> = wave.variables().iter().map(|v| (v.code, v.full_name())).collect();
    let mut by_code: BTreeMap<usize, Series> = BTreeMap::new();
    let mut now = 0;
    wave.read(None, &mut |step| {
        match step {
            Step::Time(time) => now = time,
            Step::Change(code, Value::Bits(bits)) => {
                let bits = bits.trim_start_matches('0').to_owned();
                let series = by_code.entry(code).or_default();
                // An FST has nets that are unknown until the first values.
                if bits.starts_with('x') && series.is_empty() {
                    return ControlFlow::Continue(());
                }
                if series.last().is_none_or(|(_, last)| *last != bits) {
                    series.push((now, bits));
                }
            }
            Step::Change(..) => {}
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    names.into_iter().map(|(code, name)| (name, by_code.get(&code).cloned().unwrap_or_default())).collect()
}

/// Both engines write the same waveform: each net of one is a net of the other, but for those that the printer of Verilog adds
/// (parts of expressions, bits that nobody reads), and has the same values at the same times.
fn same_waves(name: &str, design: &Design) {
    let folder = tempfile::tempdir().unwrap();
    for trace in [Trace::Vcd, Trace::Fst] {
        let [native, verilator] = ["native", "verilator"].map(|engine| folder.path().join(engine));
        let mut pair = Pair::new(design, trace, Trace::Vcd);
        pair.native.open_trace(&native).unwrap();
        pair.verilator.open_trace(&verilator).unwrap();
        lockstep(name, design, &mut pair, 120);
        pair.both(|sim| sim.close_trace().unwrap());
        let (native, verilator) = (nets(&native), nets(&verilator));
        for (net, series) in &native {
            match verilator.get(net) {
                Some(expected) => assert_eq!(series, expected, "{name}: `{net}`: native is left"),
                // Verilator takes arrays apart in which values ripple from element to element, and shows none of them.
                None => assert!(net.ends_with(']'), "{name}: Verilator shows no `{net}`"),
            }
        }
        let all = verilator.len();
        assert!(native.len() * 10 >= all * 6, "{name}: {} nets of {all}", native.len());
        // What `wave` draws by itself: the ports of the top, outside of all modules.
        let ports = |nets: &BTreeMap<String, Series>| nets.keys().filter(|n| n.matches('.').count() == 1).count();
        assert_eq!(ports(&native), ports(&verilator), "{name}");
    }
}

/// Some blocks, in a full run all, each in the configuration with the least C: what Verilator takes minutes to compile shows nothing
/// that a smaller one does not.
#[test]
fn waveforms_show_the_same_in_both_engines() {
    let all = registry::all();
    let smallest = |entry: &dyn registry::Entry| {
        let designs = entry.configurations().into_iter().map(|params| entry.elaborate(&params).unwrap());
        let text =
            |design: &hdl::lang::Design| design.native().unwrap().iter().map(|file| file.text.len()).sum::<usize>();
        designs.filter(has_native).min_by_key(text)
    };
    let designs = seeds::some(&all, 8).into_iter().filter_map(|entry| {
        let (name, design) = (entry.about().name, smallest(entry.as_ref())?);
        Some((name.to_owned(), (name, Design::from(&design))))
    });
    on_all_cores(designs.collect(), |(name, design)| {
        same_waves(name, design);
        Ok(())
    });
}
