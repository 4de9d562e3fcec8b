//! What the rescale path of Tender's processing element may cost.

use hdl::blocks::tender::{Rescale, TenderPe};
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Aig, Options, synthesise};

fn graph(p: &TenderPe) -> Aig {
    let design = hdl::lang::elaborate(p).unwrap();
    synthesise(&Sources::from(&design), &design.manifest(), &Options::default()).unwrap().aig.unwrap()
}

/// Less than 6 % of the AND nodes and no level, before and after optimisation; with it, no more than a public 4 x 4 + 32
/// bit PE without it (780 nodes).
#[test]
fn rescaling_is_nearly_free() {
    for accumulator_width in [24, 32] {
        let with = graph(&TenderPe { accumulator_width, ..TenderPe::default() });
        let without = graph(&TenderPe { accumulator_width, rescale: Rescale::None, ..TenderPe::default() });
        for (with, without) in [(&with.strash, &without.strash), (&with.dc2, &without.dc2)] {
            assert!(with.and_nodes * 100 < without.and_nodes * 106, "{with:?} {without:?}");
            assert!(with.levels <= without.levels, "{with:?} {without:?}");
        }
        assert!(with.dc2.and_nodes <= 780, "{with:?}");
    }
}
