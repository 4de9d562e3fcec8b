//! Chains of descriptors, right and wrong ones, and the results of their actions.

use std::collections::{BTreeMap, VecDeque};

use golden::common::shell::job_controller::{Action, Limits, Shape, World};
use rand::RngExt;
use sim::stimulus::StimulusRng;

/// Memory and outcomes of a job, drawn while the golden model runs.
#[derive(Clone)]
pub(super) struct Drawn {
    pub memory: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
    pub rng: StimulusRng,
    /// Chance of an error, in 32nds.
    errors: u8,
    pub outcomes: VecDeque<u8>,
    /// Tags that are written.
    pub tags: u64,
    /// The action that began last.
    pub begun: Option<Action>,
}

impl World for Drawn {
    fn descriptor(&mut self, address: u64) -> Vec<u8> {
        self.memory.get(&address).cloned().unwrap_or_else(|| vec![0; self.bytes])
    }

    fn outcome(&mut self, action: &Action) -> u8 {
        let fails = self.rng.random_range(0..32u8) < self.errors;
        let outcome = match action {
            _ if !fails => 0,
            Action::Operation { .. } => self.rng.random_range(8..=255),
            _ => self.rng.random_range(2..=3),
        };
        self.tags += u64::from(matches!(action, Action::Tag { .. }));
        self.outcomes.push_back(outcome);
        outcome
    }
}

impl Drawn {
    /// A chain, mostly of good descriptors.
    pub(super) fn draw(rng: &mut StimulusRng, shape: &Shape, quick: bool) -> (Limits, u64, Self) {
        let top = if shape.address_width == 64 { u64::MAX } else { (1 << shape.address_width) - 1 };
        // Low addresses, the highest ones, or others.
        let base = [0, top - 0xffff, rng.random::<u64>() & top & !0xffff][rng.random_range(0..3)];
        let edge = base + 64 * rng.random_range(0..0x400u64);
        let mut limits = Limits {
            base: base + if rng.random_range(0..4u8) == 0 { 0x4000 } else { 0 },
            limit: base + if rng.random_range(0..4u8) == 0 { 0xbfff } else { 0xffff },
            max_descriptors: match rng.random_range(0..4u8) {
                0 => rng.random_range(0..3),
                1 => 1 << rng.random_range(7..32u8),
                _ => 100,
            },
        };
        let bytes = shape.descriptor_bytes;
        let place = |rng: &mut StimulusRng| base + 64 * rng.random_range(0..=(0x1_0000 - bytes) / 64);
        let mut first = place(rng);
        match rng.random_range(0..8u8) {
            _ if quick => {}
            // Any bit of the window, or one that begins or ends about where a tag or the first
            // descriptor is.
            0 => limits.base ^= 1 << rng.random_range(0..64u8),
            1 => limits.limit ^= 1 << rng.random_range(0..64u8),
            2 => limits.limit = edge + rng.random_range(0..64),
            3 => limits.base = edge,
            4 => limits.limit = first + (bytes - 64) + rng.random_range(0..64),
            5 => (limits.base, limits.limit) = (0, u64::MAX),
            _ => {}
        }
        let mut memory = BTreeMap::new();
        let longest = if rng.random_range(0..8u8) == 0 { 10 } else { 5 };
        let (mut at, count) = (first, rng.random_range(1..longest));
        for left in (0..count).rev() {
            let next = if left == 0 { 0 } else { place(rng) };
            let mut descriptor: Vec<u8> = (0..bytes).map(|_| rng.random()).collect();
            descriptor[..4].copy_from_slice(b"SNBZ");
            (descriptor[4], descriptor[5]) = (1, rng.random_range(1..=shape.opcodes.max(1)));
            (descriptor[6], descriptor[7]) = (rng.random_range(0..16), 0);
            descriptor[8..16].copy_from_slice(&next.to_le_bytes());
            descriptor[20..24].fill(0);
            let tag_at = if rng.random() { edge } else { base + 64 * rng.random_range(0..0x400u64) };
            descriptor[24..32].copy_from_slice(&tag_at.to_le_bytes());
            if !quick && rng.random_range(0..6u8) == 0 {
                // One bit of the header is wrong, perhaps harmlessly.
                descriptor[rng.random_range(0..32)] ^= 1 << rng.random_range(0..8u8);
            }
            memory.insert(at, descriptor);
            at = next;
        }
        if !quick && rng.random_range(0..16u8) == 0 {
            first ^= 1 << rng.random_range(0..64u8);
        }
        let errors = if quick { 0 } else { rng.random_range(0..3) };
        let seed = rng.random();
        let outcomes = VecDeque::new();
        let rng = sim::stimulus::rng_for(seed, "outcomes");
        (limits, first, Drawn { memory, bytes: bytes as usize, rng, errors, outcomes, tags: 0, begun: None })
    }
}
