//! The multiplier: a row for each bit of the activation, the highest one added or subtracted.
//!
//! An extended operand of b + 1 bits is a signed or an unsigned number of b bits, so its sign is set only if the bit
//! below is: the two together are a digit of weight 2^(b-1) that is -1, 0 or 1. That makes b rows of the b + 1 rows that
//! a multiplier of b + 1 bits adds, and no row has to be extended beyond its own sum. Synthesis cannot know that.

use super::{Multiplier, TenderPe};
use crate::lang::{Module, Signal, bit, cat};

/// A signed number, shifted by some places.
#[derive(Clone, Copy)]
struct Row {
    value: Signal,
    places: u32,
}

impl TenderPe {
    /// act x weight, exact; `act` must be an extended operand.
    pub(super) fn product(&self, m: &mut Module, act: Signal, weight: Signal) -> Signal {
        let (top, width) = (self.operand_width - 1, self.operand_width + 1);
        let negative = act.msb();
        m.comment("The two highest bits of an operand are one digit: -1, 0 or 1.");
        let mut rows = Vec::new();
        for i in 0..top {
            let row = weight & act.bit(i).repeat(width).as_sint();
            rows.push(Row { value: m.wire(&format!("row_{i}"), row), places: i });
        }
        let digit = (weight ^ negative.repeat(width).as_sint()) & act.bit(top).repeat(width).as_sint();
        rows.push(Row { value: m.wire(&format!("row_{top}"), digit), places: top });
        let mut sums = 0;
        while rows.len() > 1 {
            let mut above = Vec::new();
            for pair in rows.chunks(2) {
                let &[low, high] = pair else {
                    above.extend(pair);
                    continue;
                };
                sums += 1;
                // What makes a negation of the inverted highest row.
                let carry = (high.places == top).then_some(negative);
                above.push(add(m, &format!("rows_{sums}"), low, high, carry));
                if self.multiplier == Multiplier::Array {
                    above.extend(&rows[2..]);
                    break;
                }
            }
            rows = above;
        }
        m.wire("product", rows[0].value.truncate(2 * self.operand_width + 1))
    }
}

/// low + high, `high` some places further up: the bits of `low` below them are those of the sum.
fn add(m: &mut Module, name: &str, low: Row, high: Row, carry: Option<Signal>) -> Row {
    let places = high.places - low.places;
    let (value, below) = (low.value, low.value.slice(0..places));
    let upper = value.slice(places..value.width()).as_sint();
    let width = upper.width().max(high.value.width()) + 1;
    let mut sum = upper.extend(width).wrapping_add(high.value.extend(width));
    if let Some(carry) = carry {
        sum = sum.wrapping_add(cat(&[bit().lit(0), carry]).as_sint().extend(width));
    }
    let upper = m.wire(&format!("{name}_upper"), sum);
    Row { value: m.wire(name, cat(&[upper, below]).as_sint()), places: low.places }
}
