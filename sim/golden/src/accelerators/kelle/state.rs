//! Operations on the tokens of a head: a token gets a slot, tokens are written to memory, and come back.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::operand::are_apart;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::shell::job_controller::code;

use super::cache::{Head, Token};
use super::{Counts, Executed, HEAD_BYTES, KelleTop, Operation, Recompute, Restore, Save, Shape, Shown, Work, done};

impl KelleTop {
    /// Gives a token a slot.
    pub(super) fn keep(&self, operation: Recompute) -> Executed {
        let mut cache = self.cache.borrow_mut();
        let head = &mut cache.heads[operation.head];
        let certain = !head.slots_unknown;
        head.tokens[operation.position].slot = Some(operation.slot);
        head.slots_unknown = head.unknown;
        Executed { certain, ..done(Operation::Recompute(operation)) }
    }

    /// Writes cached tokens to memory.
    pub(super) fn save(&self, operation: Save, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let cache = self.cache.borrow();
        let head = &cache.heads[operation.head];
        let elements = operation.elements as usize;
        let tokens = &head.tokens[operation.first..][..operation.out.rows as usize];
        let shown = match self.replay.borrow_mut().as_mut() {
            Some(replay) => replay.save(tokens),
            None => Shown::of(tokens),
        };
        for (row, ((token, key), value)) in (0..).zip(tokens.iter().zip(&shown.keys).zip(&shown.values)) {
            let mut bytes = vec![0; HEAD_BYTES as usize];
            bytes[..4].copy_from_slice(&(token.score as u32).to_le_bytes());
            if self.shape.recompute > 0 {
                bytes[4..6].copy_from_slice(&token.number.to_le_bytes());
                bytes[6] = token.slot.map_or(0, |slot| slot as u8 + 1);
            }
            let vectors = key[..elements].iter().chain(&value[..elements]);
            bytes.extend(vectors.flat_map(|&element| (element as i16).to_le_bytes()));
            pieces::store(&operation.out, row, &bytes, memory, &mut codes);
        }
        let codes = codes.all();
        debug_assert!(!codes.contains(&code::OVERFLOW));
        let defined = codes.is_empty() && are_apart(&operation.out) && !head.unknown;
        let operation = Work { operation: Operation::Save(operation), counts: Counts::default() };
        Executed { operation, codes, defined, certain: true, overflows: 0, sum_overflows: 0 }
    }

    /// Brings saved tokens back: they become the youngest ones of the head. A head that does not get all of them is
    /// empty.
    pub(super) fn restore(&self, operation: Restore, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let mut cache = self.cache.borrow_mut();
        let head = &mut cache.heads[operation.head];
        // It may be refused for a slot that is in use.
        let certain = !head.slots_unknown;
        let known = !head.unknown;
        for row in 0..operation.saved.rows {
            let loaded = Loaded::row(&operation.saved, row, memory, &mut codes);
            let Some(front) = loaded.get(0..HEAD_BYTES as usize) else { continue };
            let Some(front) = Front::of(&self.shape, front).filter(|front| front.fits(head)) else {
                codes.note(code::FIELD);
                continue;
            };
            let vectors = loaded.get(HEAD_BYTES as usize..operation.saved.row_bytes as usize);
            let empty = vec![0; 4 * operation.elements as usize];
            let mut token = front.token(vectors.unwrap_or(&empty), self.shape.width as usize);
            if self.shape.recompute == 0 {
                // Nobody sees the number.
                token.number = head.entered;
            }
            if let (Some(replay), true) = (self.replay.borrow_mut().as_mut(), vectors.is_some()) {
                replay.restore(&token);
            }
            head.entered = token.number.wrapping_add(1);
            head.tokens.push(token);
        }
        let codes = codes.all();
        if !codes.is_empty() {
            *head = Head::default();
        }
        let defined = codes.is_empty() && known;
        let operation = Work { operation: Operation::Restore(operation), counts: Counts::default() };
        Executed { operation, codes, defined, certain, overflows: 0, sum_overflows: 0 }
    }
}

/// The first bytes of a saved token.
struct Front {
    score: i64,
    number: u16,
    slot: Option<u32>,
}

impl Front {
    /// What they say, if an accelerator of this shape saves such bytes.
    fn of(shape: &Shape, bytes: &[u8]) -> Option<Self> {
        let score = i64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let number = u16::from_le_bytes([bytes[4], bytes[5]]);
        let slot = u32::from(bytes[6]).checked_sub(1);
        let without = shape.recompute > 0 || number == 0;
        let there = slot.is_none_or(|slot| slot < shape.recompute);
        let right = score <= shape.top_score() && without && there && bytes[7..].iter().all(|&byte| byte == 0);
        right.then_some(Self { score, number, slot })
    }

    /// Whether its slot is free.
    fn fits(&self, head: &Head) -> bool {
        head.slots_unknown || self.slot.is_none() || head.tokens.iter().all(|token| token.slot != self.slot)
    }

    /// The token with key and value, and zeros up to the width of a row of the cache.
    fn token(&self, vectors: &[u8], width: usize) -> Token {
        let (key, value) = vectors.split_at(vectors.len() / 2);
        let integers = |bytes: &[u8]| {
            let mut all: Vec<i64> = bytes.chunks(2).map(|two| i16::from_le_bytes([two[0], two[1]]).into()).collect();
            all.resize(width, 0);
            all
        };
        let Self { score, number, slot } = *self;
        Token { key: integers(key), value: integers(value), score, number, slot }
    }
}
