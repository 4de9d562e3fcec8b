//! A fault that the bench of a whole does not notice, and the bench of the part that has it does.

use hdl::blocks::common::Popcount;
use senbazuru::prelude::*;
use senbazuru::{Catalogue, mutation};
use sim::mutate::{Outcome, Report, Sample};
use testbenches::common::arith::popcount;

parameters! {
    /// No parameters.
    pub struct TwoCounts {}
}

ports! {
    /// Ports of [`TwoCounts`].
    pub struct TwoCountsPorts(_p: &TwoCounts) {
        /// Bits.
        data_i: In = uint(7),
        /// How many are 1.
        ones_o: Out = uint(3),
        /// How many are 0.
        zeros_o: Out = uint(3),
    }
}

impl Block for TwoCounts {
    type Ports = TwoCountsPorts;
    const ABOUT: About = About {
        name: "two_counts",
        summary: "ones and zeros",
        contract: "ones_o and zeros_o of data_i.",
        reference: "none",
    };

    fn build(&self, m: &mut Module, io: &TwoCountsPorts) {
        let data = m.wire("complement", !io.data_i);
        for (name, data, count) in [("u_ones", io.data_i, io.ones_o), ("u_zeros", data, io.zeros_o)] {
            let counter = m.instance(name, Popcount { width: 7 });
            m.connect(counter.data_i, data);
            m.connect(count, counter.count_o);
        }
    }
}

impl CatalogBlock for TwoCounts {
    fn configurations() -> Vec<Self> {
        Vec::new()
    }
}

/// Looks at the ones of 0, and at nothing else.
fn bench(p: &TwoCounts) -> anyhow::Result<Box<dyn Bench>> {
    sim::kit::bench(p, |sim, run| {
        let (data, ones) = (sim.input("data_i")?, sim.output("ones_o")?);
        sim.poke_u64(data, 0);
        sim.settle()?;
        run.expect_u64(sim, ones, 0)
    })
}

fn tested(catalogue: &Catalogue) -> Report {
    let entry = catalogue.get("two_counts").unwrap();
    let (params, design) = mutation::configuration(&**entry).unwrap();
    mutation::test(catalogue, &**entry, &params, &design, Sample::ALL, Some(1), None).unwrap().1
}

#[test]
fn the_bench_of_a_part_is_asked() {
    let alone = Catalogue::empty().block::<TwoCounts>("mine", bench);
    let both = Catalogue::empty().block::<TwoCounts>("mine", bench).block::<Popcount>("mine", popcount::bench);
    let [alone, both] = [&alone, &both].map(tested);
    assert_eq!((alone.killed_in_parts(), alone.tested.len()), (0, both.tested.len()));
    let part = Outcome::KilledInPart("popcount".to_owned());
    for (before, after) in alone.tested.iter().zip(&both.tested) {
        // A part decides about its own faults, and only about such that the whole does not notice.
        if after.outcome == part {
            assert!(
                matches!(before.outcome, Outcome::Survived { .. }) && after.mutation.module.starts_with("popcount")
            );
        } else {
            assert_eq!(before.outcome, after.outcome);
        }
    }
    let left = both.survivors().filter(|tested| tested.mutation.module.starts_with("two_counts")).count();
    assert!(both.killed_in_parts() > 3 && left > 0, "{} by the part, {left} left\n{both}", both.killed_in_parts());
}
