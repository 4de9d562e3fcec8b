//! A FIFO of rust-hdl's widgets in a catalogue: one line, and the commands work on it.

mod support;

use std::collections::VecDeque;
use std::time::Duration;

use hdl::lang::{About, Module, Parameters, elaborate};
use rand::RngExt;
use rust_hdl_bridge::{Imported, ImportedPorts, Widget};
use senbazuru::Catalogue;
use senbazuru::flows::{lint, prove, synth};
use support::blocks::{Fifo as Words, TwoClocks};

struct Fifo;

impl Widget for Fifo {
    type Block = Words;
    const ABOUT: About = About {
        name: "rh_fifo",
        summary: "FIFO of 8 words of 9 bits, from rust-hdl's widgets",
        contract: "data_out_o is the oldest word while empty_o is low; read_i drops it.",
        reference: "rust-hdl 0.46, SynchronousFIFO",
    };
    const SOURCE: &'static str = file!();
    const PROOF_DEPTH: Option<u32> = Some(12);

    fn properties(m: &mut Module, io: &ImportedPorts) {
        let port = |name| io.port(name).unwrap();
        m.assert_always("full_or_empty", !(port("full") & port("empty")));
        m.cover("is_full", port("full"));
    }
}

/// Random writes and reads against a queue; a vector is a cycle. The FIFO starts from its `initial` values, without a reset.
fn bench(p: &Imported<Fifo>) -> anyhow::Result<Box<dyn sim::Bench>> {
    sim::kit::bench(p, |sim, run| {
        let mut rng = run.rng("fifo");
        let [data, write, read] = ["data_in_i", "write_i", "read_i"].map(|name| sim.input(name));
        let [out, full, empty] = ["data_out_o", "full_o", "empty_o"].map(|name| sim.output(name));
        let (data, write, read, out, full, empty) = (data?, write?, read?, out?, full?, empty?);
        let mut queue = VecDeque::new();
        for cycle in 0..run.vectors() {
            let (writes, reads) = if cycle / 100 % 2 == 0 { (0.8, 0.2) } else { (0.2, 0.8) };
            let word = rng.random_range(0..512);
            sim.settle()?;
            let (is_full, is_empty) = (sim.peek_u64(full) == 1, sim.peek_u64(empty) == 1);
            if is_full {
                run.expect_equal(sim, "full_o", "words inside", 8, queue.len())?;
            }
            let (push, pop) = (rng.random_bool(writes) && !is_full, rng.random_bool(reads) && !is_empty);
            if pop {
                let oldest = queue.pop_front().unwrap_or(u64::MAX);
                run.expect_u64(sim, out, oldest)?;
            }
            if push {
                queue.push_back(word);
            }
            sim.poke_u64(data, word);
            sim.poke_u64(write, push.into());
            sim.poke_u64(read, pop.into());
            sim.tick()?;
        }
        Ok(())
    })
}

#[test]
fn one_line_and_the_commands_work() {
    let catalogue = Catalogue::empty().block::<Imported<Fifo>>("widgets", bench);
    let entry = catalogue.find("rh_fifo").unwrap();
    let params = entry.defaults();
    assert!(params.is_empty() && entry.check(&params).is_empty());
    let design = entry.elaborate(&params).unwrap();

    // gen
    let names: Vec<_> = design.verilog().into_iter().map(|file| file.name).collect();
    assert_eq!(names, ["rh_fifo_rust_hdl.v", "rh_fifo.v"]);

    // lint: what is wrong is in rust-hdl's Verilog, not in the module around it.
    let sources = lint::Sources::from(&design);
    for check in lint::lint(&sources).unwrap() {
        assert!(check.messages.iter().all(|text| !text.contains("rh_fifo.v")), "{}: {:?}", check.tool, check.messages);
    }

    // sim
    let bench = entry.bench(&params).unwrap();
    let report =
        sim::run(&*bench, &sim::Design::from(&design), &sim::RunOptions { vectors: 2000, ..Default::default() });
    assert!(report.unwrap().compared > 500);

    // synth
    let synthesised = synth::synthesise(&sources, &design.manifest(), &synth::Options::default()).unwrap();
    assert!(!synthesised.modules.is_empty());

    // prove
    let folder = tempfile::tempdir().unwrap();
    let run = &entry.proofs()[0];
    let options = prove::Options {
        depth: run.depth,
        cover_depth: run.cover_depth,
        induction: run.induction,
        solver: "z3".into(),
        limit: Duration::from_secs(300),
        traces: folder.path().to_owned(),
    };
    let properties = prove::prove(&sources, &options).unwrap();
    assert!(properties.len() == 2 && properties.iter().all(|p| p.verdict.is_good()), "{properties:?}");
}

struct Crossing;

impl Widget for Crossing {
    type Block = TwoClocks;
    const ABOUT: About = About { name: "crossing", summary: "two clocks", contract: "", reference: "" };
    const SOURCE: &'static str = file!();
}

#[test]
fn what_cannot_be_imported_is_refused() {
    let error = elaborate(&Imported::<Crossing>::default()).unwrap_err().to_string();
    assert!(error.contains("`crossing`") && error.contains("clock"), "{error}");
    let given = r#"{"width":8}"#.parse().unwrap();
    let error = Imported::<Fifo>::from_values(&given).unwrap_err().to_string();
    assert_eq!(error, "parameter `width` is given, allowed: nothing: an imported block has no parameters");
}
