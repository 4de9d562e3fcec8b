//! Arithmetic on sizes of operations, which are powers of two apart.

use crate::lang::{Signal, cat, uint};

/// The value in `width` bits: extended, or its low bits.
#[track_caller]
#[must_use]
pub fn fit(value: Signal, width: u32) -> Signal {
    if value.width() > width { value.slice(0..width) } else { value.extend(width) }
}

/// How many groups of `of`, a power of two, a value makes, in `width` bits: rounded up.
#[track_caller]
#[must_use]
pub fn groups(value: Signal, of: u32, width: u32) -> Signal {
    let wide = value.width() + 1;
    fit(value.extend(wide).wrapping_add(of - 1).shr(of.trailing_zeros()), width)
}

/// The next multiple of `of`, a power of two from 2 on, as wide as the value: a carry is lost.
#[track_caller]
#[must_use]
pub fn whole(value: Signal, of: u32) -> Signal {
    let (low, width) = (of.trailing_zeros(), value.width());
    cat(&[value.wrapping_add(of - 1).slice(low..width), uint(low).lit(0)])
}
