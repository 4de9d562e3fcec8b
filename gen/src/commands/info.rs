//! `info`: everything a user needs to know to place a block.

use hdl::emit::{Manifest, ManifestPort};
use serde::Serialize;
use serde_json::Value;

use super::target::Target;
use crate::catalogue::{Catalogue, Entry, Params};
use crate::error::Result;
use crate::params::{plain, show};
use crate::present::table::Table;
use crate::present::{page, report};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["markdown", "svg"])]
    json: bool,
    /// Print Markdown
    #[arg(long)]
    markdown: bool,
    /// Print a block diagram: ports, and the modules inside
    #[arg(long, conflicts_with = "markdown")]
    svg: bool,
}

#[derive(Serialize)]
struct Info {
    block: &'static str,
    family: &'static str,
    summary: &'static str,
    contract: String,
    reference: &'static str,
    source: String,
    top: String,
    configuration: String,
    parameters: Vec<ParameterInfo>,
    ports: Vec<ManifestPort>,
    timing: Vec<hdl::lang::Phase>,
    modules: Vec<ModuleInfo>,
    warnings: Vec<String>,
    /// Files of `sim --tensors`.
    tensors: Vec<String>,
}

#[derive(Serialize)]
struct ParameterInfo {
    name: String,
    value: Value,
    default: Value,
    allowed: String,
    meaning: String,
}

#[derive(Serialize)]
struct ModuleInfo {
    name: String,
    block: String,
    instances: u64,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let (entry, params) = args.target.resolve(catalogue)?;
    if args.svg {
        return report::print(&page::diagram(&entry.elaborate(&params)?.manifest()));
    }
    let mut info = describe(&*entry, &params)?;
    if args.json {
        return report::json(&info);
    }
    if args.markdown {
        info.contract = apart(&info.contract);
    }
    let template = if args.markdown { "info.md" } else { "info.txt" };
    let tables = [
        ("parameters", parameters(&info)),
        ("ports", ports(&info)),
        ("timing", timing(&info)),
        ("modules", modules(&info)),
    ];
    report::print(&report::fill(template, &info, &tables)?)
}

/// Markdown takes a line after a list for a part of its last entry, unless a blank line is between them.
fn apart(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        let listed = |line: &str| line.starts_with("- ");
        if lines.last().is_some_and(|last| listed(last)) && !listed(line) && !line.is_empty() {
            lines.push("");
        }
        lines.push(line);
    }
    lines.join("\n")
}

fn describe(entry: &dyn Entry, params: &Params) -> Result<Info> {
    let about = entry.about();
    let design = entry.elaborate(params)?;
    let manifest = design.manifest();
    let parameter = |p: hdl::lang::Parameter| ParameterInfo {
        value: params.get(&p.name).cloned().unwrap_or(Value::Null),
        name: p.name,
        default: p.default,
        allowed: p.allowed,
        meaning: p.meaning,
    };
    let module = |m: &hdl::emit::ManifestModule| ModuleInfo {
        name: m.name.clone(),
        block: m.block.clone(),
        instances: m.instances,
    };
    Ok(Info {
        block: about.name,
        family: entry.family(),
        summary: about.summary,
        contract: about.paragraphs().join("\n"),
        reference: about.reference,
        source: entry.source().replace('\\', "/"),
        configuration: show(params),
        parameters: entry.parameters().into_iter().map(parameter).collect(),
        ports: all_ports(&manifest),
        modules: manifest.modules.iter().rev().map(module).collect(),
        timing: timing_rows(&manifest.timing),
        warnings: entry.warnings(params),
        // Numbers that NumPy has no type for are no tensors.
        tensors: entry.tensors(params).unwrap_or_default().iter().map(ToString::to_string).collect(),
        top: manifest.top,
    })
}

/// Clock and reset first: a user has to connect them too.
fn all_ports(manifest: &Manifest) -> Vec<ManifestPort> {
    let clock = manifest.clock.iter().map(|name| (name, "Clock: its rising edge"));
    let reset = manifest.reset.iter().map(|name| (name, "Reset, active low, takes effect at once"));
    let control = clock.chain(reset).map(|(name, meaning)| ManifestPort {
        name: name.clone(),
        direction: "input".into(),
        width: 1,
        signed: false,
        elements: None,
        meaning: meaning.to_owned(),
        depends_on: vec![],
    });
    control.chain(manifest.ports.iter().cloned()).collect()
}

fn parameters(info: &Info) -> Table {
    let mut table = Table::new(["parameter", "value", "default", "allowed", "meaning"]);
    for p in &info.parameters {
        table.row([p.name.clone(), plain(&p.value), plain(&p.default), p.allowed.clone(), p.meaning.clone()]);
    }
    table
}

fn ports(info: &Info) -> Table {
    let mut table =
        Table::new(["port", "direction", "bits", "elements", "number", "meaning", "inputs of the same cycle"]);
    for p in &info.ports {
        let elements = p.elements.map(|n| format!("{n} x {}", p.width / n.max(1))).unwrap_or_default();
        let number = if p.signed { "signed" } else { "unsigned" };
        let depends = p.depends_on.join(", ");
        table.row([
            p.name.clone(),
            p.direction.clone(),
            p.width.to_string(),
            elements,
            number.into(),
            p.meaning.clone(),
            depends,
        ]);
    }
    table
}

fn timing_rows(timing: &hdl::lang::Timing) -> Vec<hdl::lang::Phase> {
    timing.rows().into_iter().map(|(name, cycles, meaning)| hdl::lang::Phase { name, cycles, meaning }).collect()
}

fn timing(info: &Info) -> Table {
    let mut table = Table::new(["timing", "cycles", "meaning"]);
    for phase in &info.timing {
        table.row([phase.name.clone(), phase.cycles.to_string(), phase.meaning.clone()]);
    }
    table
}

fn modules(info: &Info) -> Table {
    let mut table = Table::new(["module", "block", "instances"]);
    for m in &info.modules {
        table.row([m.name.clone(), m.block.clone(), m.instances.to_string()]);
    }
    table
}
