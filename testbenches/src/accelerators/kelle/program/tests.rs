use std::collections::BTreeMap;

use golden::accelerators::kelle::Operation;
use golden::accelerators::memory::SparseMemory;
use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop};
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::AxiSpec;
use sim::stimulus::rng_for;

use super::super::golden_of;
use super::*;

fn block([rows, columns]: [u32; 2], [heads, slots, width, group]: [u32; 4], save: bool, recompute: u32) -> KelleTop {
    let axi = AxiSpec { address_width: 40, data_width: 64, id_width: 1 };
    let spec = KelleSpec { axi, rows, columns, tokens: 6, inner: 40, ..KelleSpec::default() };
    let attention = AttentionSpec { heads, slots, width, group, save, recompute, ..AttentionSpec::default() };
    let attention = AttentionSpec { spec: spec.clone(), interval_width: 16, ..attention };
    let vector = VectorParameters { max_beats: 16, ..VectorParameters::all() };
    KelleTop { spec, attention, vector, ..KelleTop::default() }
}

/// Jobs end well, and in every way that they can end badly. Every operation comes with all of its options. No check
/// refuses a job that was not spoilt, whatever the jobs before have left.
#[test]
fn all_kinds_of_jobs() {
    let (mut codes, mut seen) = (BTreeMap::new(), BTreeMap::new());
    let blocks = [
        ("small", block([4, 4], [3, 5, 8, 2], true, 3)),
        ("smallest", block([1, 1], [1, 1, 1, 1], false, 0)),
        ("wide", block([8, 16], [2, 20, 32, 3], true, 0)),
    ];
    for (label, block) in blocks {
        let (operations, top) = (Operations::of(&block), golden_of(&block).unwrap());
        let mut rng = rng_for(seeds::seed(1), label);
        for _ in 0..500 {
            let program = draw(&mut rng, (&operations, &top), 4);
            let mut memory = SparseMemory::new();
            memory.store(program.limits.base, &program.image);
            let report = top.run(program.limits, program.job, &mut memory);
            let code = report.end.code;
            *codes.entry(code).or_insert(0) += 1;
            if program.plain {
                // A slot of a head may be taken, or have a token that does not come.
                let may = code == 15 && top.shape().recompute > 0;
                assert!([0, 14].contains(&code) || may, "{code}: {:?}", report.executed.last());
                assert!(report.executed.iter().all(|e| e.defined || e.codes.contains(&14)), "{:?}", report.executed);
            } else if !report.undefined().is_empty() {
                // As a bench does after a job with unknown results.
                top.soft_reset();
            }
            for e in &report.executed {
                let kind = match e.operation.operation {
                    Operation::Linear(_) => "linear",
                    Operation::Attention(_) => "attention",
                    Operation::Vector(_) => "vector",
                    Operation::Clear(_) => "clear",
                    Operation::Refresh(_) => "refresh",
                    Operation::Save(_) => "save",
                    Operation::Restore(_) => "restore",
                    Operation::Recompute(_) => "recompute",
                };
                let counts = e.operation.counts;
                for (name, is) in [
                    (kind.into(), true),
                    (format!("{kind} without overflow"), e.overflows == 0),
                    (format!("{kind} with overflow"), e.overflows > 0),
                    (format!("{kind} with saturation"), counts.saturations > 0),
                    (format!("{kind} with evictions"), counts.evictions > 0),
                    (format!("{kind} with more evictions than tokens"), more(&e.operation.operation, counts.evictions)),
                    (format!("{kind} in place"), in_place(&e.operation.operation)),
                    (format!("{kind} with late values"), late(&e.operation.operation)),
                    (format!("{kind} with tokens that come again"), again(&e.operation.operation)),
                ] {
                    *seen.entry(name).or_insert(0) += u32::from(is);
                }
            }
        }
    }
    println!("{codes:?} {seen:?}");
    for code in [0, 5, 7, 8, 9, 10, 14, 15] {
        assert!(codes.get(&code).is_some_and(|count| *count > 2), "{code} in {codes:?}");
    }
    for (kind, least) in [
        ("linear", 100),
        ("attention", 100),
        ("vector", 100),
        ("clear", 30),
        ("refresh", 30),
        ("save", 20),
        ("restore", 50),
        ("recompute", 10),
    ] {
        assert!(seen[kind] > least, "{kind} in {seen:?}");
    }
    for what in ["evictions", "more evictions than tokens", "overflow", "saturation"] {
        assert!(seen[&format!("attention with {what}")] > 10, "{what} in {seen:?}");
    }
    for what in [
        "linear with overflow",
        "linear with saturation",
        "attention in place",
        "attention without overflow",
        "attention with late values",
        "attention with tokens that come again",
    ] {
        assert!(seen[what] > 10, "{what} in {seen:?}");
    }
}

fn more(operation: &Operation, evictions: u64) -> bool {
    matches!(operation, Operation::Attention(a) if evictions > a.queries.rows)
}

fn late(operation: &Operation) -> bool {
    matches!(operation, Operation::Attention(a) if a.late)
}

fn again(operation: &Operation) -> bool {
    matches!(operation, Operation::Attention(a) if a.again > 0)
}

fn in_place(operation: &Operation) -> bool {
    matches!(operation, Operation::Attention(a) if a.out.address == a.queries.address)
}
