//! The files that other flows take: a FuseSoC core, the same for Edalize, a cocotb test with its Makefile, timing
//! constraints, configurations of LibreLane and of OpenROAD-flow-scripts, and IP-XACT.

mod ipxact;
mod streams;

use std::ops::RangeInclusive;

use hdl::emit::{Manifest, ManifestPort};
use hdl::lang::{About, Design, UnresetRegister};
use minijinja::value::Serde;
use serde::Serialize;

use ipxact::Edition;

use super::templates;
use crate::error::Result;

/// Options of a package.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    /// Clock period in ns, one of [`Package::PERIODS`].
    pub period: f64,
}

impl Package {
    /// Clock periods that a package may have, in ns: simulators have picoseconds.
    pub const PERIODS: RangeInclusive<f64> = 0.01..=1e6;
}

/// The share of the period that logic outside the block uses, before its inputs and after its outputs.
const FRACTION: f64 = 0.2;

/// The state of a design at power-up.
pub(super) struct State {
    unreset: Vec<UnresetRegister>,
    foreign: Vec<String>,
}

impl From<&Design> for State {
    fn from(design: &Design) -> Self {
        let foreign = design.foreign_modules().into_iter().map(Into::into).collect();
        Self { unreset: design.unreset_registers(), foreign }
    }
}

/// Names that do not depend on the block, with their templates.
const COMMON: [(&str, &str); 3] = [
    ("Makefile", include_str!("../../../templates/package/Makefile")),
    ("stream_bench.py", include_str!("../../../templates/package/stream_bench.py")),
    ("check_results.py", include_str!("../../../templates/package/check_results.py")),
];

/// The text before and after the name of the top in a file's name, with the file's template.
const NAMED: [(&str, &str, &str); 6] = [
    ("", ".core", include_str!("../../../templates/package/core")),
    ("", ".eda.yml", include_str!("../../../templates/package/eda.yml")),
    ("", ".sdc", include_str!("../../../templates/package/sdc")),
    ("test_", ".py", include_str!("../../../templates/package/test.py")),
    ("", ".librelane.json", include_str!("../../../templates/package/librelane.json")),
    ("", ".orfs.mk", include_str!("../../../templates/package/orfs.mk")),
];

/// The names of the files of a package.
pub(super) fn names(top: &str) -> Vec<String> {
    let named = NAMED.iter().map(|(before, after, _)| format!("{before}{top}{after}"));
    let described = Edition::ALL.map(|edition| format!("{top}{}", edition.ending()));
    named.chain(COMMON.iter().map(|(name, _)| (*name).to_owned())).chain(described).collect()
}

/// Whether a file may be one of a package, by its name.
pub(super) fn is_name(name: &str) -> bool {
    let named = |(before, after, _): &(&str, &str, &str)| name.starts_with(before) && name.ends_with(after);
    let described = Edition::ALL.iter().any(|edition| name.ends_with(edition.ending()));
    COMMON.iter().any(|(common, _)| *common == name) || NAMED.iter().any(named) || described
}

#[derive(Serialize)]
struct Data<'a> {
    generated: String,
    version: &'a str,
    family: &'a str,
    top: &'a str,
    summary: &'a str,
    period: f64,
    fraction: f64,
    clock: Option<&'a str>,
    reset: Option<&'a str>,
    virtual_clock: &'static str,
    verilog: Vec<&'a str>,
    python: Vec<String>,
    sdc: String,
    /// Modules whose Verilog is elsewhere.
    boxes: Vec<&'a str>,
    streams: Vec<StreamData<'a>>,
    /// Ports of no stream: inputs, and whether they are held at zero or random; outputs that are never X, and outputs
    /// that may be X.
    inputs: Vec<PortData<'a>>,
    held: bool,
    known: Vec<&'a str>,
    others: Vec<&'a str>,
    memories: Vec<StateData<'a>>,
    registers: Vec<StateData<'a>>,
    /// Modules whose state is not known.
    foreign: Vec<&'a str>,
    words: u64,
    /// Ports as SDC names them.
    input_ports: Vec<String>,
    output_ports: Vec<String>,
}

#[derive(Serialize)]
struct StreamData<'a> {
    name: &'a str,
    meaning: String,
    valid: &'a str,
    ready: Option<&'a str>,
    into: bool,
    answers: Option<&'a str>,
    data: Vec<&'a str>,
    shared: Vec<&'a str>,
    lanes: Option<u32>,
    below: Vec<Below<'a>>,
}

/// A port whose values are less than a limit.
#[derive(Serialize)]
struct Below<'a> {
    port: &'a str,
    limit: u64,
}

/// The limit of a field that selects one of several, such as `layer` in a block with a parameter `layers`. The field
/// must have just the bits for that number.
fn limit<'a>(manifest: &Manifest, field: &'a ManifestPort) -> Option<Below<'a>> {
    let word = field.name.rsplit('_').nth(1)?;
    let limit = manifest.parameters.get(format!("{word}s"))?.as_u64()?;
    let bits = u64::BITS - limit.checked_sub(1)?.leading_zeros();
    let needed = bits == field.width && field.elements.is_none() && !limit.is_power_of_two();
    needed.then_some(Below { port: &field.name, limit })
}

#[derive(Serialize)]
struct PortData<'a> {
    name: &'a str,
    meaning: String,
}

/// Registers and memories of a module, by name.
#[derive(Serialize)]
struct StateData<'a> {
    module: &'a str,
    names: Vec<&'a str>,
}

/// Memories, or other registers, of each module that has any.
fn states(unreset: &[UnresetRegister], memories: bool) -> Vec<StateData<'_>> {
    let mut states: Vec<StateData> = Vec::new();
    for register in unreset.iter().filter(|r| r.depth.is_some() == memories) {
        match states.last_mut().filter(|s| s.module == register.module) {
            Some(state) => state.names.push(&register.name),
            None => states.push(StateData { module: &register.module, names: vec![&register.name] }),
        }
    }
    states
}

/// Words of all memories: a block that clears them first may take a cycle for each.
fn words(manifest: &Manifest, unreset: &[UnresetRegister]) -> u64 {
    let placed = |module: &str| manifest.modules.iter().find(|m| m.name == module).map_or(0, |m| m.instances);
    unreset
        .iter()
        .map(|r| u64::from(r.depth.unwrap_or(0)).saturating_mul(placed(&r.module)))
        .fold(0, u64::saturating_add)
}

/// A text on one line: it goes into comments.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The files of a package, by name. `verilog` has the names of the file list.
///
/// # Errors
/// A template that does not fit its data: a bug, kept from being a panic.
pub(super) fn files(
    family: &str,
    about: &About,
    manifest: &Manifest,
    verilog: &[&str],
    state: &State,
    package: &Package,
) -> Result<Vec<(String, String)>> {
    let data = data(family, about, manifest, verilog, state, package);
    let bug = templates::bug("packages");
    let mut environment = templates::environment().map_err(&bug)?;
    // A string of JSON is one of YAML and of Python.
    environment.add_filter("quoted", |text: &str| serde_json::Value::from(text).to_string());
    environment.add_filter("python", |value: minijinja::Value| match value.as_str() {
        Some(text) => serde_json::Value::from(text).to_string(),
        None if value.is_none() => "None".to_owned(),
        None => if value.is_true() { "True" } else { "False" }.to_owned(),
    });
    environment.add_filter("tuple", |items: Vec<String>| {
        let items: Vec<_> = items.iter().map(|text| serde_json::Value::from(&text[..]).to_string()).collect();
        format!("({}{})", items.join(", "), if items.len() == 1 { "," } else { "" })
    });
    let templates = NAMED.iter().map(|(_, _, text)| *text).chain(COMMON.iter().map(|(_, text)| *text));
    let fill =
        |(name, template): (String, &str)| Ok((name, environment.render_str(template, Serde(&data)).map_err(&bug)?));
    let mut files = names(&manifest.top).into_iter().zip(templates).map(fill).collect::<Result<Vec<_>>>()?;
    for edition in Edition::ALL {
        let text = ipxact::file(edition, family, about.summary, manifest, verilog);
        files.push((format!("{}{}", manifest.top, edition.ending()), text));
    }
    Ok(files)
}

fn data<'a>(
    family: &'a str,
    about: &'a About,
    manifest: &'a Manifest,
    verilog: &[&'a str],
    state: &'a State,
    package: &Package,
) -> Data<'a> {
    let top = &manifest.top;
    let streams = streams::of(manifest);
    let in_a_stream = |port: &ManifestPort| streams.iter().any(|s| s.ports().any(|p| p.name == port.name));
    let alone =
        |direction: &'static str| manifest.ports.iter().filter(move |p| p.direction == direction && !in_a_stream(p));
    // A register need not be reset when nobody is told that it is valid.
    let (known, others): (Vec<&ManifestPort>, Vec<_>) =
        alone("output").partition(|p| manifest.clock.is_none() || p.name.ends_with("ready_o"));
    let constrained = |direction: &'static str| {
        let ports = manifest.ports.iter().filter(move |p| p.direction == direction);
        ports.map(|p| if p.width == 1 && p.elements.is_none() { p.name.clone() } else { format!("{}[*]", p.name) })
    };
    let stream = |s: &streams::Stream<'a>| {
        let lanes = s.valid.elements;
        let (data, shared): (Vec<&ManifestPort>, Vec<_>) =
            s.data.iter().copied().partition(|p| lanes.is_none() || p.elements == lanes);
        StreamData {
            name: s.name,
            meaning: line(&s.valid.meaning),
            valid: &s.valid.name,
            ready: s.ready.map(|p| &p.name[..]),
            into: s.into,
            answers: s.answers.filter(|_| s.into),
            data: data.iter().map(|p| &p.name[..]).collect(),
            shared: shared.iter().map(|p| &p.name[..]).collect(),
            lanes,
            below: s.data.iter().filter(|_| s.into).filter_map(|p| limit(manifest, p)).collect(),
        }
    };
    let listed = verilog.to_vec();
    let sources = |m: &&hdl::emit::ManifestModule| m.black_box && !listed.contains(&&format!("{}.v", m.name)[..]);
    Data {
        generated: format!("Generated by {}. Do not edit.", manifest.generator),
        version: manifest.generator.rsplit(' ').next().unwrap_or_default(),
        family,
        top,
        summary: about.summary,
        period: package.period,
        fraction: FRACTION,
        clock: manifest.clock.as_deref(),
        reset: manifest.reset.as_deref(),
        virtual_clock: "outside",
        memories: states(&state.unreset, true),
        registers: states(&state.unreset, false),
        foreign: state.foreign.iter().map(|m| &m[..]).collect(),
        words: words(manifest, &state.unreset),
        verilog: listed.clone(),
        python: names(top).into_iter().filter(|name| name.ends_with(".py")).collect(),
        sdc: format!("{top}.sdc"),
        boxes: manifest.modules.iter().filter(sources).map(|m| &m.name[..]).collect(),
        streams: streams.iter().map(stream).collect(),
        inputs: alone("input").map(|p| PortData { name: &p.name, meaning: line(&p.meaning) }).collect(),
        // Without one there is nothing else to vary, and nothing to be out of step with.
        held: streams.iter().any(|s| s.into),
        known: known.iter().map(|p| &p.name[..]).collect(),
        others: others.iter().map(|p| &p.name[..]).collect(),
        input_ports: constrained("input").chain(manifest.reset.clone()).collect(),
        output_ports: constrained("output").collect(),
    }
}
