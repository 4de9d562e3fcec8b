//! Tokens that most heads hold are kept as their normalised rows. Each pass computes their keys and values again,
//! together with its own tokens (Kelle, section 4.1.2, figure 11 b).

use std::collections::BTreeMap;

use golden::accelerators::kelle::Head;
use host::kelle::{Policy, RecomputeJob};

use super::builder::Builder;
use crate::chain::Floats;

/// Such tokens of a layer.
#[derive(Clone, Debug)]
pub struct Popular {
    /// Rows of all slots, and after them the rows of a pass' tokens.
    area: Floats,
    /// The token of each slot.
    slots: Vec<Option<usize>>,
    /// The normalised row of each token.
    rows: Vec<Floats>,
    /// Counts.
    pub recomputed: Recomputed,
}

/// What was recomputed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recomputed {
    /// Tokens.
    pub tokens: u64,
    /// Rows of the cache, at the end, whose key and value nobody has to refresh.
    pub rows: u64,
    /// Rows that were made again, of all passes.
    pub made: u64,
}

impl Popular {
    /// Rows that come again before the rows of a pass.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Positions in the text of the tokens of all slots; positions of free slots do not matter.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.slots.iter().map(|token| token.unwrap_or(0))
    }
}

impl Builder<'_> {
    /// So many slots for tokens of a layer, and so many tokens of a pass.
    ///
    /// # Errors
    /// No room.
    pub fn popular(&mut self, slots: usize, pass: usize, columns: usize) -> anyhow::Result<Popular> {
        let area = self.b.given(&vec![vec![0.0; columns]; slots + pass])?;
        let recomputed = Recomputed::default();
        Ok(Popular { area, slots: vec![None; slots], rows: Vec::new(), recomputed })
    }

    /// Normalised rows of a pass' tokens, after the rows of all slots. All slots come again with the pass.
    pub(super) fn with_slots(&mut self, popular: &mut Popular, normed: &Floats) -> anyhow::Result<Floats> {
        popular.rows.extend((0..normed.rows).map(|row| normed.some_rows(row, 1)));
        let place = popular.area.some_rows(popular.slots(), normed.rows);
        self.b.rows(normed, &place, |job| job)?;
        popular.recomputed.made += popular.slots.iter().flatten().count() as u64;
        Ok(popular.area.some_rows(0, popular.slots() + normed.rows))
    }

    /// Normalised rows of a pass with which none comes again.
    pub(super) fn without_slots(popular: &mut Popular, normed: &Floats) {
        popular.rows.extend((0..normed.rows).map(|row| normed.some_rows(row, 1)));
    }

    /// Renews the slots after a pass. A slot is free when no head has its token any more. Tokens that are no longer
    /// recent get a slot while more than half of the heads hold them. The builder looks tokens up in the model; a
    /// driver reads them with the save operation (6).
    pub(super) fn keep(&mut self, popular: &mut Popular, heads: usize, policy: Policy) -> anyhow::Result<()> {
        let all: Vec<Head> = (0..heads).map(|head| self.b.model().head(head)).collect();
        let held = |number: usize| all.iter().flat_map(|head| &head.tokens).any(|t| usize::from(t.number) == number);
        for slot in &mut popular.slots {
            *slot = slot.filter(|&number| held(number));
        }
        // Of each token the heads that hold it, and where.
        let mut holders: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (number, head) in all.iter().enumerate() {
            let old = head.tokens.len().saturating_sub(policy.window.into());
            for (position, token) in head.tokens[..old].iter().enumerate().filter(|(_, token)| token.slot.is_none()) {
                holders.entry(token.number.into()).or_default().push((number, position));
            }
        }
        for (token, places) in holders.into_iter().filter(|(_, places)| 2 * places.len() > heads) {
            let Some(slot) = popular.slots.iter().position(Option::is_none) else { break };
            let row = popular.area.some_rows(slot, 1);
            self.b.rows(&popular.rows[token], &row, |job| job)?;
            for (head, position) in places {
                let job = RecomputeJob { head: head as u32, position: position as u32, slot: slot as u32 };
                self.b.then(job.build(self.caps, &self.b.window)?)?;
            }
            popular.slots[slot] = Some(token);
            popular.recomputed.tokens += 1;
        }
        let slotted = |head: usize| self.b.model().head(head).tokens.iter().filter(|t| t.slot.is_some()).count() as u64;
        popular.recomputed.rows = (0..heads).map(slotted).sum();
        Ok(())
    }
}
