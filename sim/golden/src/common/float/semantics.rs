//! The formats as `rustc_apfloat` describes them.

use rustc_apfloat::ieee::Semantics;

/// `rustc_apfloat`'s description of [`FloatFormat::E3m2`].
pub(super) struct E3m2S;

impl Semantics for E3m2S {
    const BITS: usize = 6;
    const EXP_BITS: usize = 3;
}

/// Runs `$body` with `$s` the semantics of `$format`.
macro_rules! with_semantics {
    ($format:expr, $s:ident => $body:expr) => {
        match $format {
            $crate::common::float::FloatFormat::Fp16 => {
                type $s = rustc_apfloat::ieee::HalfS;
                $body
            }
            $crate::common::float::FloatFormat::Bf16 => {
                type $s = rustc_apfloat::ieee::BFloatS;
                $body
            }
            $crate::common::float::FloatFormat::Fp32 => {
                type $s = rustc_apfloat::ieee::SingleS;
                $body
            }
            $crate::common::float::FloatFormat::E5m2 => {
                type $s = rustc_apfloat::ieee::Float8E5M2S;
                $body
            }
            $crate::common::float::FloatFormat::E3m2 => {
                type $s = $crate::common::float::semantics::E3m2S;
                $body
            }
        }
    };
}

pub(super) use with_semantics;
