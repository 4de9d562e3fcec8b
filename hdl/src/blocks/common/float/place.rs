//! Products and factors of known size, shifted to the place where they are rounded. One place below the last one is
//! kept. Lower bits do not matter: these values are never exact.

use super::format::FloatFormat;
use super::ranks::Ranks;
use crate::lang::{Module, Signal, bits_for, mux, uint};

/// A result before rounding.
pub(super) struct Placed {
    /// Exponent field and one bit more; 0 below the smallest normal number.
    pub exponent: Signal,
    pub fraction: Signal,
    /// The place below.
    pub half: Signal,
}

/// A number from 1/4 to 2, less if it is subnormal. Its bit of weight 1 is the top of `word`; the exponent field that
/// belongs to this bit is the two's complement `exponent`. There are two places for registers.
pub(super) fn place(m: &mut Module, pipe: &mut Ranks, word: Signal, exponent: Signal, format: FloatFormat) -> Placed {
    let (e, f) = (format.exponent_bits(), format.fraction_bits());
    m.comment("One place up where it is less than a half.");
    let (width, wide) = (word.width(), exponent.width());
    let low = m.wire("low_half", !word.slice(width - 2..width).any());
    let word = m.wire("upper", mux(low, word.slice(0..width - 1).shl(1), word));
    let kept = f + 3;
    let mut top = m.wire("top_places", word.slice(width - kept..width));
    m.unused(word);
    let spare = exponent.wrapping_add(mux(low, uint(wide).lit((1u64 << wide) - 3), uint(wide).lit((1u64 << wide) - 2)));
    let spare = m.wire("spare", spare);
    let below = m.wire("below_normal", spare.msb());
    let mut base = m.wire("base_exponent", (spare & !below.repeat(wide)).slice(0..e + 1));
    let distance = m.wire("distance_below", uint(wide).lit(0).wrapping_sub(spare));
    let steps = bits_for(u64::from(kept)).min(wide - 1);
    let far = m.wire("far", distance.slice(steps..wide).any());
    let amount = (distance.slice(0..steps) | far.repeat(steps)) & below.repeat(steps);
    let mut amount = m.wire("amount", amount);
    pipe.cut(m, [("top", &mut top), ("amount", &mut amount), ("exponent", &mut base)]);

    m.comment("Into place: 2.x, 1.x or less at the top, and a guard bit.");
    let mut placed = m.wire("placed", top.shr_by(amount));
    pipe.cut(m, [("placed", &mut placed), ("exponent", &mut base)]);

    let two = placed.msb();
    let significand = m.wire("significand", mux(two, placed.slice(1..kept), placed.slice(0..kept - 1)));
    let raised = mux(two, base.wrapping_add(2), base.wrapping_add(1));
    Placed {
        exponent: m.wire("exponent", raised & significand.msb().repeat(e + 1)),
        fraction: significand.slice(1..f + 1),
        half: significand.bit(0),
    }
}
