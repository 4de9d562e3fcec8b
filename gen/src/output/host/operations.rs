//! Tables of operations as the templates need them.

use hdl::blocks::common::shell::job_error;
use hdl::lang::operation::{self, Condition, HEADER, HEADER_BYTES, HeaderMember, Member, Opcode, OperationField};
use serde::Serialize;

/// What all descriptors have in common.
#[derive(Serialize)]
pub(super) struct Shared {
    magic: u32,
    version: u32,
    flags: &'static [(&'static str, u32, &'static str)],
    errors: &'static [(&'static str, u32, &'static str)],
    header: &'static [HeaderMember],
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            magic: operation::MAGIC,
            version: operation::VERSION,
            flags: operation::FLAGS,
            errors: job_error::ALL,
            header: HEADER,
        }
    }
}

/// An operation.
#[derive(Serialize)]
pub(super) struct OperationData {
    name: String,
    upper: String,
    number: u32,
    meaning: String,
    bytes: u32,
    members: Vec<MemberData>,
    fields: Vec<FieldData>,
}

/// A member of its structure in C.
#[derive(Serialize)]
struct MemberData {
    name: String,
    byte: u32,
    /// How C declares it: type, and what follows the name.
    c_type: String,
    c_count: String,
    meaning: String,
}

/// A field.
#[derive(Serialize)]
struct FieldData {
    name: String,
    upper: String,
    byte: u32,
    low: u32,
    width: u32,
    /// Its bits in the member, where it shares one.
    bits: String,
    /// The member that it shares with others, in upper case.
    shared: Option<String>,
    mask: u64,
    meaning: String,
    /// Right values in words; empty for any.
    values: String,
    /// When it means something in words; empty for always.
    when: String,
    /// The same in Rust.
    when_rust: String,
}

impl From<&Opcode> for OperationData {
    fn from(operation: &Opcode) -> Self {
        let layout = &operation.layout;
        let (mut members, mut at) = (Vec::new(), HEADER_BYTES);
        let gap = |members: &mut Vec<MemberData>, from: u32, to: u32| {
            if from < to {
                members.push(MemberData {
                    name: format!("reserved_{from}"),
                    byte: from,
                    c_type: "uint8_t".into(),
                    c_count: format!("[{}]", to - from),
                    meaning: "0.".into(),
                });
            }
        };
        for Member { name, byte, bytes, meaning } in &layout.members {
            gap(&mut members, at, *byte);
            members.push(MemberData {
                name: name.clone(),
                byte: *byte,
                c_type: format!("uint{}_t", 8 * bytes),
                c_count: String::new(),
                meaning: meaning.clone(),
            });
            at = byte + bytes;
        }
        gap(&mut members, at, layout.bytes);
        let fields = layout.fields.iter().map(|field| {
            let member = layout.members.iter().find(|member| member.byte == field.byte);
            field_data(field, member.filter(|member| member.name != field.name))
        });
        Self {
            name: operation.name.clone(),
            upper: operation.name.to_uppercase(),
            number: operation.number,
            meaning: layout.meaning.clone(),
            bytes: layout.bytes,
            fields: fields.collect(),
            members,
        }
    }
}

fn field_data(field: &OperationField, shared: Option<&Member>) -> FieldData {
    let OperationField { name, byte, low, width, values, when, meaning } = field;
    let high = low + width - 1;
    let always = *when == Condition::Always;
    FieldData {
        name: name.clone(),
        upper: name.to_uppercase(),
        byte: *byte,
        low: *low,
        width: *width,
        bits: if *width == 1 { low.to_string() } else { format!("{high}:{low}") },
        shared: shared.map(|member| member.name.to_uppercase()),
        mask: (u64::MAX >> (64 - width)) << low,
        meaning: meaning.clone(),
        values: values.range().map_or_else(String::new, |(least, most)| format!("{least} to {most}")),
        when: if always { String::new() } else { when.to_string() },
        when_rust: rust(when),
    }
}

/// A condition as a constant of `senbazuru_host::layout::Condition`.
fn rust(condition: &Condition) -> String {
    let both = |name: &str, a: &Condition, b: &Condition| format!("Condition::{name}(&{}, &{})", rust(a), rust(b));
    match condition {
        Condition::Always => "Condition::Always".into(),
        Condition::Built(part, _) => format!("Condition::Built(\"{part}\")"),
        Condition::Set(field) => format!("Condition::Set(\"{field}\")"),
        Condition::Is(field, value) => format!("Condition::Is(\"{field}\", {value})"),
        Condition::Opcode(number) => format!("Condition::Opcode({number})"),
        Condition::Not(inner) => format!("Condition::Not(&{})", rust(inner)),
        Condition::And(a, b) => both("And", a, b),
        Condition::Or(a, b) => both("Or", a, b),
    }
}
