//! Descriptors for `titanus_core`, and their data in memory.

use anyhow::Result;
use golden::accelerators::memory::SparseMemory;
use host::titanus::{AppendJob, Areas, Caps, Held, Matrix, Opening, Product, ProductJob, RestoreJob, TokenRows};
use host::{Allocator, Descriptor, Window};

use super::super::{Numbers, Room, WINDOW};

/// Bits of keys and values, and the magnitude below which they become 0.
pub(super) const BITS: u8 = 4;
const THRESHOLD: u8 = 8;
/// Of so many channels one has code 0, so many have another code, and all others are pruned: 34 % zeros, as in
/// docs/perplexity.md.
const CHANNELS: u64 = 32;
const OTHERS: u64 = 20;
/// Bytes of a block of a stream.
pub(super) const BLOCK: u64 = 64;

/// A key or a value. The first two tokens give each channel its level, and no later token opens another level.
pub(super) fn element(token: u64, channel: u64) -> i8 {
    match channel % CHANNELS {
        0 => -100,
        1..=OTHERS => [-100, 100, 40][token.min(2) as usize],
        _ => 0,
    }
}

/// Rows of keys and of values.
pub(super) struct Tokens {
    first: u64,
    rows: TokenRows,
}

impl Tokens {
    fn new(room: &mut Room, (first, count): (u64, u64), channels: u64) -> Result<Self> {
        let mut of = || room.of(Numbers::Int8, count, channels);
        let (keys, values) = (of()?, of()?);
        let rows = TokenRows { tokens: count.try_into()?, channels: channels.try_into()?, keys, values };
        Ok(Self { first, rows })
    }

    pub(super) fn store(&self, memory: &mut SparseMemory) {
        let TokenRows { tokens, channels, keys, values } = self.rows;
        for token in 0..u64::from(tokens) {
            let bytes: Vec<u8> =
                (0..channels.into()).map(|channel| element(self.first + token, channel) as u8).collect();
            for rows in [keys, values] {
                memory.store(rows.address + token * u64::from(rows.stride), &bytes);
            }
        }
    }
}

/// Operands that nothing else overlaps.
fn apart() -> Room {
    Room(Allocator::new(&Window { base: 1 << 38, ..WINDOW }))
}

/// Descriptors by which tokens after `old` ones enter the cache, and all tokens the context; and the tokens. If there
/// are old tokens, an append of them comes first.
pub(super) fn cache(caps: &Caps, channels: u64, size: [u64; 2]) -> Result<(Vec<Descriptor>, Vec<Tokens>)> {
    entering(caps, channels, size, None)
}

/// The same for a prompt of so many tokens. The append keeps them as context, and they give the levels together.
pub(super) fn kept(caps: &Caps, channels: u64, size: [u64; 2], prompt: u64) -> Result<(Vec<Descriptor>, Vec<Tokens>)> {
    entering(caps, channels, size, Some(prompt))
}

fn entering(
    caps: &Caps,
    channels: u64,
    [old, tokens]: [u64; 2],
    prompt: Option<u64>,
) -> Result<(Vec<Descriptor>, Vec<Tokens>)> {
    let mut room = apart();
    let all = old + tokens;
    let lines = caps.most_lines(all.try_into()?, BITS.into()).min(u16::MAX.into());
    // Each area has whole pages, so the place of rows in a page does not depend on the number of lines.
    let bytes = (BLOCK * lines).next_multiple_of(4096);
    let (keys, values) = (room.at(1, bytes)?.address, room.at(1, bytes)?.address);
    let areas = Areas { keys, values, lines: lines.try_into()? };
    let new = Tokens::new(&mut room, (old, tokens), channels)?;
    let first = |tokens: &Tokens| -> Result<AppendJob> {
        let opening = Opening {
            prefill: prompt.unwrap_or(tokens.rows.tokens.into()).min(caps.buffer.into()).try_into()?,
            key_threshold: THRESHOLD,
            value_threshold: THRESHOLD,
            key_bits: BITS,
            value_bits: BITS,
        };
        Ok(AppendJob::first(tokens.rows, opening, areas))
    };
    let none = Held::default();
    if old == 0 {
        return Ok((vec![first(&new)?.keep().build(caps, &none, &WINDOW)?], vec![new]));
    }
    let before = Tokens::new(&mut room, (0, old), channels)?;
    let begin = first(&before)?;
    let begin = if prompt.is_some() { begin.keep() } else { begin }.build(caps, &none, &WINDOW)?;
    let held = none.after(&begin);
    let append = AppendJob::behind(old.try_into()?, new.rows, areas);
    if prompt.is_some() {
        return Ok((vec![begin, append.keep().build(caps, &held, &WINDOW)?], vec![before, new]));
    }
    let append = append.build(caps, &held, &WINDOW)?;
    let held = held.after(&append);
    let restore = RestoreJob::to_context(all.try_into()?, new.rows.channels, areas).build(caps, &held, &WINDOW)?;
    Ok((vec![begin, append, restore], vec![before, new]))
}

/// Rows times a matrix. The context has so many tokens.
pub(super) fn product(
    caps: &Caps,
    (matrix, context): (Matrix, u64),
    [rows, inner, columns]: [u64; 3],
    results: Numbers,
) -> Result<Descriptor> {
    let mut room = Room::new();
    let of_x = if matches!(matrix, Matrix::Values { .. }) { Numbers::Fp16 } else { Numbers::Int8 };
    let (x, out) = (room.of(of_x, rows, inner)?, room.of(results, rows, columns)?);
    let (rows, inner, columns) = (rows.try_into()?, inner.try_into()?, columns.try_into()?);
    let job = ProductJob::new(Product { rows, inner, columns, matrix, x, out, constant: 0 });
    let job = if matches!(matrix, Matrix::Keys { .. }) { job.one_constant() } else { job };
    let job = if results == Numbers::Int8 { job.to_integers() } else { job };
    let tokens = context.try_into()?;
    Ok(job.build(caps, &Held { cache: tokens, context: tokens, prefill: 0 }, &WINDOW)?)
}
