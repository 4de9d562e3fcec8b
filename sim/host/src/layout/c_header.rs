//! The table of descriptors as a C header.

use std::fmt::Write;

use super::{Field, header};
use crate::ErrorCode;
use crate::vector::layout as vector;

/// The C header with all descriptors, error codes and flags. It stands alone, in C99 (without its checks) and C11.
#[must_use]
pub fn c_header() -> String {
    let mut text = String::from(
        "/* Descriptors of jobs, as they lie in memory: little endian, at multiples of 64.\n \
         * Made by `cargo run -p host --example c_header`. Do not edit. */\n\
         #ifndef SNBZ_DESCRIPTORS_H\n#define SNBZ_DESCRIPTORS_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n\
         #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n\
         #error \"these structures are little endian\"\n#endif\n\n",
    );
    let mut define = |meaning: &str, name: &str, value: u64| {
        if !meaning.is_empty() {
            let _ = writeln!(text, "/* {meaning} */");
        }
        let _ = writeln!(text, "#define SNBZ_{name} {value:#x}u");
    };
    define("What every descriptor begins with.", "MAGIC", header::MAGIC_VALUE.into());
    define("Version of descriptors.", "DESCRIPTOR_VERSION", header::VERSION_VALUE.into());
    define("The tag is written to memory.", "FLAG_TAG", header::FLAG_TAG.into());
    define("Nothing is read that the descriptor before writes.", "FLAG_INDEPENDENT", header::FLAG_INDEPENDENT.into());
    for code in ErrorCode::ALL {
        define(code.meaning(), &format!("ERROR_{}", code.name()), code.number().into());
    }
    define("Opcode of vector_top.", "VECTOR_OPCODE", vector::OPCODE_VALUE.into());
    for (name, bit, meaning) in vector::STEP_BITS {
        define(meaning, &format!("VECTOR_STEP_{name}"), 1 << bit);
    }
    for (name, kind, meaning) in vector::NORMS {
        define(meaning, &format!("VECTOR_NORM_{name}"), u64::from(*kind) << vector::KIND_BIT);
    }
    for (name, value) in vector::FORMATS {
        define("", &format!("VECTOR_FORMAT_{name}"), u64::from(*value) << vector::FORMAT_BIT);
    }
    let fields: Vec<&Field> = header::FIELDS.iter().chain(vector::FIELDS).collect();
    structure(&mut text, "Descriptor of vector_top.", "snbz_vector_descriptor", &fields, vector::BYTES);
    text += "\n#endif\n";
    text
}

/// A structure without gaps, and the checks that it has none.
fn structure(text: &mut String, meaning: &str, name: &str, fields: &[&Field], bytes: usize) {
    let _ = writeln!(text, "\n/* {meaning} */\nstruct {name} {{");
    for field in fields {
        let _ = writeln!(text, "  /* {} */\n  uint{}_t {};", field.meaning, 8 * field.bytes, field.name);
    }
    *text += "};\n\n#if __STDC_VERSION__ >= 201112L\n";
    for field in fields {
        let (member, offset) = (field.name, field.offset);
        let _ = writeln!(text, "_Static_assert(offsetof(struct {name}, {member}) == {offset}, \"{member}\");");
    }
    let _ = writeln!(text, "_Static_assert(sizeof(struct {name}) == {bytes}, \"{name}\");\n#endif");
}
