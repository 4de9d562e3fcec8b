//! Mutants of the construction language do the same as their Verilog. Each runs in the native engine and in Verilator
//! with the same inputs, and all outputs are equal in every cycle.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::on_all_cores;
use rand::{RngExt, SeedableRng};
use senbazuru::{Catalogue, mutation};
use sim::mutate::{self, Sample};
use sim::{Bits, BuildOptions, Design, Dir, Engine, Model, Sim};

/// Mutants of each block.
const MUTANTS: usize = 80;

/// Cycles, or inputs of a block without a clock, of each of them.
const CYCLES: u32 = 80;

/// Small ones, odd sizes, memories, loops, state machines, elements that are chosen at run time, words of 512 bits.
const BLOCKS: [&str; 16] = [
    "stream_fifo",
    "mac_mesh",
    "token_appender",
    "kv_cache",
    "double_buffer",
    "float_add",
    "orizuru",
    "execution_controller",
    "leading_zeros",
    "score_memory",
    "skew_lines",
    "crc32",
    "axi_read_dma",
    "systolic_evictor",
    "float_table",
    "kv_unpacker",
];

fn model(design: &Design, engine: Engine) -> Model {
    Model::build(design, &BuildOptions { engine: Some(engine), ..BuildOptions::default() }).unwrap()
}

/// Values of all outputs, settled and after the edge, in every cycle: of a mutant by its number, of 0 for none.
fn outputs(model: &Model, design: &Design, number: usize) -> Vec<Bits> {
    let mut sim = model.instance().unwrap();
    if let Ok(select) = sim.input(mutate::SELECT) {
        sim.poke_u64(select, number as u64);
    }
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(2);
    let clocks = [&design.clock, &design.reset];
    let is_driven = |name: &String| *name != mutate::SELECT && !clocks.iter().any(|c| c.as_ref() == Some(name));
    let inputs: Vec<_> = design.ports.iter().filter(|p| p.dir == Dir::Input && is_driven(&p.name)).collect();
    let mut seen = Vec::new();
    let look = |sim: &Sim, seen: &mut Vec<Bits>| {
        let outputs = design.ports.iter().filter(|p| p.dir == Dir::Output);
        seen.extend(outputs.map(|p| sim.peek(sim.output(&p.name).unwrap())));
    };
    if design.reset.is_some() {
        sim.reset(2).unwrap();
    }
    for cycle in 0..CYCLES {
        for port in &inputs {
            if rng.random_ratio(1, 3) {
                continue;
            }
            let zero = rng.random_ratio(1, 4);
            let words: Vec<u32> = (0..port.width.div_ceil(32)).map(|_| if zero { 0 } else { rng.random() }).collect();
            let value = match port.width {
                1 => Bits::truncated(1, u64::from(rng.random_ratio(3, 4))),
                width => Bits::from_words(width, &words),
            };
            sim.poke(sim.input(&port.name).unwrap(), &value);
        }
        sim.settle().unwrap();
        look(&sim, &mut seen);
        if design.clock.is_some() {
            sim.tick().unwrap();
            look(&sim, &mut seen);
        }
        if design.reset.is_some() && cycle == CYCLES / 2 {
            sim.reset(1).unwrap();
        }
    }
    seen
}

fn judge(block: &str) -> (usize, usize) {
    let entry = Catalogue::standard().find(block).unwrap().clone();
    let (params, plain) = mutation::configuration(&*entry).unwrap();
    let elaborated = entry.elaborate(&params).unwrap();
    let mutations = mutate::list_ir(&elaborated, Sample { count: MUTANTS, seed: 1 }, |_| true);
    let count = mutations.chosen.len();
    assert_eq!(count, MUTANTS.min(mutations.available), "{block}");
    let mutated = mutations.mutated();
    let [native, verilator] = [Engine::Native, Engine::Verilator].map(|engine| model(&mutated, engine));
    let right = outputs(&model(&plain, Engine::Native), &plain, 0);
    assert!(!right.is_empty());
    let mut differ = 0;
    for number in 0..=count {
        let what = number.checked_sub(1).map_or("no mutant".to_owned(), |at| mutations.chosen[at].to_string());
        let got = outputs(&native, &plain, number);
        assert!(got == outputs(&verilator, &plain, number), "{block}: the engines differ on {what}");
        assert!(number > 0 || got == right, "{block}: without a mutant it is another design");
        differ += usize::from(got != right);
        // A mutant alone, as a solver gets it, must do the same as among others.
        if number % 16 == 1 {
            let alone = mutations.only(&[number - 1]);
            assert!(
                outputs(&model(&alone, Engine::Native), &plain, 1) == got,
                "{block}: alone it is another one: {what}"
            );
        }
    }
    (count, differ)
}

#[test]
fn mutants_do_the_same_in_both_engines() {
    let blocks = seeds::some(&BLOCKS, 4);
    let (count, differ) = (AtomicUsize::new(0), AtomicUsize::new(0));
    on_all_cores(blocks.iter().map(|block| ((*block).to_string(), *block)).collect(), |block| {
        let (of, that) = judge(block);
        count.fetch_add(of, Ordering::Relaxed);
        differ.fetch_add(that, Ordering::Relaxed);
        Ok(())
    });
    let (count, differ) = (count.into_inner(), differ.into_inner());
    assert!(count >= 60 * blocks.len() && 3 * differ > count, "{differ} of {count} mutants differ from the design");
}
