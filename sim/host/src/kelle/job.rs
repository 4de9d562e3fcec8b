//! Builders of jobs, with a method for each choice. A value that no field can hold cannot be expressed.

use super::operations::{attention, clear, linear, recompute, refresh, restore, save};
use std::ops::RangeInclusive;

use super::Caps;
use super::check::operands;
use crate::vector::Operand;
use crate::{Descriptor, ErrorCode, Refusal, Window};

/// The state of the accelerator that a head is.
fn of_head(head: u32) -> RangeInclusive<u64> {
    u64::from(head)..=u64::from(head)
}

/// A product of rows of fp16 and 8-bit weights: what is multiplied, and where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// Rows.
    pub rows: u32,
    /// Columns: results of a row.
    pub columns: u32,
    /// Channels: elements of a row.
    pub channels: u32,
    /// Where the rows are.
    pub x: Operand,
    /// The integer of an element is the one nearest to it times this factor.
    pub quantizer: f32,
    /// Where the weights are, as [`Panels`](super::Panels) make them.
    pub panels: Operand,
    /// Address of scale and bias of each column.
    pub constants: u64,
    /// Where the results go.
    pub out: Operand,
}

/// Rows of fp16 times a matrix of 8-bit weights.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearJob {
    product: Linear,
    exact: bool,
}

impl LinearJob {
    /// An element that saturates or is NaN is no error.
    #[must_use]
    pub fn new(product: Linear) -> Self {
        Self { product, exact: false }
    }

    /// An element that saturates or is NaN is an error, and so is a result that is infinite or NaN.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        use linear as f;
        let Linear { rows, columns, channels, x, quantizer, panels, constants, out } = self.product;
        let fields = [
            (f::ROWS, rows.into()),
            (f::COLUMNS, columns.into()),
            (f::CHANNELS, channels.into()),
            (f::EXACT, self.exact.into()),
            (f::QUANTIZER, quantizer.to_bits().into()),
            (f::X_STRIDE, x.stride.into()),
            (f::PANEL_STRIDE, panels.stride.into()),
            (f::OUT_STRIDE, out.stride.into()),
            (f::X_ADDRESS, x.address),
            (f::PANEL_ADDRESS, panels.address),
            (f::CONSTANTS_ADDRESS, constants),
            (f::OUT_ADDRESS, out.address),
        ];
        Descriptor::checked(f::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
    }
}

/// Which tokens a head keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Tokens after each step, at most.
    pub budget: u16,
    /// First tokens of the sequence, which stay.
    pub sink: u16,
    /// Most recent tokens that stay beside the new one.
    pub window: u16,
    /// Bits that a product of a query and a key loses before it counts as importance of the key's token.
    pub shift: u8,
}

impl Policy {
    /// The paper's policy: half of the budget for recent tokens, 10 for the first ones. A small budget has fewer.
    #[must_use]
    pub fn of_budget(budget: u16, shift: u8) -> Self {
        Self { budget, sink: 10.min(budget / 4), window: budget / 2, shift }
    }

    /// All tokens stay, up to the budget. A prompt enters the head with this policy.
    #[must_use]
    pub fn keep(tokens: u16, shift: u8) -> Self {
        Self { budget: tokens, sink: 0, window: 0, shift }
    }
}

/// Factors that turn numbers into integers of 16 bits. The factors of keys and values must not change while a head has
/// tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantizers {
    /// Factor of queries.
    pub queries: f32,
    /// Factor of keys.
    pub keys: f32,
    /// Factor of values.
    pub values: f32,
}

impl Quantizers {
    /// The factor that turns a product of integers into a score: the product of query and key times `scale`.
    #[must_use]
    pub fn score_scale(&self, scale: f32) -> f32 {
        (f64::from(scale) / (f64::from(self.queries) * f64::from(self.keys))) as f32
    }

    /// The factor that turns a sum of values into the result. The weights of the sum are in units of 2^-15.
    #[must_use]
    pub fn result_scale(&self) -> f32 {
        (2f64.powi(-15) / f64::from(self.values)) as f32
    }
}

/// Where the rows of tokens are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Queries of all query heads of a token, side by side.
    pub queries: Operand,
    /// Keys.
    pub keys: Operand,
    /// Values.
    pub values: Operand,
    /// Results, in the layout of the queries. They may overwrite the queries.
    pub out: Operand,
}

/// Tokens that enter a head: how many, of which sizes, and where they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// Number of the head.
    pub head: u32,
    /// Tokens that enter it.
    pub tokens: u32,
    /// Query heads of the head.
    pub group: u32,
    /// Elements of a vector.
    pub elements: u32,
    /// Which tokens the head keeps.
    pub policy: Policy,
    /// Factors that make integers.
    pub quantizers: Quantizers,
    /// Scores are products of queries and keys times this factor, as 1 / sqrt(elements).
    pub scale: f32,
    /// Where the rows of tokens are.
    pub rows: Rows,
}

/// Tokens enter a head one after the other. The queries of each token attend to all tokens that the head has by then.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionJob {
    entering: Attention,
    exact: bool,
    late: bool,
    again: u8,
}

impl AttentionJob {
    /// Values are read with the keys, none is recomputed, and an element that saturates or is NaN is no error.
    #[must_use]
    pub fn new(entering: Attention) -> Self {
        Self { entering, exact: false, late: false, again: 0 }
    }

    /// An element that saturates or is NaN is an error, and so is a score or a result that is infinite or NaN.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// Late values: they are read when the scores of the first token have begun. Each value becomes an integer while
    /// the scores of its token are computed. The results are the same, and come sooner.
    #[must_use]
    pub fn late(self) -> Self {
        Self { late: true, ..self }
    }

    /// The first rows of keys and of values, as many as given, are recomputed. They belong to the tokens of the head in
    /// the slots 0, 1, .. ([`RecomputeJob`]). All slots in use must be among them. Rows of unused slots may hold
    /// anything.
    #[must_use]
    pub fn again(self, slots: u8) -> Self {
        Self { again: slots, ..self }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        use attention as f;
        let Attention { head, tokens, group, elements, policy, quantizers, scale, rows } = self.entering;
        let Policy { budget, sink, window: recent, shift } = policy;
        let float = |value: f32| u64::from(value.to_bits());
        let Rows { queries, keys, values, out } = rows;
        let fields = [
            (f::HEAD, head.into()),
            (f::TOKENS, tokens.into()),
            (f::GROUP, group.into()),
            (f::ELEMENTS, elements.into()),
            (f::LATE, self.late.into()),
            (f::EXACT, self.exact.into()),
            (f::BUDGET, budget.into()),
            (f::SINK, sink.into()),
            (f::WINDOW, recent.into()),
            (f::SHIFT, shift.into()),
            (f::AGAIN, self.again.into()),
            (f::QUERY_QUANTIZER, float(quantizers.queries)),
            (f::KEY_QUANTIZER, float(quantizers.keys)),
            (f::VALUE_QUANTIZER, float(quantizers.values)),
            (f::SCORE_SCALE, float(quantizers.score_scale(scale))),
            (f::RESULT_SCALE, float(quantizers.result_scale())),
            (f::QUERY_STRIDE, queries.stride.into()),
            (f::KEY_STRIDE, keys.stride.into()),
            (f::VALUE_STRIDE, values.stride.into()),
            (f::OUT_STRIDE, out.stride.into()),
            (f::QUERY_ADDRESS, queries.address),
            (f::KEY_ADDRESS, keys.address),
            (f::VALUE_ADDRESS, values.address),
            (f::OUT_ADDRESS, out.address),
        ];
        Descriptor::checked(f::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
            .map(|descriptor| descriptor.on_state(of_head(head)))
    }

    /// The descriptors of a prompt that enters an empty head. The head keeps all tokens until the last one is there,
    /// and follows the policy from then on.
    ///
    /// # Errors
    /// There are more tokens than a head keeps, or the hardware would refuse one of the descriptors.
    pub fn build_prompt(&self, caps: &Caps, window: &Window) -> Result<Vec<Descriptor>, Refusal> {
        if self.again > 0 {
            let (field, expected) = (attention::AGAIN.name, "0: an empty head has no token that could come again");
            return Err(Refusal::new(ErrorCode::Field, field, self.again.to_string(), expected));
        }
        let whole = self.build(caps, window)?;
        let entering = self.entering;
        if entering.tokens == 1 {
            return Ok(vec![whole]);
        }
        let before = entering.tokens - 1;
        let all = Policy::keep(u16::try_from(before).unwrap_or(u16::MAX), entering.policy.shift);
        let part = |entering: Attention| Self { entering, ..self.clone() }.build(caps, window);
        let first = part(Attention { tokens: before, policy: all, ..entering })?;
        let behind = |operand: Operand| {
            let address = operand.address + u64::from(before) * u64::from(operand.stride);
            Operand { address, ..operand }
        };
        let Rows { queries, keys, values, out } = entering.rows;
        let rows = Rows { queries: behind(queries), keys: behind(keys), values: behind(values), out: behind(out) };
        Ok(vec![first, part(Attention { tokens: 1, rows, ..entering })?])
    }
}

/// Empties heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClearJob {
    /// The first head.
    pub first: u32,
    /// How many.
    pub heads: u32,
}

impl ClearJob {
    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let fields = [(clear::FIRST, self.first.into()), (clear::HEADS, self.heads.into())];
        Descriptor::checked(clear::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
            .map(|descriptor| descriptor.on_state(u64::from(self.first)..=u64::from(self.first + self.heads - 1)))
    }
}

/// Cycles from refresh to refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// Cycles of bits 15 to 8.
    pub msb: u32,
    /// Cycles of bits 7 to 0.
    pub lsb: u32,
}

/// Sets how often rows of the cache are refreshed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshJob {
    /// Lowest importance that is high.
    pub threshold: u32,
    /// Intervals of tokens whose importance is high.
    pub high: Intervals,
    /// Intervals of all other tokens.
    pub low: Intervals,
}

impl RefreshJob {
    /// The paper's intervals at so many cycles a microsecond: 0.36 and 5.4 ms for important tokens, 1.44 and 7.2 ms for
    /// others.
    #[must_use]
    pub fn of_paper(threshold: u32, cycles_a_microsecond: u32) -> Self {
        let [high_msb, high_lsb, low_msb, low_lsb] =
            [360, 5400, 1440, 7200].map(|time: u32| time.saturating_mul(cycles_a_microsecond));
        let (high, low) = (Intervals { msb: high_msb, lsb: high_lsb }, Intervals { msb: low_msb, lsb: low_lsb });
        Self { threshold, high, low }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let fields = [
            (refresh::THRESHOLD, self.threshold.into()),
            (refresh::HIGH_MSB, self.high.msb.into()),
            (refresh::HIGH_LSB, self.high.lsb.into()),
            (refresh::LOW_MSB, self.low.msb.into()),
            (refresh::LOW_LSB, self.low.lsb.into()),
        ];
        Descriptor::checked(refresh::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
            .map(|descriptor| descriptor.on_state(0..=u64::MAX))
    }
}

/// Gives a token of a head a slot: its key and value go, its score stays. Key and value are computed again for each
/// later attention operation ([`AttentionJob::again`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecomputeJob {
    /// Its head.
    pub head: u32,
    /// The position of the token; the oldest token has position 0. Only the hardware checks that the head has so many
    /// tokens.
    pub position: u32,
    /// The slot of the token. No other token of the head may be in it.
    pub slot: u32,
}

impl RecomputeJob {
    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let fields = [
            (recompute::HEAD, self.head.into()),
            (recompute::POSITION, self.position.into()),
            (recompute::SLOT, self.slot.into()),
        ];
        Descriptor::checked(recompute::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
            .map(|descriptor| descriptor.on_state(of_head(self.head)))
    }
}

/// Writes cached tokens to memory, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveJob {
    /// Their head.
    pub head: u32,
    /// Position of the first token that is written; the oldest token has position 0.
    pub first: u32,
    /// How many tokens. Only the hardware checks that the head has so many.
    pub tokens: u32,
    /// Elements of a vector.
    pub elements: u32,
    /// Where the tokens go.
    pub out: Operand,
}

impl SaveJob {
    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let fields = [
            (save::HEAD, self.head.into()),
            (save::FIRST, self.first.into()),
            (save::TOKENS, self.tokens.into()),
            (save::ELEMENTS, self.elements.into()),
            (save::OUT_STRIDE, self.out.stride.into()),
            (save::OUT_ADDRESS, self.out.address),
        ];
        Descriptor::checked(save::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
            .map(|descriptor| descriptor.on_state(of_head(self.head)))
    }
}

/// Brings saved tokens back to a head: they become its youngest ones, with the scores that they had. A head that was
/// saved as a whole goes on as if it had never left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreJob {
    /// The head that gets them.
    pub head: u32,
    /// Tokens that the head has, 0 after a [`ClearJob`]. Only the hardware checks that it has so many.
    pub first: u32,
    /// How many tokens come.
    pub tokens: u32,
    /// Elements of a vector.
    pub elements: u32,
    /// Where the tokens are, as a [`SaveJob`] wrote them.
    pub saved: Operand,
}

impl RestoreJob {
    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let fields = [
            (restore::HEAD, self.head.into()),
            (restore::FIRST, self.first.into()),
            (restore::TOKENS, self.tokens.into()),
            (restore::ELEMENTS, self.elements.into()),
            (restore::SAVED_STRIDE, self.saved.stride.into()),
            (restore::SAVED_ADDRESS, self.saved.address),
        ];
        Descriptor::checked(restore::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
            .map(|descriptor| descriptor.on_state(of_head(self.head)))
    }
}
