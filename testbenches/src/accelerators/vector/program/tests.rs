use std::collections::BTreeMap;

use golden::accelerators::memory::SparseMemory;
use golden::common::row::vector_unit::Norm;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::{VectorParameters, VectorTop};
use hdl::blocks::common::row::RowUnits;
use sim::stimulus::rng_for;

use super::super::golden_of;

use super::*;

/// Jobs end well, and in every way that they can end badly. All steps that were built in come up, and no others. No
/// check refuses a job that was not spoilt.
#[test]
fn all_kinds_of_jobs() {
    for (label, set) in [("none", 0), ("softmax", 1), ("layer_norm", 2), ("rotary", 4), ("all", 7)] {
        let [softmax, layer_norm, rotary] = [1, 2, 4].map(|bit| set & bit != 0);
        let vector = VectorParameters { max_beats: 24, ..VectorParameters::all() };
        let vector = VectorParameters { units: RowUnits { softmax, layer_norm, rotary }, ..vector };
        let block = VectorTop { bus: TopParameters::new(64, 40, 4), vector };
        let (operations, top) = (Operations::of(&block), golden_of(&block));
        let mut rng = rng_for(seeds::seed(1), label);
        let (mut codes, mut seen) = (BTreeMap::new(), BTreeMap::new());
        for _ in 0..1500 {
            let program = draw(&mut rng, (&operations, &top), 3);
            let mut memory = SparseMemory::new();
            memory.store(program.limits.base, &program.image);
            let report = top.run(program.limits, program.job, &mut memory);
            let code = report.end.code;
            *codes.entry(code).or_insert(0) += 1;
            if program.plain {
                assert!([0, 14].contains(&code), "{code}: {:?}", report.executed.last());
                assert!(report.executed.iter().all(|e| e.defined || e.codes.contains(&14)));
            }
            for e in &report.executed {
                let steps = e.operation.steps;
                let norm = |kind| steps.norm && steps.kind == kind;
                for (name, is) in [
                    ("rotate", steps.rotate),
                    ("rotate, rms norm", steps.rotate && norm(Norm::RmsNorm)),
                    ("softmax", norm(Norm::Softmax)),
                    ("causal", norm(Norm::Softmax) && e.operation.causal),
                    ("some of a row", norm(Norm::Softmax) && e.operation.length < e.operation.columns),
                    ("layer norm", norm(Norm::LayerNorm)),
                    ("layer norm with gains", norm(Norm::LayerNorm) && steps.gain),
                    ("rms norm", norm(Norm::RmsNorm)),
                    ("without overflow", e.overflows == 0),
                    ("with overflow", e.overflows > 0),
                ] {
                    *seen.entry(name).or_insert(0) += u32::from(is);
                }
            }
        }
        println!("{label}: {codes:?} {seen:?}");
        for code in [0, 5, 7, 8, 9, 10, 14, 15] {
            assert!(codes.get(&code).is_some_and(|count| *count > 2), "{label}: {code} in {codes:?}");
        }
        for (name, count) in &seen {
            let built = match *name {
                "rotate" | "rotate, rms norm" => rotary,
                "softmax" | "causal" | "some of a row" => softmax,
                "layer norm" | "layer norm with gains" => layer_norm,
                _ => true,
            };
            assert!(if built { *count > 10 } else { *count == 0 }, "{label}: {name} in {seen:?}");
        }
    }
}
