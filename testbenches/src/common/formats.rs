//! The golden models' names of formats that a block's parameters name. Every format has one; there is no fallback.

use golden::common::float::{Float, Subnormals};
use golden::format::{FloatFormat, Format};
use golden::kllm::orizuru::NanPolicy;
use hdl::blocks::common as blocks;

/// A floating-point format.
#[must_use]
pub fn float_format(format: blocks::FloatFormat) -> FloatFormat {
    match format {
        blocks::FloatFormat::Fp16 => FloatFormat::Fp16,
        blocks::FloatFormat::Bf16 => FloatFormat::Bf16,
        blocks::FloatFormat::Fp32 => FloatFormat::Fp32,
        blocks::FloatFormat::E5m2 => FloatFormat::E5m2,
        blocks::FloatFormat::E3m2 => FloatFormat::E3m2,
    }
}

/// A format of integers or floats.
#[must_use]
pub fn number_format(format: blocks::NumberFormat) -> Format {
    match format {
        blocks::NumberFormat::Float(format) => Format::Float(float_format(format)),
        blocks::NumberFormat::Int { bits } => Format::Int { bits },
        blocks::NumberFormat::Uint { bits } => Format::Uint { bits },
    }
}

/// The treatment of subnormal numbers.
#[must_use]
pub fn subnormals(subnormals: blocks::Subnormals) -> Subnormals {
    match subnormals {
        blocks::Subnormals::Ieee => Subnormals::Ieee,
        blocks::Subnormals::Flush => Subnormals::Flush,
    }
}

/// The arithmetic of a unit.
#[must_use]
pub fn float(format: blocks::FloatFormat, subnormal: blocks::Subnormals) -> Float {
    Float { format: float_format(format), subnormals: subnormals(subnormal) }
}

/// The treatment of NaNs where values are picked.
#[must_use]
pub fn nan_policy(policy: blocks::NanPolicy) -> NanPolicy {
    match policy {
        blocks::NanPolicy::TotalOrder => NanPolicy::TotalOrder,
        blocks::NanPolicy::NeverSelected => NanPolicy::NeverSelected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both sides were written apart; their text forms and widths must agree.
    #[test]
    fn formats_are_what_they_are_called() {
        use blocks::FloatFormat::{Bf16, E3m2, E5m2, Fp16, Fp32};
        for format in [Fp16, Bf16, Fp32, E5m2, E3m2] {
            let golden = float_format(format);
            assert_eq!((golden.name(), golden.width()), (format.name(), format.width()));
            assert_eq!(golden.fraction_bits(), format.fraction_bits(), "{golden}");
        }
        for text in ["fp16", "bf16", "fp32", "e5m2", "e3m2", "int2", "int32", "uint1", "uint12"] {
            let format: blocks::NumberFormat = text.parse().unwrap();
            let golden = number_format(format);
            assert_eq!((golden.to_string().as_str(), golden.width()), (text, format.width()));
        }
    }
}
