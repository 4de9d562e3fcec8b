//! The native engine and Verilator in lock step: every port in every cycle.

mod support;

use rand::{RngExt, SeedableRng};
use senbazuru::registry;
use sim::{Bits, BuildOptions, Design, Dir, Engine, Model, Sim};
use support::on_all_cores;

/// Both engines on one design.
struct Pair {
    native: Sim,
    verilator: Sim,
}

fn model(design: &Design, engine: Engine) -> Model {
    Model::build(design, &BuildOptions { engine: Some(engine), ..BuildOptions::default() }).unwrap()
}

impl Pair {
    fn new(design: &Design) -> Self {
        let instance = |engine| model(design, engine).instance().unwrap();
        Self { native: instance(Engine::Native), verilator: instance(Engine::Verilator) }
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

fn lockstep(name: &str, design: &Design, cycles: u32) {
    assert!(design.native.is_some(), "{name} has no C");
    let mut pair = Pair::new(design);
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

/// Each block's first configuration; in a full run all of them. Two at a time: Verilator's models take long to compile.
#[test]
fn blocks_do_the_same_in_both_engines() {
    let mut designs = Vec::new();
    for entry in registry::all() {
        for params in seeds::some(&entry.configurations(), 1) {
            let elaborated = entry.elaborate(params).unwrap();
            if has_native(&elaborated) {
                let name = entry.about().name;
                designs.push((name.to_owned(), (name, Design::from(&elaborated))));
            }
        }
    }
    assert!(designs.len() > 90, "{} blocks are compared", designs.len());
    on_all_cores(designs, |(name, design)| {
        lockstep(name, design, 300);
        Ok(())
    });
}
