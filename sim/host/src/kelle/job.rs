//! Builders of jobs, with a method for each choice. A value that no field can hold cannot be expressed.

use super::operations::{attention, clear, linear, recompute, refresh, save};
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
    /// Rows of `channels` numbers at `x`, weights as [`Panels`](super::Panels) make them, scale and bias of each column
    /// at `constants`, results at `out`. The integer of an element is the one nearest to it times `quantizer`.
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
        let [rows, columns, channels] = self.size;
        let fields = [
            (f::ROWS, rows.into()),
            (f::COLUMNS, columns.into()),
            (f::CHANNELS, channels.into()),
            (f::EXACT, self.exact.into()),
            (f::QUANTIZER, self.quantizer.to_bits().into()),
            (f::X_STRIDE, self.x.stride.into()),
            (f::PANEL_STRIDE, self.panels.stride.into()),
            (f::OUT_STRIDE, self.out.stride.into()),
            (f::X_ADDRESS, self.x.address),
            (f::PANEL_ADDRESS, self.panels.address),
            (f::CONSTANTS_ADDRESS, self.constants),
            (f::OUT_ADDRESS, self.out.address),
        ];
        Descriptor::checked(f::OPCODE, &fields, |d| check(d, caps, window))
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

/// Tokens enter a head one after the other. The queries of each token attend to all tokens that the head has by then.
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
    /// `tokens` tokens enter head `head`, of `group` query heads and vectors of `elements`; scores are products of
    /// queries and keys times `scale`, as 1 / sqrt(elements).
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
        let Policy { budget, sink, window: recent, shift } = self.policy;
        let float = |value: f32| u64::from(value.to_bits());
        let Rows { queries, keys, values, out } = self.rows;
        let fields = [
            (f::HEAD, self.head.into()),
            (f::TOKENS, self.tokens.into()),
            (f::GROUP, self.size.0.into()),
            (f::ELEMENTS, self.size.1.into()),
            (f::LATE, self.late.into()),
            (f::EXACT, self.exact.into()),
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
            (f::QUERY_STRIDE, queries.stride.into()),
            (f::KEY_STRIDE, keys.stride.into()),
            (f::VALUE_STRIDE, values.stride.into()),
            (f::OUT_STRIDE, out.stride.into()),
            (f::QUERY_ADDRESS, queries.address),
            (f::KEY_ADDRESS, keys.address),
            (f::VALUE_ADDRESS, values.address),
            (f::OUT_ADDRESS, out.address),
        ];
        Descriptor::checked(f::OPCODE, &fields, |d| check(d, caps, window))
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
        Descriptor::checked(clear::OPCODE, &fields, |d| check(d, caps, window))
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
        Descriptor::checked(refresh::OPCODE, &fields, |d| check(d, caps, window))
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
        Descriptor::checked(recompute::OPCODE, &fields, |d| check(d, caps, window))
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
        Descriptor::checked(save::OPCODE, &fields, |d| check(d, caps, window))
    }
}
