//! The costs of the floating-point units in `docs/blocks/float.md`.

use senbazuru::Catalogue;
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Aig, Options, synthesise};
use serde_json::{Value, json};

fn aig(block: &str, set: &Value) -> Aig {
    let entry = Catalogue::standard().find(block).cloned().unwrap();
    let mut params = entry.defaults();
    params.extend(set.as_object().unwrap().clone());
    let design = entry.elaborate(&params).unwrap();
    synthesise(&Sources::from(&design), &design.manifest(), &Options::default()).unwrap().aig.unwrap()
}

/// Smaller and shallower than public RTL under the same script: AND nodes and levels after `dc2`, combinational fp16.
/// HardFloat's adder and multiplier, cvfpu's multiply-add unit.
#[test]
fn beat_public_figures() {
    for (block, and_nodes, levels, most_stages) in
        [("float_add", 1408, 107, 4), ("float_mul", 1728, 107, 4), ("float_fma", 2908, 171, 7)]
    {
        let whole = aig(block, &json!({}));
        assert!(whole.dc2.and_nodes < and_nodes && whole.dc2.levels < levels, "{block}: {whole:?}");
        // Registers cut the depth to less than half and do not change the logic much.
        let cut = aig(block, &json!({ "stages": most_stages }));
        assert!(2 * cut.strash.levels <= whole.strash.levels, "{block}: {cut:?} of {whole:?}");
        assert!(cut.strash.and_nodes < whole.strash.and_nodes * 11 / 10, "{block}: {cut:?} of {whole:?}");
    }
}

/// Without subnormal numbers a multiplier needs no shifter; the others gain nothing.
#[test]
fn flushing_pays_in_the_multiplier() {
    let nodes = |block| {
        let [ieee, flush] = ["ieee", "flush"].map(|subnormals| aig(block, &json!({ "subnormals": subnormals })));
        (ieee.dc2.and_nodes, flush.dc2.and_nodes)
    };
    let (ieee, flush) = nodes("float_mul");
    assert!(flush * 10 < ieee * 8, "{flush} of {ieee}");
}
