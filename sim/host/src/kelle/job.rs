//! Jobs in terms of what they do; what no field could say cannot be written down.

use super::layout::{self as l, attention, clear, linear, recompute, refresh, save};
use super::{Caps, check};
use crate::vector::Operand;
use crate::{Descriptor, ErrorCode, Refusal, Window};

/// Rows of fp16 times a matrix of 8-bit weights.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearJob {
    /// Rows, columns of the results, channels.
    size: [u32; 3],
    x: Operand,
    panels: Operand,
    constants: u64,
    out: Operand,
    quantizer: f32,
    exact: bool,
}

impl LinearJob {
    /// Rows of `channels` numbers at `x`, weights as [`Panels`](super::Panels) make them, scale and bias of each column at
    /// `constants`, results at `out`. The integer of an element is the one nearest to it times `quantizer`.
    #[must_use]
    pub fn new(
        [rows, columns, channels]: [u32; 3],
        (x, quantizer): (Operand, f32),
        panels: Operand,
        constants: u64,
        out: Operand,
    ) -> Self {
        Self { size: [rows, columns, channels], x, panels, constants, out, quantizer, exact: false }
    }

    /// An element that saturates or is no number, and a result that is infinite or none, is an error.
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
        let [rows, columns, channels] = self.size;
        let mut d = Descriptor::new(l::LINEAR_VALUE);
        for (field, value) in [
            (f::ROWS, rows.into()),
            (f::COLUMNS, columns.into()),
            (f::CHANNELS, channels.into()),
            (f::OPTIONS, u64::from(self.exact) << l::EXACT_BIT),
            (f::QUANTIZER, self.quantizer.to_bits().into()),
            (f::X_STRIDE, self.x.stride.into()),
            (f::PANEL_STRIDE, self.panels.stride.into()),
            (f::OUT_STRIDE, self.out.stride.into()),
            (f::X_ADDRESS, self.x.address),
            (f::PANEL_ADDRESS, self.panels.address),
            (f::CONSTANTS_ADDRESS, self.constants),
            (f::OUT_ADDRESS, self.out.address),
        ] {
            d.set(field, value);
        }
        check(&d, caps, window)?;
        Ok(d)
    }
}

/// What a head keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Tokens behind each step, at most.
    pub budget: u16,
    /// First tokens of the sequence, which stay.
    pub sink: u16,
    /// Most recent tokens that stay beside the new one.
    pub window: u16,
    /// Bits that a product of a query and a key loses before it counts as importance of the key's token.
    pub shift: u8,
}

impl Policy {
    /// The paper's: half of the budget for recent tokens, 10 for the first ones; fewer where that would be all.
    #[must_use]
    pub fn of_budget(budget: u16, shift: u8) -> Self {
        Self { budget, sink: 10.min(budget / 4), window: budget / 2, shift }
    }

    /// Everything stays, up to so many tokens: what a prompt is put in with.
    #[must_use]
    pub fn keep(tokens: u16, shift: u8) -> Self {
        Self { budget: tokens, sink: 0, window: 0, shift }
    }
}

/// What numbers are multiplied by to become integers of 16 bits. Those of keys and values stay the same while a head has tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantizers {
    /// Elements of queries.
    pub queries: f32,
    /// Elements of keys.
    pub keys: f32,
    /// Elements of values.
    pub values: f32,
}

impl Quantizers {
    /// Times a product of integers the product of query and key, times `scale`.
    #[must_use]
    pub fn score_scale(&self, scale: f32) -> f32 {
        (f64::from(scale) / (f64::from(self.queries) * f64::from(self.keys))) as f32
    }

    /// Times a sum of values whose weights are in units of 2^-15 the result.
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
    /// Results, as the queries lie; it may be their place.
    pub out: Operand,
}

/// Tokens that enter a head, one after the other, and whose queries attend to all that it has by then.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionJob {
    head: u32,
    tokens: u32,
    /// Query heads, and elements of a vector.
    size: (u32, u32),
    policy: Policy,
    quantizers: Quantizers,
    scales: [f32; 2],
    rows: Rows,
    exact: bool,
    late: bool,
    again: u8,
}

impl AttentionJob {
    /// `tokens` tokens enter head `head`, of `group` query heads and vectors of `elements`; scores are products of queries and
    /// keys times `scale`, as 1 / sqrt(elements).
    #[must_use]
    pub fn new(
        (head, tokens): (u32, u32),
        (group, elements): (u32, u32),
        policy: Policy,
        (quantizers, scale): (Quantizers, f32),
        rows: Rows,
    ) -> Self {
        let scales = [quantizers.score_scale(scale), quantizers.result_scale()];
        Self {
            head,
            tokens,
            size: (group, elements),
            policy,
            quantizers,
            scales,
            rows,
            exact: false,
            late: false,
            again: 0,
        }
    }

    /// An element that saturates or is no number, and a score or a result that is infinite or none, is an error.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// Values are read when the scores of the first token have begun, and each becomes an integer while its token's scores are made. The
    /// results are the same, sooner.
    #[must_use]
    pub fn late(self) -> Self {
        Self { late: true, ..self }
    }

    /// Ahead of those of the tokens are as many rows of keys and of values: they come again for tokens of the head that are in the slots
    /// 0, 1, .. ([`RecomputeJob`]), all of which must be among them; rows of other slots hold anything.
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
        let Policy { budget, sink, window: recent, shift } = self.policy;
        let float = |value: f32| u64::from(value.to_bits());
        let mut d = Descriptor::new(l::ATTENTION_VALUE);
        for (field, value) in [
            (f::HEAD, self.head.into()),
            (f::TOKENS, self.tokens.into()),
            (f::GROUP, self.size.0.into()),
            (f::ELEMENTS, self.size.1.into()),
            (f::OPTIONS, u64::from(self.exact) << l::EXACT_BIT | u64::from(self.late) << l::LATE_BIT),
            (f::BUDGET, budget.into()),
            (f::SINK, sink.into()),
            (f::WINDOW, recent.into()),
            (f::SHIFT, shift.into()),
            (f::AGAIN, self.again.into()),
            (f::QUERY_QUANTIZER, float(self.quantizers.queries)),
            (f::KEY_QUANTIZER, float(self.quantizers.keys)),
            (f::VALUE_QUANTIZER, float(self.quantizers.values)),
            (f::SCORE_SCALE, float(self.scales[0])),
            (f::RESULT_SCALE, float(self.scales[1])),
        ] {
            d.set(field, value);
        }
        for (operand, address, stride) in [
            (self.rows.queries, f::QUERY_ADDRESS, f::QUERY_STRIDE),
            (self.rows.keys, f::KEY_ADDRESS, f::KEY_STRIDE),
            (self.rows.values, f::VALUE_ADDRESS, f::VALUE_STRIDE),
            (self.rows.out, f::OUT_ADDRESS, f::OUT_STRIDE),
        ] {
            d.set(address, operand.address);
            d.set(stride, operand.stride.into());
        }
        check(&d, caps, window)?;
        Ok(d)
    }

    /// The descriptors of a prompt that comes into an empty head: all of its tokens are kept until the last one is there, and from then
    /// on the policy holds.
    ///
    /// # Errors
    /// There are more tokens than a head keeps, or one of the descriptors would be refused.
    pub fn build_prompt(&self, caps: &Caps, window: &Window) -> Result<Vec<Descriptor>, Refusal> {
        if self.again > 0 {
            let (field, expected) = (attention::AGAIN.name, "0: an empty head has no token that could come again");
            return Err(Refusal::new(ErrorCode::Field, field, self.again.to_string(), expected));
        }
        let whole = self.build(caps, window)?;
        if self.tokens == 1 {
            return Ok(vec![whole]);
        }
        let before = self.tokens - 1;
        let all = Policy::keep(u16::try_from(before).unwrap_or(u16::MAX), self.policy.shift);
        let first = Self { tokens: before, policy: all, ..self.clone() }.build(caps, window)?;
        let behind = |operand: Operand| {
            let address = operand.address + u64::from(before) * u64::from(operand.stride);
            Operand { address, ..operand }
        };
        let Rows { queries, keys, values, out } = self.rows;
        let rows = Rows { queries: behind(queries), keys: behind(keys), values: behind(values), out: behind(out) };
        Ok(vec![first, Self { tokens: 1, rows, ..self.clone() }.build(caps, window)?])
    }
}

/// Heads that are emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClearJob {
    /// The first one.
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
        let mut d = Descriptor::new(l::CLEAR_VALUE);
        d.set(clear::FIRST, self.first.into());
        d.set(clear::HEADS, self.heads.into());
        check(&d, caps, window)?;
        Ok(d)
    }
}

/// Cycles from refresh to refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// Of bits 15 to 8.
    pub msb: u32,
    /// Of bits 7 to 0.
    pub lsb: u32,
}

/// How often rows of the cache are refreshed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshJob {
    /// Lowest importance that is high.
    pub threshold: u32,
    /// Of tokens whose importance is high.
    pub high: Intervals,
    /// Of all others.
    pub low: Intervals,
}

impl RefreshJob {
    /// The paper's intervals at so many cycles a microsecond: 0.36 and 5.4 ms for important tokens, 1.44 and 7.2 ms for others.
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
        let mut d = Descriptor::new(l::REFRESH_VALUE);
        for (field, value) in [
            (refresh::THRESHOLD, self.threshold),
            (refresh::HIGH_MSB, self.high.msb),
            (refresh::HIGH_LSB, self.high.lsb),
            (refresh::LOW_MSB, self.low.msb),
            (refresh::LOW_LSB, self.low.lsb),
        ] {
            d.set(field, value.into());
        }
        check(&d, caps, window)?;
        Ok(d)
    }
}

/// A token that is kept as what it came from: its key and its value go, its score stays, and with each operation of attention they come
/// [again](AttentionJob::again).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecomputeJob {
    /// Its head.
    pub head: u32,
    /// Its position, the oldest token's being 0. That the head has as many is seen by the hardware only.
    pub position: u32,
    /// Its slot, which no other token of the head has.
    pub slot: u32,
}

impl RecomputeJob {
    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let mut d = Descriptor::new(l::RECOMPUTE_VALUE);
        d.set(recompute::HEAD, self.head.into());
        d.set(recompute::POSITION, self.position.into());
        d.set(recompute::SLOT, self.slot.into());
        check(&d, caps, window)?;
        Ok(d)
    }
}

/// Cached tokens that are written to memory, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveJob {
    /// Their head.
    pub head: u32,
    /// Position of the first one, the oldest being 0.
    pub first: u32,
    /// How many. That the head has as many is seen by the hardware only.
    pub tokens: u32,
    /// Elements of a vector.
    pub elements: u32,
    /// Where they go.
    pub out: Operand,
}

impl SaveJob {
    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let mut d = Descriptor::new(l::SAVE_VALUE);
        for (field, value) in [
            (save::HEAD, self.head),
            (save::FIRST, self.first),
            (save::TOKENS, self.tokens),
            (save::ELEMENTS, self.elements),
            (save::OUT_STRIDE, self.out.stride),
        ] {
            d.set(field, value.into());
        }
        d.set(save::OUT_ADDRESS, self.out.address);
        check(&d, caps, window)?;
        Ok(d)
    }
}
