//! Integer to floating point.
//!
//! A negative integer is complemented, not negated: the missing unit is added while rounding, where it costs nothing.
//! No integer is subnormal, so there is no parameter for these.

use serde::{Deserialize, Serialize};

use super::format::{FloatFormat, Subnormals};
use super::pipeline::Pipeline;
use super::round::{Unrounded, connect_option, round};
use super::shift::normalise;
use crate::lang::{
    About, Block, CatalogBlock, In, Module, OldParameter, Out, OutOption, ParamError, Type, bit, bits_for, cat,
    ensure_param, old_parameters, ports, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloatFromInt {
    /// Format of the result.
    pub format: FloatFormat,
    /// Width of the integer in bits.
    pub width: u32,
    /// The integer is two's complement; otherwise unsigned.
    pub signed: bool,
    /// Ranks of registers inside; 0 is combinational.
    pub stages: u32,
    /// Outputs for IEEE 754's exceptions.
    pub flags: bool,
}

ports! {
    /// Ports of [`FloatFromInt`].
    pub struct FloatFromIntPorts(p: &FloatFromInt) {
        /// The operands are to be used.
        valid_i: In = bit(),
        /// The integer.
        a_i: In = Type { width: p.width, signed: p.signed },
        /// The result is that of the operands `stages` cycles ago.
        valid_o: Out = bit(),
        /// The float nearest to it.
        result_o: Out = p.format.ty(),
        /// The integer was too large and the result is an infinity; present where that can happen.
        overflow_o: OutOption = bit().when(p.can_overflow()),
        /// The result is rounded, with `flags`.
        inexact_o: OutOption = bit().when(p.flags),
    }
}

impl FloatFromInt {
    /// Whether there are integers of this width that give an infinity.
    #[must_use]
    pub fn can_overflow(&self) -> bool {
        // The first integer that does is half a unit in the last place below 2^(bias + 1). Integers reach up to
        // 2^magnitude - 1, the most negative one to -2^magnitude.
        let magnitude = self.width - u32::from(self.signed);
        magnitude > self.format.bias()
            && (magnitude > self.format.bias() + 1 || magnitude >= self.format.fraction_bits() + 2 || self.signed)
    }
}

/// Levels of the parts between the places where registers may stand, about: normalise, round.
const DEPTHS: &[u32] = &[26, 18];

old_parameters!(FloatFromInt);

impl Block for FloatFromInt {
    type Ports = FloatFromIntPorts;
    const ABOUT: About = About {
        name: "float_from_int",
        summary: "integer to floating point",
        contract: "result_o = a_i of `stages` cycles ago, rounded to nearest, ties to even. An integer that is too large gives an\n\
            infinity and raises overflow_o. valid_o is valid_i of `stages` cycles ago.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn module_name(&self) -> String {
        let kind = if self.signed { "int" } else { "uint" };
        let flags = if self.flags { "_flags" } else { "" };
        format!("float_from_int_{}_{kind}{}_s{}{flags}", self.format.name(), self.width, self.stages)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("width", self.width, 1 + u32::from(self.signed)..=64)?;
        ensure_param("stages", self.stages, 0..=DEPTHS.len() as u32 - 1)
    }

    fn build(&self, m: &mut Module, io: &FloatFromIntPorts) {
        let format = self.format;
        let (e, f) = (format.exponent_bits(), format.fraction_bits());
        let mut pipe = Pipeline::new(io.valid_i, self.stages, DEPTHS);
        let negative = if self.signed { m.wire("negative", io.a_i.msb()) } else { bit().lit(0) };
        let sign = self.signed.then(|| pipe.carry("sign", negative));

        m.comment("The magnitude, or one less where the integer is negative; the same at the top of a wider word.");
        let bits = io.a_i.as_uint();
        let magnitude = if self.signed { bits ^ negative.repeat(self.width) } else { bits };
        let padding = (f + 2).saturating_sub(self.width);
        let padded = if padding > 0 { cat(&[magnitude, negative.repeat(padding)]) } else { magnitude };
        let padded = m.wire("magnitude", padded);
        let mut normal = normalise(m, "normal", padded, None, f + 2, negative);
        if self.signed {
            normal.name(m);
        }
        let top = format.bias() + self.width - 1;
        let width = e.max(bits_for(u64::from(top)));
        let mut exponent = m.wire("exponent", uint(width).lit(top).wrapping_sub(normal.count));
        let mut data = vec![("significand", &mut normal.value), ("exponent", &mut exponent)];
        if padded.width() > f + 2 {
            data.push(("any_below", &mut normal.any_below));
            if self.signed {
                data.push(("all_below", &mut normal.all_below));
            }
        }
        pipe.cut(m, &mut data);

        m.comment("Rounded.");
        let negative = sign.map_or(bit().lit(0), |sign| pipe.now(sign));
        let (up, inexact) = if self.signed {
            normal.rounding_plus(m, negative, bit().lit(0))
        } else {
            let guard = normal.value.bit(0);
            let sticky = m.wire("sticky", normal.any_below);
            (m.wire("up", guard & (normal.value.bit(1) | sticky)), guard | sticky)
        };
        let unrounded = Unrounded {
            sign: negative,
            exponent: exponent & normal.value.msb().repeat(width),
            fraction: normal.value.slice(1..f + 1),
            up,
            inexact,
            special: bit().lit(0),
            nan: bit().lit(0),
            bounded: !self.can_overflow(),
        };
        let result = round(m, &unrounded, format, Subnormals::Ieee);
        m.connect(io.result_o, result.bits);
        m.connect(io.valid_o, pipe.valid());
        connect_option(m, io.overflow_o, result.overflow);
        connect_option(m, io.inexact_o, result.inexact);
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("result".into(), self.stages.into())]
    }
}

impl Default for FloatFromInt {
    fn default() -> Self {
        Self { format: FloatFormat::Fp16, width: 32, signed: true, stages: 0, flags: false }
    }
}

impl CatalogBlock for FloatFromInt {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "format", allowed: FloatFormat::ALLOWED, meaning: "format of the result" },
        OldParameter { name: "width", allowed: "1 to 64, 2 to 64 if signed", meaning: "width of the integer, bits" },
        OldParameter { name: "signed", allowed: "true, false", meaning: "two's complement, or unsigned" },
        OldParameter { name: "stages", allowed: "0 or 1", meaning: "ranks of registers inside, the latency in cycles" },
        OldParameter {
            name: "flags",
            allowed: "true, false",
            meaning: "an output that says that the result is rounded",
        },
    ];

    fn configurations() -> Vec<Self> {
        let set = |format, width, signed, stages| Self { format, width, signed, stages, flags: true };
        vec![
            set(FloatFormat::Fp16, 1, false, 0),
            set(FloatFormat::E3m2, 2, true, 1),
            set(FloatFormat::Fp16, 16, true, 0),
            set(FloatFormat::Fp16, 17, false, 1),
            set(FloatFormat::Fp16, 18, true, 0),
            set(FloatFormat::Bf16, 24, true, 1),
            set(FloatFormat::Fp32, 64, false, 0),
        ]
    }
}
