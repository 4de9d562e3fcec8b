use std::collections::BTreeMap;

use golden::accelerators::memory::SparseMemory;
use golden::accelerators::tender::Operation;
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use sim::stimulus::rng_for;

use super::super::golden_of;

use super::*;

fn block(rows: u32, columns: u32, accumulator_width: u32) -> TenderTop {
    let mut block = TenderTop { bus: TopParameters::new(128, 40, 4), ..TenderTop::default() };
    (block.array.rows, block.array.columns, block.array.pe.accumulator_width) = (rows, columns, accumulator_width);
    (block.depth, block.steps, block.explicit) = (64, 96, rows != columns);
    block.vector = VectorParameters { max_beats: 16, ..VectorParameters::all() };
    block
}

/// Jobs end well, and in every way that they can end badly. Every operation and every kind of overflow comes up. No
/// check refuses a job that was not spoilt.
#[test]
fn all_kinds_of_jobs() {
    let mut codes = BTreeMap::new();
    let mut seen = BTreeMap::new();
    for (label, block) in [("square", block(8, 8, 32)), ("wide", block(4, 16, 32)), ("narrow", block(8, 4, 14))] {
        let (operations, top) = (Operations::of(&block), golden_of(&block).unwrap());
        let mut rng = rng_for(seeds::seed(1), label);
        for _ in 0..400 {
            let program = draw(&mut rng, (&operations, &top), 4);
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
