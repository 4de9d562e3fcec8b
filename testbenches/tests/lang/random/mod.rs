//! Random designs in lock step: the native engine and Verilator on registers, memories, state machines, loops, ripples and
//! instances that nobody thought of. Then the same with faults in the C, each of which has to be noticed.

mod design;
mod faults;
mod pack;

use anyhow::{Context, Result, ensure};
use hdl::emit::SourceFile;
use hdl::lang::elaborate;
use pack::Pack;
use sim::{BuildOptions, Design, Engine, Lockstep, Model, Sim};
use test_tag::tag;

/// Designs in one model.
const DESIGNS: u64 = 100;
const CYCLES: u64 = 250;

fn pack(number: u64) -> Pack {
    Pack { seeds: (0..DESIGNS).map(|k| seeds::seed(1 + number * DESIGNS + k)).collect() }
}

/// An instance of the native model with this C.
fn native_instance(design: &Design, c: Vec<SourceFile>) -> Sim {
    let native = design.native.as_ref().map(|native| native.with_c(c));
    let options = BuildOptions { engine: Some(Engine::Native), ..BuildOptions::default() };
    Model::build(&Design { native, ..design.clone() }, &options).unwrap().instance().unwrap()
}

/// Verilator against the C as it is; with `in_parts` then that against C in which each module is evaluated by itself.
fn in_lock_step(seeds: Vec<u64>, in_parts: bool) -> Result<()> {
    let elaborated = elaborate(&Pack { seeds })?;
    let design = Design::from(&elaborated);
    let found = Lockstep::of_engines(&design)?.run(1, CYCLES)?;
    ensure!(found.is_none(), "native is first: {}", found.map(|f| f.to_string()).unwrap_or_default());
    if !in_parts {
        return Ok(());
    }
    let [parts, whole] =
        [elaborated.native_in_parts(1), elaborated.native()].map(|c| native_instance(&design, c.unwrap_or_default()));
    let found = Lockstep::new(&design, parts, whole).run(1, CYCLES)?;
    ensure!(found.is_none(), "in parts and as one: {}", found.map(|f| f.to_string()).unwrap_or_default());
    Ok(())
}

fn packs(numbers: std::ops::Range<u64>) {
    for number in numbers {
        let all = pack(number).seeds;
        if let Err(error) = in_lock_step(all.clone(), number % 4 == 0) {
            // Which design it is.
            let alone = |seed: &u64| in_lock_step(vec![*seed], true).with_context(|| format!("seed {seed}")).err();
            let alone: Vec<String> = all.iter().filter_map(alone).map(|e| format!("{e:#}")).collect();
            panic!("pack {number}: {error:#}\nalone:\n{}", alone.join("\n"));
        }
    }
}

#[test]
fn random_designs_do_the_same_in_both_engines() {
    packs(0..1);
}

#[tag(full)]
#[test]
#[ignore = "minutes: five thousand designs"]
fn random_designs_do_the_same_in_both_engines_whole() {
    packs(1..51);
}

/// Another five thousand, beside the first ones.
#[tag(full)]
#[test]
#[ignore = "minutes: five thousand designs"]
fn other_random_designs_do_the_same_in_both_engines_whole() {
    packs(51..101);
}

/// Some ways to read and write a memory that random designs meet too rarely: a write of any one of many granules.
#[test]
fn each_granule_of_a_wide_memory_is_written() {
    let elaborated = elaborate(&pack::Granules { count: 20 }).unwrap();
    let found = Lockstep::of_engines(&Design::from(&elaborated)).unwrap().run(1, CYCLES).unwrap();
    assert_eq!(found, None, "native is first");
}
