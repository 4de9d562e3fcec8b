//! Numbers in words of another width.

use crate::lang::Signal;

/// The same value with `width` bits, where it fits.
#[track_caller]
pub(super) fn resize(value: Signal, width: u32) -> Signal {
    if value.width() < width { value.extend(width) } else { value.truncate(width) }
}
