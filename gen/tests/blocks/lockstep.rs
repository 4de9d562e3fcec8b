//! The native engine and Verilator in lock step: every port in every cycle, and every net of their waveforms.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use crate::support::on_all_cores;
use senbazuru::catalogue::{Catalogue, Entry, Params};
use senbazuru::waveform::{Step, Value, Waveform};
use sim::{BuildOptions, Design, Engine, Lockstep, Model, Opt, RunOptions, Sim, Trace};

/// Both engines on one design, each with a waveform or without.
fn pair(design: &Design, native: Trace, verilator: Trace) -> Lockstep {
    let instance = |engine, trace| {
        let options = BuildOptions { engine: Some(engine), trace, opt: Opt::O0, ..BuildOptions::default() };
        Model::build(design, &options).unwrap().instance().unwrap()
    };
    Lockstep::new(design, instance(Engine::Native, native), instance(Engine::Verilator, verilator))
}

/// Whether the design has C. A design without C says why, and contains Verilog from outside.
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
fn benches(entry: &dyn Entry, params: &Params, design: &Design) {
    let bench = entry.bench(params).unwrap();
    let [native, verilator] = [Engine::Native, Engine::Verilator].map(|engine| {
        let build = BuildOptions { engine: Some(engine), opt: Opt::O0, ..BuildOptions::default() };
        let options = RunOptions { seed: seeds::seed(1), vectors: 12, build, ..RunOptions::default() };
        let report = sim::run(&*bench, design, &options).unwrap_or_else(|e| panic!("{engine:?}: {e}"));
        (report.compared, report.cycles)
    });
    assert_eq!(native, verilator, "comparisons and cycles; native is left");
}

/// Each block's first configuration; in a full run all of them. The first one of an accelerator is the first small one:
/// C++ of two Titanus cores in their usual size is 147 MB. Two at a time: Verilator's models take long to compile.
#[test]
fn blocks_do_the_same_in_both_engines() {
    let mut designs = Vec::new();
    for entry in Catalogue::standard().all().to_vec() {
        let mut configurations = entry.configurations();
        if entry.is_accelerator() {
            configurations.rotate_left(1);
        }
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
        let found = pair(design, Trace::Off, Trace::Off).run(seeds::seed(1), 300).unwrap();
        assert_eq!(found, None, "{name}: native is first");
        benches(Catalogue::standard().find(name).cloned().unwrap().as_ref(), params, design);
        Ok(())
    });
}

/// Values of a net, each with the time from which it holds.
type Series = Vec<(u64, String)>;

/// The contents of a waveform for each net.
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

/// Both engines write the same waveform: each net of one is a net of the other, with the same values at the same times.
/// Exceptions are the nets that the printer of Verilog adds: parts of expressions, and bits that nobody reads.
fn same_waves(name: &str, design: &Design) {
    let folder = tempfile::tempdir().unwrap();
    for trace in [Trace::Vcd, Trace::Fst] {
        let [native, verilator] = ["native", "verilator"].map(|engine| folder.path().join(engine));
        let mut pair = pair(design, trace, Trace::Vcd);
        pair.first.open_trace(&native).unwrap();
        pair.second.open_trace(&verilator).unwrap();
        assert_eq!(pair.run(seeds::seed(1), 120).unwrap(), None, "{name}: native is first");
        pair.both(Sim::close_trace).unwrap();
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
        // The signals that `wave` draws by itself: the ports of the top, outside of all modules.
        let ports = |nets: &BTreeMap<String, Series>| nets.keys().filter(|n| n.matches('.').count() == 1).count();
        assert_eq!(ports(&native), ports(&verilator), "{name}");
    }
}

/// Some blocks, in a full run all, each in the configuration with the least C. Larger ones take Verilator minutes to
/// compile and show nothing more.
#[test]
fn waveforms_show_the_same_in_both_engines() {
    let all = Catalogue::standard().all().to_vec();
    let smallest = |entry: &dyn Entry| {
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
