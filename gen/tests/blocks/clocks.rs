//! How short the paths between registers can be made: AND levels of the flattened design before `dc2`.
//!
//! `docs/blocks/float.md`, `docs/blocks/float-functions.md`, `docs/blocks/row-units.md`, `docs/blocks/tender.md`,
//! `docs/blocks/orizuru.md` and `docs/blocks/kllm-lane.md` say the same.

use crate::support::on_all_cores;
use hdl::blocks::kllm::{Orizuru, PeLane, TreeStyle};
use hdl::blocks::tender::{Drain, MultiScaleArray, Multiplier, TenderPe};
use hdl::lang::{Block, Design, elaborate};
use senbazuru::Catalogue;
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Options, synthesise};
use serde_json::{Value, json};
use test_tag::tag;

/// Levels of a design whose Verilog is changed.
fn levels_of(design: &Design, change: impl Fn(String) -> String) -> u64 {
    let mut sources = Sources::from(design);
    for file in &mut sources.files {
        file.text = change(std::mem::take(&mut file.text));
    }
    synthesise(&sources, &design.manifest(), &Options::default()).unwrap().aig.unwrap().strash.levels
}

fn levels<B: Block>(block: &B) -> u64 {
    levels_of(&elaborate(block).unwrap(), |text| text)
}

/// None is deep; in an ordinary run of a third of them.
fn short(cases: &[(&str, Value)]) {
    let some = seeds::some(cases, cases.len().div_ceil(3)).into_iter();
    let work = some.map(|(block, set)| (format!("{block} with {set}"), (*block, set)));
    on_all_cores(work.collect(), |(block, set)| {
        let entry = Catalogue::standard().find(block).cloned().unwrap();
        let mut params = entry.defaults();
        params.extend(set.as_object().unwrap().clone());
        let levels = levels_of(&entry.elaborate(&params).unwrap(), |text| text);
        if levels <= 20 { Ok(()) } else { Err(format!("{levels} levels")) }
    });
}

/// Every unit in fp16, at its largest number of stages.
#[test]
fn floating_point() {
    let stages = |block, stages: u32| (block, json!({ "stages": stages }));
    let function = |function| ("float_table", json!({ "stages": 15, "function": function }));
    short(&[
        stages("float_compare", 1),
        stages("float_add", 4),
        stages("float_mul", 4),
        stages("float_fma", 7),
        ("float_fma", json!({ "stages": 9, "fused": false })),
        stages("float_convert", 2),
        ("float_convert", json!({ "stages": 2, "from": "fp16", "to": "fp32" })),
        stages("float_from_int", 2),
        stages("float_to_int", 1),
        stages("float_sqrt", 12),
        stages("float_reciprocal", 13),
        stages("float_divide", 15),
        stages("float_rsqrt", 4),
        stages("float_exp", 10),
        stages("float_sigmoid", 12),
        function("gelu_erf"),
        function("gelu_tanh"),
        function("silu"),
        function("tanh"),
    ]);
}

/// Lanes stand beside each other, and their trees have a rank of registers a level: few of them show all paths.
fn few_lanes(block: &str, mut set: Value) -> Design {
    let entry = Catalogue::standard().find(block).cloned().unwrap();
    let mut params = entry.defaults();
    let few = json!({ "lanes": 2, "max_beats": 4, "buffer": 4 });
    let known: Vec<_> = few.as_object().unwrap().iter().filter(|(name, _)| params.contains_key(*name)).collect();
    set.as_object_mut().unwrap().extend(known.into_iter().map(|(name, value)| (name.clone(), value.clone())));
    params.extend(set.as_object().unwrap().clone());
    entry.elaborate(&params).unwrap()
}

fn row(block: &str, set: Value) {
    let levels = levels_of(&few_lanes(block, set), |text| text);
    assert!(levels <= 20, "{block}: {levels}");
}

#[tag(release)]
#[test]
#[ignore = "a minute of synthesis"]
fn rotary_embedding() {
    row("rotary_embedding", json!({ "mul_stages": 4, "fma_stages": 7, "apart": true }));
}

#[tag(release)]
#[test]
#[ignore = "minutes of synthesis"]
fn norms() {
    for block in ["rms_norm", "layer_norm"] {
        row(block, json!({ "storage": "registers" }));
    }
}

/// The norm of a row in it takes its buffers from memories. Paths begin and end at the ports of memories.
#[tag(release)]
#[test]
#[ignore = "minutes of synthesis"]
fn vector_unit() {
    let lane = json!({ "function": "silu", "mul_stages": 4, "add_stages": 4, "table_stages": 15, "apart": true });
    row("vector_unit", json!({ "lane": lane, "requantize": { "mul_stages": 4, "int_stages": 2, "apart": true } }));
}

/// The sum feeds back on itself, and moves while it grows.
#[tag(release)]
#[test]
#[ignore = "a minute of synthesis"]
fn softmax() {
    let design = few_lanes("softmax", json!({ "storage": "registers" }));
    let whole = levels_of(&design, |text| text);
    assert!(whole <= 32, "{whole}");
}

/// 20 levels between registers, 32 where an accumulator of 32 bits feeds back on itself.
#[test]
fn tender() {
    let pe = TenderPe { pipelined: true, multiplier: Multiplier::Tree, ..TenderPe::default() };
    let array = MultiScaleArray { rows: 2, columns: 2, pe: pe.clone(), int8: true, ..MultiScaleArray::default() };
    for p in [pe.clone(), TenderPe { drain: Drain::Single, ..pe }] {
        assert!(levels(&p) <= 32, "{p:?}");
    }
    let whole = levels(&array);
    assert!(whole <= 32, "{whole}");
    // Without the carries of the accumulators: all other paths.
    let others = levels_of(&elaborate(&array).unwrap(), |text| {
        text.replace("wire signed [31:0] sum = base + ", "wire signed [31:0] sum = base ^ ")
    });
    assert!(others <= 20 && others < whole, "{others} {whole}");
}

/// Products looked up; a choice among more activations takes a level more for each bit of the index.
#[tag(release)]
#[test]
#[ignore = "a minute of synthesis"]
fn lane() {
    let lane = PeLane { columns: 2, inputs: 4, a_bits: 2, ..PeLane::default() };
    let deepest = levels(&lane);
    assert!(deepest <= 20, "{deepest}");
    let outliers = levels(&PeLane { outliers: 64, ..lane });
    assert!(outliers <= 20, "{outliers} with outliers");
}

fn orizuru(n: u32) -> Orizuru {
    let tree = TreeStyle { levels_per_cycle: 1, ..TreeStyle::default() };
    Orizuru { n, k_max: 8, k_min: 8, tree, ..Orizuru::default() }
}

#[test]
fn orizuru_of_64() {
    let levels = levels(&orizuru(64));
    assert!(levels <= 17, "{levels}");
}

#[tag(release)]
#[test]
#[ignore = "more than a minute of synthesis"]
fn orizuru_of_256() {
    let levels = levels(&orizuru(256));
    assert!(levels <= 17, "{levels}");
}
