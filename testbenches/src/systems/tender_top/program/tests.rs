use std::collections::BTreeMap;

use golden::common::float::Function;
use golden::systems::memory::SparseMemory;
use golden::systems::tender_top::{Operation, TenderTop};
use golden::systems::vector_top;
use sim::stimulus::rng_for;

use super::*;

fn shape(rows: u32, columns: u32, accumulator_width: u32) -> Shape {
    let vector = vector_top::Shape {
        lanes: 8,
        max_beats: 16,
        function: Function::Silu,
        address_width: 40,
        steps: vector_top::STEP_BITS,
    };
    let (depth, steps) = (64, 96);
    Shape { rows, columns, int8: true, accumulator_width, depth, steps, explicit: rows != columns, vector }
}

/// Jobs end well, and in every way that they can end badly. Every operation and every kind of overflow comes up. No
/// check refuses a job that was not spoilt.
#[test]
fn all_kinds_of_jobs() {
    let mut codes = BTreeMap::new();
    let mut seen = BTreeMap::new();
    for (label, shape) in [("square", shape(8, 8, 32)), ("wide", shape(4, 16, 32)), ("narrow", shape(8, 4, 14))] {
        let top = TenderTop::new(shape).unwrap();
        let mut rng = rng_for(seeds::seed(1), label);
        for _ in 0..400 {
            let program = draw(&mut rng, &shape, 4);
            let mut memory = SparseMemory::new();
            memory.store(program.limits.base, &program.image);
            let report = top.run(program.limits, program.job, &mut memory);
            let code = report.end.code;
            *codes.entry(code).or_insert(0) += 1;
            if program.plain {
                assert!([0, 14, 15].contains(&code), "{code}: {:?}", report.executed.last());
                assert!(code == 15 || report.executed.iter().all(|e| e.defined || e.codes.contains(&14)));
            }
            for e in &report.executed {
                let kind = match e.operation {
                    Operation::MatMul(_) => "product",
                    Operation::Pack(_) => "pack",
                    Operation::Vector(_) => "vector",
                };
                for (name, is) in [
                    (kind.into(), true),
                    (format!("{kind} without overflow"), e.overflows == 0),
                    (format!("{kind} with overflow"), e.overflows > 0),
                    (format!("{kind} with overflow of sums"), e.sum_overflows > 0),
                ] {
                    *seen.entry(name).or_insert(0) += u32::from(is);
                }
            }
        }
    }
    println!("{codes:?} {seen:?}");
    for code in [0, 5, 7, 8, 9, 10, 14, 15] {
        assert!(codes.get(&code).is_some_and(|count| *count > 5), "{code} in {codes:?}");
    }
    for (name, count) in &seen {
        let never = ["pack with overflow of sums", "vector with overflow of sums"].contains(&name.as_str());
        assert!(if never { *count == 0 } else { *count > 20 }, "{name}: {seen:?}");
    }
}
