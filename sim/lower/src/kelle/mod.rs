//! Layers of a running model on `kelle_top`: weights of 8 bits, activations of 16. Keys and values of texts are in its
//! heads, which keep to a budget.

mod away;
mod builder;
mod calibrates;
mod decoding;
mod learnt;
mod popular;

use anyhow::{Result, ensure};
use host::Descriptor;
use host::kelle::operations::{attention, clear, linear, restore, save, vector};
use host::kelle::{Attention, AttentionJob, Caps, Policy, Rows as Operands};
use host::layout::header;

use crate::chain::Floats;
use crate::pass::{Share, Shares};
use away::Turn;
pub use builder::{Builder, Matrices, Weights};
pub use decoding::OnKelle;
pub use learnt::quantizer;
pub use popular::{Popular, Recomputed};

/// About how many cycles an operation takes.
fn cycles(descriptor: &Descriptor, caps: &Caps) -> u64 {
    let get = |field| descriptor.get(field);
    let beats = |elements: u64| elements.div_ceil(caps.vector.lanes.into());
    let (rows, columns) = (u64::from(caps.rows), u64::from(caps.columns));
    match get(header::OPCODE) as u8 {
        // A tile of weights comes from memory while each row makes two steps with the one before.
        linear::OPCODE => {
            let (channels, outputs) = (get(linear::CHANNELS), get(linear::COLUMNS));
            let tiles = channels.div_ceil(rows) * outputs.div_ceil(columns);
            (tiles * 2 * get(linear::ROWS)).max(beats(channels * outputs / 2))
        }
        // Keys and values pass the array in two passes each. Nobody knows here how many there are: as many as may be.
        attention::OPCODE => get(attention::TOKENS) * 4 * get(attention::BUDGET) * get(attention::ELEMENTS) / columns,
        save::OPCODE => get(save::TOKENS) * beats(2 * get(save::ELEMENTS)),
        restore::OPCODE => get(restore::TOKENS) * beats(2 * get(restore::ELEMENTS)),
        clear::OPCODE => get(clear::HEADS) * u64::from(caps.slots + 1),
        vector::OPCODE => 2 * get(vector::ROWS) * beats(get(vector::COLUMNS)),
        _ => 1,
    }
}

impl Builder<'_> {
    /// The layer for rows of texts; tokens from position 0 on are a prompt. `popular` are tokens of one text that come
    /// again. Returns the results of all heads, and the residual stream after the layer.
    ///
    /// # Errors
    /// More tokens than there is room for; an error of the host crate.
    pub fn tokens(
        &mut self,
        (residual, shares): (&Floats, &Shares),
        m: &Matrices,
        (policy, popular): (Policy, Option<&mut Popular>),
    ) -> Result<(Floats, Floats)> {
        ensure!(popular.is_none() || shares.all().len() == 1, "tokens come again in one text at a time");
        let first = shares.all()[0].first;
        let normed = self.b.norm("normalised", residual, (&m.norms[0], m.epsilon))?;
        let (mut made_of, mut again, mut positions) = (normed, 0, Vec::new());
        let popular = match popular {
            Some(popular) if first == 0 => {
                Self::without_slots(popular, &normed);
                Some(popular)
            }
            Some(popular) => {
                made_of = self.with_slots(popular, &normed)?;
                again = popular.slots();
                positions.extend(popular.positions());
                Some(popular)
            }
            None => None,
        };
        let q = self.linear("queries", &normed, &m.q)?;
        let k = self.linear("keys", &made_of, &m.k)?;
        let v = self.linear("values", &made_of, &m.v)?;
        positions.extend(shares.positions());
        if let Some(turns) = &m.turns {
            let turns = self.b.angles(turns, m.heads.queries, &positions)?;
            self.b.rotate(&q, &turns.some_rows(again, q.rows))?;
            self.b.rotate(&k, &turns)?;
        }
        let attention = self.b.floats("attention", q.rows, q.columns)?;
        for share in shares.all() {
            self.attend(m, [&q, &k, &v, &attention], share, (policy, again))?;
        }
        if let Some(popular) = popular {
            self.keep(popular, m.heads(), policy)?;
        }
        let projected = self.linear("projected", &attention, &m.o)?;
        let hidden = self.b.floats("behind the attention", q.rows, residual.columns)?;
        self.b.rows(&projected, &hidden, |job| job.add_rows(residual.at))?;
        let normed = self.b.norm("normalised again", &hidden, (&m.norms[1], m.epsilon))?;
        let gate = m.gate.as_ref().map(|gate| self.linear("gate", &normed, gate)).transpose()?;
        let up = self.linear("up", &normed, &m.up)?;
        let gated = match &gate {
            Some(gate) => self.b.gate(gate, &up)?,
            None => self.b.activate("gated", &up)?,
        };
        let down = self.linear("down", &gated, &m.down)?;
        let out = self.b.floats("behind the layer", q.rows, residual.columns)?;
        self.b.rows(&down, &out, |job| job.add_rows(hidden.at))?;
        Ok((attention, out))
    }

    /// Attention of all heads of a text.
    fn attend(
        &mut self,
        m: &Matrices,
        [q, k, v, attention]: [&Floats; 4],
        share: &Share,
        (policy, again): (Policy, usize),
    ) -> Result<()> {
        let (heads, width) = (m.heads(), m.heads.width);
        let group = m.heads.queries / heads;
        for (number, &quantizers) in m.quantizers.iter().enumerate() {
            let of = |rows: &Floats, head: usize, width: usize| {
                rows.some_rows(share.row, share.rows).slice(head * width, width).map(|rows| rows.at)
            };
            let stored = number * m.heads.keys / heads;
            let rows = Operands {
                queries: of(q, number, group * width)?,
                keys: of(k, stored, width)?,
                values: of(v, stored, width)?,
                out: of(attention, number, group * width)?,
            };
            let set = m.away.as_ref().map_or(share.text, |away| away.heads_of(share.text));
            let (head, policy) = ((set * heads + number) as u32, m.policies.get(number).copied().unwrap_or(policy));
            let place = m.away.as_ref().and_then(|away| away.place(share.text, number));
            let turn = place.map(|place| Turn { head, elements: width as u32, place });
            if let Some(turn) = turn {
                self.come_back(turn, share.first.min(policy.budget.into()))?;
            }
            let entering = Attention {
                head,
                tokens: share.rows as u32,
                group: group as u32,
                elements: width as u32,
                policy,
                quantizers,
                scale: m.heads.scale() as f32,
                rows,
            };
            let job = AttentionJob::new(entering).again(again as u8);
            let job = if self.b.is_exact() { job.exact() } else { job };
            let descriptors = match share.first {
                0 => job.build_prompt(self.caps, &self.b.window)?,
                _ => vec![job.build(self.caps, &self.b.window)?],
            };
            descriptors.into_iter().try_for_each(|descriptor| self.b.then(descriptor))?;
            turn.map_or(Ok(()), |turn| self.go_away(turn))?;
        }
        Ok(())
    }
}
