//! Operations on the tokens of a head: a token gets a slot, and tokens are written to memory.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::operand::are_apart;
use crate::accelerators::pieces;
use crate::common::shell::job_controller::code;

use super::{Counts, Executed, HEAD_BYTES, KelleTop, Operation, Recompute, Save, Shown, Work, done};

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
}
