//! The files for the software side of a design: C header, Rust constants, table, SystemRDL. All come from the register map
//! and the tables of operations that the hardware was made of.

mod operations;

use hdl::emit::Manifest;
use hdl::lang::registers::{Access, Register, RegisterField};
use minijinja::value::Serde;
use serde::Serialize;

use operations::{OperationData, Shared};

use super::templates;
use crate::error::Result;

/// Templates by the extension of the file they make.
const TEMPLATES: [(&str, &str); 4] = [
    ("h", include_str!("../../templates/host.h")),
    ("rs", include_str!("../../templates/host.rs")),
    ("md", include_str!("../../templates/host.md")),
    ("rdl", include_str!("../../templates/host.rdl")),
];

/// Extensions of the files that a design with registers has beside its manifest.
pub(super) fn extensions() -> impl Iterator<Item = &'static str> {
    TEMPLATES.iter().map(|(extension, _)| *extension)
}

#[derive(Serialize)]
struct Data<'a> {
    generator: &'a str,
    top: &'a str,
    block: &'a str,
    prefix: String,
    guard: String,
    registers: Vec<RegisterData<'a>>,
    legend: String,
    operations: Vec<OperationData>,
    shared: Shared,
}

#[derive(Serialize)]
struct RegisterData<'a> {
    name: &'a str,
    offset: u32,
    meaning: &'a str,
    words: u32,
    fields: Vec<FieldData<'a>>,
}

#[derive(Serialize)]
struct FieldData<'a> {
    name: &'a str,
    upper: String,
    low: u32,
    high: u32,
    width: u32,
    bits: String,
    meaning: &'a str,
    /// How a host uses it, in words and in two letters.
    r#use: &'static str,
    short: &'static str,
    rdl: &'static str,
    /// The field is not the whole register: it has a name of its own.
    named: bool,
    mask: u64,
    reset: Option<u64>,
    /// The value that it always reads as, or holds after reset.
    value: Option<u64>,
    value_name: &'static str,
    value_doc: &'static str,
}

/// The words for an access: for a C programmer, in a table, in SystemRDL.
fn words(access: Access) -> (&'static str, &'static str, &'static str) {
    match access {
        Access::Constant(_) => (" Constant.", "RC", "sw = r; hw = na;"),
        Access::ReadWrite(_) => ("", "RW", "sw = rw; hw = r;"),
        Access::ReadOnly => (" Read only.", "RO", "sw = r; hw = w;"),
        Access::Sticky => (" Write 1 to clear.", "W1C", "sw = rw; onwrite = woclr; hw = w; hwset;"),
        Access::Pulse => (" Write 1; reads as 0.", "WP", "sw = w; hw = r; singlepulse;"),
        Access::Command => (" Write 1; reads as 1 until it is done.", "WC", "sw = rw; hw = rw; swmod;"),
    }
}

const LEGEND: [(&str, &str); 6] = [
    ("RC", "constant"),
    ("RW", "read and write"),
    ("RO", "read only"),
    ("W1C", "set by the hardware, cleared by writing 1"),
    ("WP", "writing 1 is a pulse, reads as 0"),
    ("WC", "writing 1 is a command, reads as 1 until it is done"),
];

fn field<'a>(register: &Register, f: &'a RegisterField) -> FieldData<'a> {
    let (r#use, short, rdl) = words(f.access);
    let high = f.low + f.width - 1;
    let ones = u64::MAX >> (64 - f.width);
    let (reset, value, value_name, value_doc) = match f.access {
        Access::Constant(value) => (Some(value), Some(value), "VALUE", "What it reads as."),
        Access::ReadWrite(value) => (Some(value), (value != 0).then_some(value), "RESET", "Its value after reset."),
        Access::Sticky | Access::Pulse | Access::Command => (Some(0), None, "", ""),
        _ => (None, None, "", ""),
    };
    FieldData {
        name: &f.name,
        upper: f.name.to_uppercase(),
        low: f.low,
        high,
        width: f.width,
        bits: if f.width == 1 { f.low.to_string() } else { format!("{high}:{}", f.low) },
        meaning: &f.meaning,
        r#use,
        short,
        rdl,
        named: register.words() == 1 && (f.width < 32 || register.fields.len() > 1),
        mask: ones << f.low,
        reset,
        value,
        value_name,
        value_doc,
    }
}

/// The files of a design, extension and text; none when it has no registers.
///
/// # Errors
/// A template that does not fit its data: a bug, kept from being a panic.
pub(crate) fn files(manifest: &Manifest) -> Result<Vec<(&'static str, String)>> {
    let Some(map) = &manifest.registers else { return Ok(Vec::new()) };
    let mut sorted: Vec<&Register> = map.registers.iter().collect();
    sorted.sort_by_key(|r| r.offset);
    let registers: Vec<_> = sorted
        .into_iter()
        .map(|r| RegisterData {
            name: &r.name,
            offset: r.offset,
            meaning: &r.meaning,
            words: r.words(),
            fields: r.fields.iter().map(|f| field(r, f)).collect(),
        })
        .collect();
    let used = |short: &str| registers.iter().flat_map(|r| &r.fields).any(|f| f.short == short);
    let legend = LEGEND.iter().filter(|(short, _)| used(short)).map(|(short, meaning)| format!("{short}: {meaning}"));
    let prefix = manifest.block.to_uppercase();
    let data = Data {
        generator: &manifest.generator,
        top: &manifest.top,
        block: &manifest.block,
        guard: format!("{prefix}_REGISTERS_H"),
        prefix,
        legend: legend.collect::<Vec<_>>().join(", ") + ".",
        registers,
        operations: manifest.operations.iter().map(OperationData::from).collect(),
        shared: Shared::default(),
    };
    let bug = templates::bug("the software side");
    let mut environment = templates::environment().map_err(&bug)?;
    environment.add_filter("hex", |value: u64, digits: usize| format!("{value:0digits$x}"));
    environment.add_filter("rdl", |text: &str| text.replace('\\', "\\\\").replace('"', "\\\""));
    let fill = |(extension, template): (&'static str, &str)| {
        let text = environment.render_str(template, Serde(&data));
        Ok((extension, text.map_err(&bug)?))
    };
    TEMPLATES.into_iter().map(fill).collect()
}
