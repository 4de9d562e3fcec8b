//! More texts than heads: some texts have heads of their own, the others take turns in the last heads and are in memory
//! meanwhile.

use anyhow::Result;
use golden::accelerators::kelle::HEAD_BYTES;
use host::kelle::{ClearJob, RestoreJob, SaveJob};
use host::vector::Operand;

use super::builder::Builder;

/// Which texts stay in heads, and where the others are.
#[derive(Clone, Debug)]
pub(super) struct Away {
    /// The first texts, whose heads stay.
    stay: usize,
    /// Of each further text: where the tokens of its heads are.
    places: Vec<Vec<Operand>>,
}

/// A head of a text that takes turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// The head of the accelerator.
    pub head: u32,
    /// Elements of a vector.
    pub elements: u32,
    /// Where its tokens are while others have the head.
    pub place: Operand,
}

impl Away {
    /// Room for texts of so many heads, with vectors of so many elements.
    ///
    /// # Errors
    /// No room in memory.
    pub fn new(builder: &mut Builder<'_>, [heads, width]: [usize; 2], texts: usize) -> Result<Self> {
        let caps = builder.caps;
        let at_a_time = caps.heads as usize / heads;
        let stay = if texts <= at_a_time { texts } else { at_a_time.saturating_sub(1) };
        // Rows begin at multiples of 64 bytes.
        let stride = (HEAD_BYTES as usize + 4 * width).next_multiple_of(64);
        let mut place = || {
            let address = builder.b.changed("heads in memory", vec![0; stride * caps.slots as usize])?;
            Ok(Operand { address, stride: stride as u32 })
        };
        let places = (stay..texts).map(|_| (0..heads).map(|_| place()).collect()).collect::<Result<_>>()?;
        Ok(Self { stay, places })
    }

    /// Which texts share the heads of this one: the first text that has them.
    pub fn heads_of(&self, text: usize) -> usize {
        text.min(self.stay)
    }

    /// Where the tokens of a head are, if its text takes turns.
    pub fn place(&self, text: usize, head: usize) -> Option<Operand> {
        Some(self.places.get(text.checked_sub(self.stay)?)?[head])
    }
}

impl Builder<'_> {
    /// A head gets the tokens of a text back, of which there are so many.
    pub(super) fn come_back(&mut self, turn: Turn, tokens: usize) -> Result<()> {
        let Turn { head, elements, place } = turn;
        if !self.b.model().head(head as usize).tokens.is_empty() {
            self.b.then(ClearJob { first: head, heads: 1 }.build(self.caps, &self.b.window)?)?;
        }
        if tokens == 0 {
            return Ok(());
        }
        let job = RestoreJob { head, first: 0, tokens: tokens as u32, elements, saved: place };
        self.b.then(job.build(self.caps, &self.b.window)?)
    }

    /// The tokens of a head go to memory.
    pub(super) fn go_away(&mut self, turn: Turn) -> Result<()> {
        let Turn { head, elements, place } = turn;
        let tokens = self.b.model().head(head as usize).tokens.len() as u32;
        let job = SaveJob { head, first: 0, tokens, elements, out: place };
        self.b.then(job.build(self.caps, &self.b.window)?)
    }
}
