//! The table of descriptors as a C header.

use std::fmt::Write;

use super::{Field, Operation, header};
use crate::ErrorCode;
use crate::kelle::layout as kelle;
use crate::kllm::layout as kllm;
use crate::tender::layout as tender;
use crate::titanus::layout as titanus;
use crate::vector::layout as vector;

/// An accelerator that has steps on rows among other operations.
struct Accelerator {
    /// Its top, and the prefix of its names.
    top: &'static str,
    prefix: &'static str,
    operations: &'static [Operation],
    /// Opcodes of descriptors that are described elsewhere.
    more: &'static [(&'static str, u8, &'static str)],
    options: &'static [(&'static str, u32, &'static str)],
    /// Values of a field.
    values: &'static [(&'static str, u32, &'static str)],
}

const ROWS: &str = "Steps on rows: struct snbz_vector_descriptor with this opcode.";

const ACCELERATORS: [Accelerator; 4] = [
    Accelerator {
        top: "tender_top",
        prefix: "tender",
        operations: tender::OPERATIONS,
        more: &[("VECTOR", tender::VECTOR_VALUE, ROWS)],
        options: tender::OPTION_BITS,
        values: &[],
    },
    Accelerator {
        top: "kllm_top",
        prefix: "kllm",
        operations: kllm::OPERATIONS,
        more: &[
            ("VECTOR", kllm::VECTOR_VALUE, ROWS),
            ("SCORES", kllm::SCORES_VALUE, "Integers of 8 bits times weights: struct snbz_kllm_matmul_descriptor."),
        ],
        options: kllm::OPTION_BITS,
        values: &[],
    },
    Accelerator {
        top: "titanus_core",
        prefix: "titanus",
        operations: titanus::OPERATIONS,
        more: &[("VECTOR", titanus::VECTOR_VALUE, ROWS)],
        options: titanus::OPTION_BITS,
        values: &[
            ("MATRIX_STORE", titanus::STORE, "A product with weights."),
            ("MATRIX_KEYS", titanus::KEYS, "A product with keys of the context."),
            ("MATRIX_VALUES", titanus::VALUES, "A product with values of the context."),
        ],
    },
    Accelerator {
        top: "kelle_top",
        prefix: "kelle",
        operations: kelle::OPERATIONS,
        more: &[("VECTOR", kelle::VECTOR_VALUE, ROWS)],
        options: kelle::OPTION_BITS,
        values: &[],
    },
];

/// The C header with all descriptors, error codes and flags. It stands alone, in C99 (without its checks) and C11.
#[must_use]
pub fn c_header() -> String {
    let mut text = String::from(
        "/* Descriptors of jobs, as they lie in memory: little endian, at multiples of 64.\n \
         * Made by `cargo run -p senbazuru-host --example c_header`. Do not edit. */\n\
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
    define("The first 4 bytes of every descriptor.", "MAGIC", header::MAGIC_VALUE.into());
    define("Version of descriptors.", "DESCRIPTOR_VERSION", header::VERSION_VALUE.into());
    define("The tag is written to memory.", "FLAG_TAG", header::FLAG_TAG.into());
    define(
        "The operation reads nothing that the operation before it writes.",
        "FLAG_INDEPENDENT",
        header::FLAG_INDEPENDENT.into(),
    );
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
    for accelerator in &ACCELERATORS {
        let (top, prefix) = (accelerator.top, accelerator.prefix.to_uppercase());
        let own = accelerator.operations.iter().map(|o| (o.name.to_uppercase(), o.opcode, o.meaning));
        let more = accelerator.more.iter().map(|&(name, opcode, meaning)| (name.to_owned(), opcode, meaning));
        for (name, opcode, meaning) in own.chain(more) {
            define(&format!("Opcode of {top}. {meaning}"), &format!("{prefix}_OPCODE_{name}"), opcode.into());
        }
        for (name, bit, meaning) in accelerator.options {
            define(meaning, &format!("{prefix}_OPTION_{name}"), 1 << bit);
        }
        for (name, value, meaning) in accelerator.values {
            define(meaning, &format!("{prefix}_{name}"), (*value).into());
        }
    }
    let mut descriptor = |meaning: &str, name: &str, fields: &[Field]| {
        let fields: Vec<&Field> = header::FIELDS.iter().chain(fields).collect();
        structure(&mut text, meaning, &format!("snbz_{name}_descriptor"), &fields, vector::BYTES);
    };
    descriptor("Descriptor of vector_top, and of steps on rows in the other accelerators.", "vector", vector::FIELDS);
    for accelerator in &ACCELERATORS {
        for operation in accelerator.operations {
            let meaning = format!("Descriptor of {}. {}", accelerator.top, operation.meaning);
            descriptor(&meaning, &format!("{}_{}", accelerator.prefix, operation.name), operation.fields);
        }
    }
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
