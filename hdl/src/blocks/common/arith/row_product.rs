//! Signed multipliers as sums of rows, the last of which is subtracted.
//!
//! `*` of signed operands becomes rows that are extended to the width of the product. Here no sum of rows is wider than
//! it needs to be. Bits of the lower row below the upper row bypass the adder. Costs: docs/blocks/tender.md.

use crate::lang::{Module, Signal, bit, cat};

/// The factor whose bits choose rows: bits from the lowest on, and the digit above them.
#[derive(Clone, Debug)]
pub struct RowFactor {
    /// Bits that add a row each.
    pub bits: Vec<Signal>,
    /// The digit above them is 1; `None` if it never is.
    pub positive: Option<Signal>,
    /// The digit above them is -1; not together with `positive`.
    pub negative: Signal,
}

impl RowFactor {
    /// A signed number.
    #[must_use]
    pub fn signed(value: Signal) -> Self {
        let top = value.width() - 1;
        Self { bits: (0..top).map(|i| value.bit(i)).collect(), positive: None, negative: value.bit(top) }
    }

    /// A signed or an unsigned number with one more bit, its sign or 0. So its sign is set only if the bit below is
    /// set. The two bits together are one digit, which saves a row. Synthesis cannot know that.
    #[must_use]
    pub fn extended(value: Signal) -> Self {
        let top = value.width() - 2;
        let negative = value.bit(top + 1);
        let positive = Some(value.bit(top) & !negative);
        Self { bits: (0..top).map(|i| value.bit(i)).collect(), positive, negative }
    }
}

/// A signed number, shifted by some places.
#[derive(Clone, Copy)]
struct Row {
    value: Signal,
    places: u32,
}

/// `factor` x `other`, exact, `width` bits of it. Rows are added by pairs (fewest levels), or one after the other
/// (fewest gates, and the deeper the more rows there are).
#[track_caller]
pub fn row_product(m: &mut Module, factor: &RowFactor, other: Signal, width: u32, by_pairs: bool) -> Signal {
    let chosen = |choice: Signal| choice.repeat(other.width()).as_sint();
    let mut rows = Vec::new();
    for (i, &choice) in (0u32..).zip(&factor.bits) {
        rows.push(Row { value: m.wire(&format!("row_{i}"), other & chosen(choice)), places: i });
    }
    let top = factor.bits.len() as u32;
    // A negation is an inversion and 1.
    let inverted = !other & chosen(factor.negative);
    let row = factor.positive.map_or(inverted, |positive| (other & chosen(positive)) | inverted);
    rows.push(Row { value: m.wire(&format!("row_{top}"), row), places: top });
    let mut sums = 0;
    while rows.len() > 1 {
        let mut above = Vec::new();
        let pairs = if by_pairs { rows.len() } else { 2 };
        for pair in rows[..pairs].chunks(2) {
            let &[low, high] = pair else {
                above.extend(pair);
                continue;
            };
            sums += 1;
            let carry = (high.places == top).then_some(factor.negative);
            above.push(add(m, &format!("rows_{sums}"), low, high, carry));
        }
        above.extend(&rows[pairs..]);
        rows = above;
    }
    m.wire("product", rows[0].value.truncate(width))
}

/// low + high, `high` some places further up: the bits of `low` below `high` are also the low bits of the sum.
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
