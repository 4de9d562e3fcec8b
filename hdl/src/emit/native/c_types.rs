//! C types of values, and numbers and bits in them.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::lang::Type;

/// C type of values.
pub(super) fn c_type(ty: Type) -> &'static str {
    match (ty.width <= 32, ty.signed) {
        (true, false) => "u32",
        (true, true) => "i32",
        (false, false) => "u64",
        (false, true) => "i64",
    }
}

/// C type in arrays; of a wide value the type of its words.
pub(super) fn stored_type(ty: Type) -> &'static str {
    match (ty.width, ty.signed) {
        (0..=8, false) => "u8",
        (0..=8, true) => "i8",
        (9..=16, false) => "u16",
        (9..=16, true) => "i16",
        (17..=64, _) => c_type(ty),
        _ => "u64",
    }
}

/// Bytes of a value in arrays, where it is not wide.
pub(super) fn stored_bytes(ty: Type) -> u32 {
    match ty.width {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        _ => 8,
    }
}

pub(super) fn is_wide(ty: Type) -> bool {
    ty.width > 64
}

/// 64-bit words of a value.
pub(super) fn words(ty: Type) -> u32 {
    ty.width.div_ceil(64)
}

/// The lowest `width` bits.
pub(super) fn mask(width: u32) -> String {
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    if width <= 32 { format!("{mask:#x}u") } else { format!("{mask:#x}ull") }
}

pub(super) fn unsigned(ty: Type) -> Type {
    Type { signed: false, ..ty }
}

/// `text`, whose low bits are right, as a value of the type.
pub(super) fn canonical(text: &str, ty: Type) -> String {
    match (ty.signed, ty.width) {
        (false, 32) => format!("(u32)({text})"),
        (false, 64) => format!("(u64)({text})"),
        (false, w) => format!("({})({text}) & {}", c_type(ty), mask(w)),
        (true, w) if w <= 32 => format!("SX32({text}, {w})"),
        (true, w) => format!("SX64({text}, {w})"),
    }
}

/// A number as a C constant of the type.
pub(super) fn constant(value: &BigInt, ty: Type) -> String {
    let bits = unsigned(ty).wrap(value).to_u64().unwrap_or(0);
    if !ty.signed {
        return if ty.width <= 32 { format!("{bits:#x}u") } else { format!("{bits:#x}ull") };
    }
    let value = ty.wrap(value).to_i64().unwrap_or(0);
    match value {
        i64::MIN => "INT64_MIN".into(),
        _ if ty.width <= 32 && value != i64::from(i32::MIN) => format!("({value})"),
        _ if ty.width <= 32 => "INT32_MIN".into(),
        _ => format!("({value}ll)"),
    }
}

/// Words of the widest memory that can be read past its end.
pub(super) const ZERO_WORDS: u32 = 4096;
