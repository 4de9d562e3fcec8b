//! The array with the processing element of ANT and OliVe, in a catalogue of its own: bench, linters, proofs, and faults
//! that the proofs refute.

use std::path::Path;
use std::time::Duration;

use hdl::blocks::baselines::ExponentArray;
use senbazuru::catalogue::Catalogue;
use senbazuru::flows::lint::{Sources, lint};
use senbazuru::flows::prove::{Options, Verdict, prove};
use sim::Design;
use sim::fault::{self, Fault};
use sim::kit::options;
use testbenches::tender::multi_scale_array::bench;

use crate::support::on_all_cores;

const NAME: &str = "exponent_array";

fn catalogue() -> Catalogue {
    Catalogue::empty().block::<ExponentArray>("baselines", bench)
}

#[test]
fn exponent_arrays_agree_and_are_clean() {
    let catalogue = catalogue();
    let entry = catalogue.find(NAME).unwrap();
    let small = entry.configurations().into_iter().skip(1).enumerate();
    on_all_cores(small.map(|(place, params)| (format!("{NAME} {place}"), params)).collect(), |params| {
        let design = entry.elaborate(params).map_err(|e| e.to_string())?;
        let checks = lint(&Sources::from(&design)).map_err(|e| e.to_string())?;
        let messages: Vec<_> = checks.into_iter().flat_map(|check| check.messages).collect();
        if !messages.is_empty() {
            return Err(messages.join("\n"));
        }
        let bench = entry.bench(params).map_err(|e| e.to_string())?;
        sim::run(&*bench, &Design::from(&design), &options(100)).map(|_| ()).map_err(|e| e.to_string())
    });
}

fn proof_options(depth: u32, cover_depth: u32, induction: bool) -> Options {
    Options {
        depth,
        cover_depth,
        induction,
        solver: "z3".into(),
        limit: Duration::from_secs(300),
        traces: Path::new(env!("CARGO_TARGET_TMPDIR")).join("arrayed_elements"),
    }
}

/// All proofs hold. With bubbles that are steps, and with rows that never move, some do not.
#[test]
fn exponent_arrays_are_proved() {
    let catalogue = catalogue();
    let entry = catalogue.find(NAME).unwrap();
    let proofs = entry.proofs();
    assert_eq!(proofs.len(), 2);
    for proof in &proofs {
        let design = entry.elaborate(&proof.params).unwrap();
        let options = proof_options(proof.depth, proof.cover_depth, proof.induction);
        let properties = prove(&Sources::from(&design), &options).unwrap();
        assert!(!properties.is_empty());
        let bad: Vec<_> = properties.iter().filter(|p| !p.verdict.is_good()).collect();
        assert!(bad.is_empty(), "{bad:?}");
    }
    let design = entry.elaborate(&proofs[0].params).unwrap();
    for (what, fault) in [
        ("a bubble begins a tile", Fault::net("first_now", "step_first_i")),
        ("a bubble ends a tile", Fault::net("last_now", "step_last_i")),
        ("a row never moves", Fault::net("g_row[0].starts_q", "1'b0")),
    ] {
        let netlist = fault::netlist(&Design::from(&design), &fault).unwrap_or_else(|e| panic!("{what}: {e}"));
        let sources = Sources { netlist: Some(netlist), ..Sources::from(&design) };
        let properties = prove(&sources, &proof_options(proofs[0].depth, 1, false)).unwrap();
        assert!(properties.iter().any(|p| p.verdict == Verdict::Refuted), "{what}: {properties:?}");
    }
}
