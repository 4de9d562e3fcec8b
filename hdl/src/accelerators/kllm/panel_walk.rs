//! The place of a stream of results: which channels of a panel, which token, which panel.

use super::kllm_spec::{COUNT, KllmSpec, ProductSize};
use crate::lang::{Module, Signal, mux, uint};

/// The place of the next beat. Panels come one after the other, in each panel all tokens, and for each token its
/// channels.
pub(super) struct PanelWalk {
    /// Channels of the panel from this beat on.
    pub rest: Signal,
    /// The beat has the last one.
    pub row_last: Signal,
    /// It is the last token's.
    pub token_last: Signal,
}

impl PanelWalk {
    /// `clear` goes to the first beat of a product of this size, `moves` to the next one.
    pub fn new(
        m: &mut Module,
        name: &str,
        spec: &KllmSpec,
        size: &ProductSize,
        (clear, moves): (Signal, Signal),
    ) -> Self {
        let (ty, panel) = (uint(COUNT), spec.panel());
        let left = m.reg(&format!("{name}_channels_q"), ty);
        let rest = m.reg(&format!("{name}_rest_q"), ty);
        let token = m.reg(&format!("{name}_token_q"), uint(16));
        let row_last = m.wire(&format!("{name}_row_last"), rest.q.le(spec.outputs));
        let token_last = m.wire(&format!("{name}_token_last"), token.q.wrapping_add(1).eq(size.tokens));
        let row = m.wire(&format!("{name}_row_moves"), moves & row_last);
        let turns = m.wire(&format!("{name}_panel_moves"), row & token_last);
        let whole = |channels: Signal| mux(channels.gt(panel), ty.lit(panel), channels);
        let first = size.channels.extend(COUNT);
        let behind = mux(left.q.gt(panel), left.q.wrapping_sub(panel), ty.lit(0));
        let next = m.wire(&format!("{name}_channels_next"), mux(clear, first, mux(turns, behind, left.q)));
        left.next(next);
        let fewer = mux(moves, rest.q.wrapping_sub(spec.outputs), rest.q);
        rest.next(mux(clear | row, whole(next), fewer));
        let zero = uint(16).lit(0);
        token.next(mux(clear | turns, zero, mux(row, token.q.wrapping_add(1), token.q)));
        Self { rest: rest.q, row_last, token_last }
    }
}
