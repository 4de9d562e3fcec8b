//! The cost tables of `docs/blocks/float.md`, as Markdown: `cargo run --release -p senbazuru --example float_costs`.

use senbazuru::Catalogue;
use senbazuru::error::{Failure, Result};
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Options, synthesise};
use serde_json::{Value, json};

fn row(what: &str, block: &str, set: Value) -> Result<()> {
    let entry = Catalogue::standard().find(block).cloned()?;
    let mut params = entry.defaults();
    params.extend(set.as_object().cloned().unwrap_or_default());
    let design = entry.elaborate(&params)?;
    let report = synthesise(&Sources::from(&design), &design.manifest(), &Options::default())?;
    let aig = report.aig.ok_or_else(|| Failure::Check(format!("no graph of {block}")))?;
    let [strash, dc2] = [aig.strash, aig.dc2].map(|graph| format!("{} / {}", graph.and_nodes, graph.levels));
    println!("| {what} | {} | {strash} | {dc2} |", report.total.flip_flops);
    Ok(())
}

fn title(text: &str) {
    println!("\n| {text} | flip-flops | AND nodes / levels (strash) | after dc2 x 3 |\n| --- | ---: | ---: | ---: |");
}

fn main() -> Result<()> {
    title("combinational");
    for format in ["fp16", "bf16", "fp32", "e5m2"] {
        for block in ["float_add", "float_mul", "float_fma"] {
            row(&format!("`{block}`, {format}"), block, json!({ "format": format }))?;
        }
        row(
            &format!("`float_fma`, {format}, two roundings"),
            "float_fma",
            json!({ "format": format, "fused": false }),
        )?;
        row(&format!("`float_compare`, {format}"), "float_compare", json!({ "format": format }))?;
    }
    for (from, to) in
        [("fp16", "bf16"), ("fp16", "fp32"), ("bf16", "fp16"), ("bf16", "fp32"), ("fp32", "fp16"), ("fp32", "bf16")]
    {
        row(&format!("`float_convert`, {from} to {to}"), "float_convert", json!({ "from": from, "to": to }))?;
    }
    for (width, format) in [(8, "fp16"), (16, "fp16"), (32, "fp16"), (32, "bf16"), (32, "fp32")] {
        row(
            &format!("`float_from_int`, int{width} to {format}"),
            "float_from_int",
            json!({ "format": format, "width": width }),
        )?;
    }

    title("fp16, options");
    for block in ["float_add", "float_mul", "float_fma"] {
        row(&format!("`{block}`"), block, json!({}))?;
        row(&format!("`{block}`, flags"), block, json!({ "flags": true }))?;
        row(&format!("`{block}`, subnormals flushed"), block, json!({ "subnormals": "flush" }))?;
    }
    row("`float_add`, subtract", "float_add", json!({ "subtract": true }))?;

    title("fp16, stages");
    for (what, block, fused, most) in [
        ("`float_add`", "float_add", None, 4),
        ("`float_mul`", "float_mul", None, 3),
        ("`float_fma`", "float_fma", Some(true), 5),
        ("`float_fma`, two roundings", "float_fma", Some(false), 8),
    ] {
        for stages in 0..=most {
            let mut set = json!({ "stages": stages });
            if let Some(fused) = fused {
                set["fused"] = fused.into();
            }
            row(&format!("{what}, {stages}"), block, set)?;
        }
    }
    for block in ["float_compare", "float_convert", "float_from_int"] {
        row(&format!("`{block}`, 1"), block, json!({ "stages": 1 }))?;
    }
    Ok(())
}
