//! Random jobs: chains of descriptors, right and wrong, and the memory that they work on.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use golden::accelerators::job::{Accelerator, independence};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use hdl::lang::operation::HEADER_BYTES;
use rand::RngExt;
use sim::stimulus::StimulusRng;

use crate::draw::numbers;

/// Bytes of memory that a job may touch, unless it needs more.
const ARENA: u64 = 1 << 15;
/// A job that needs more than this is a fault of its bench.
const LARGEST_ARENA: u64 = 1 << 26;
/// Bytes of a descriptor.
pub const DESCRIPTOR: u64 = 128;

/// A job and the memory it works on.
#[derive(Clone, Debug)]
pub struct Program {
    /// The limits that the host sets.
    pub limits: Limits,
    /// Address of the first descriptor.
    pub job: u64,
    /// Address of the image.
    pub base: u64,
    /// Bytes from there on.
    pub image: Vec<u8>,
    /// Nothing overlaps: all results are defined.
    pub plain: bool,
    /// The free part, in bytes from the beginning of the image; multiples of 64.
    free: Range<u64>,
    /// Something wanted more memory than there was: the job is drawn again in a larger arena.
    is_short: bool,
    /// The last byte of the bus.
    top: u64,
    /// Some rows lie beyond the image: see [`Program::spread`].
    is_spread: bool,
}

/// Bits of the header of the first descriptor.
const HEADER_BITS: u64 = 8 * HEADER_BYTES as u64;

/// Bits of a job that [`Program::change`] can change: the bits of its first descriptor's header, of JOB, and of both ends
/// of the window.
pub const BITS: u64 = HEADER_BITS + 3 * 64;

impl Program {
    /// A chain of one to `most` descriptors on a bus of `address_width` bits; of each four chains one is spoilt. `descriptor`
    /// draws one, takes memory for its operands, and may put something there: everywhere else are numbers of fp16. It keeps
    /// in its last argument what later descriptors of the chain depend on; `before` is that before the chain.
    ///
    /// Memory is as large as the job needs, for any parameters of an accelerator: a chain that needs more is drawn again.
    ///
    /// # Panics
    /// A job wants more than 64 MiB.
    pub fn draw<S: Clone>(
        rng: &mut StimulusRng,
        address_width: u32,
        most: u32,
        before: &S,
        descriptor: impl Fn(&mut StimulusRng, &mut Self, &mut S) -> [u8; DESCRIPTOR as usize],
    ) -> Self {
        let seed = rng.clone();
        let mut arena = ARENA;
        loop {
            let mut state = before.clone();
            let program =
                Self::in_arena(rng, arena, address_width, most, |rng, program| descriptor(rng, program, &mut state));
            if !program.is_short {
                return program;
            }
            rng.clone_from(&seed);
            arena *= 2;
            assert!(arena <= LARGEST_ARENA, "a job needs less than {LARGEST_ARENA} bytes");
        }
    }

    fn in_arena(
        rng: &mut StimulusRng,
        arena: u64,
        address_width: u32,
        most: u32,
        mut descriptor: impl FnMut(&mut StimulusRng, &mut Self) -> [u8; DESCRIPTOR as usize],
    ) -> Self {
        let top = if address_width == 64 { u64::MAX } else { (1 << address_width) - 1 };
        // Anywhere, at the very end of all addresses too.
        let last = (top - (arena - 1)) / 4096;
        let page = if rng.random_range(0..4u8) == 0 { last } else { rng.random_range(0..=last) };
        let base = 4096 * page;
        let mut image = Vec::new();
        while image.len() < arena as usize {
            image.extend(numbers(rng, 64).into_iter().flat_map(u16::to_le_bytes));
        }
        let count = rng.random_range(1..=most);
        let limits =
            Limits { base, limit: base + (arena - 1), max_descriptors: [count, 7][rng.random_range(0..2usize)] };
        let mut program = Self {
            limits,
            job: base,
            base,
            image,
            plain: true,
            free: 0..arena,
            is_short: false,
            top,
            is_spread: false,
        };
        let mut chain = Vec::new();
        for _ in 0..count {
            // A descriptor may lie on either side of its operands.
            let first = rng.random::<bool>().then(|| program.take(rng, DESCRIPTOR));
            let bytes = descriptor(rng, &mut program);
            chain.push((first.unwrap_or_else(|| program.take(rng, DESCRIPTOR)), bytes));
        }
        let at: Vec<u64> = chain.iter().map(|(address, _)| *address).collect();
        program.job = at[0];
        for (k, (address, mut bytes)) in chain.into_iter().enumerate() {
            let next = at.get(k + 1).copied().unwrap_or(0);
            bytes[8..16].copy_from_slice(&next.to_le_bytes());
            program.put(address, &bytes);
        }
        if !program.is_short && rng.random_range(0..4u8) == 0 {
            program.spoil(rng, &at);
        }
        program
    }

    /// Stores bytes at an address of the memory.
    ///
    /// # Panics
    /// Some of them are outside.
    pub fn put(&mut self, address: u64, bytes: &[u8]) {
        if self.is_short {
            return;
        }
        let at = (address - self.base) as usize;
        self.image[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Memory that nobody else has, at a multiple of 64, at either end of the free part. Where less is free, the
    /// address means nothing, and the whole job is drawn again.
    pub fn take(&mut self, rng: &mut StimulusRng, bytes: u64) -> u64 {
        let gap = 64 * rng.random_range(0..3);
        let gap = if gap + bytes <= self.left() { gap } else { 0 };
        if gap + bytes > self.left() {
            self.is_short = true;
            return self.base;
        }
        let at = if rng.random() { self.free.start + gap } else { (self.free.end - gap - bytes) / 64 * 64 };
        if at == self.free.start + gap {
            self.free.start = (at + bytes).next_multiple_of(64);
        } else {
            self.free.end = at;
        }
        self.base + at
    }

    /// A stride with which all rows of an operand but the first lie beyond the image, where nothing else is. It is a
    /// power of two, or any stride; the window grows. A job has at most one such operand. The operand has several rows,
    /// and does not pass the end of the addresses.
    pub fn spread(&mut self, rng: &mut StimulusRng, address: u64, [rows, row_bytes]: [u64; 2]) -> Option<u32> {
        if self.is_short {
            return None;
        }
        let least = self.image.len() as u64 - (address - self.base);
        let most = (self.top - address - (row_bytes - 1)).checked_div(rows - 1)?.min(u32::MAX.into()) / 64 * 64;
        if self.is_spread || most < least {
            return None;
        }
        let power = 1 << rng.random_range(0..32u8);
        let stride =
            if (least..=most).contains(&power) { power } else { 64 * rng.random_range(least / 64..=most / 64) };
        self.is_spread = true;
        self.limits.limit = self.limits.limit.max(address + (rows - 1) * stride + row_bytes - 1);
        Some(stride as u32)
    }

    /// Bytes that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.free.end - self.free.start
    }

    /// The first descriptor, where the program has put it.
    ///
    /// # Panics
    /// The job begins outside of the image.
    pub fn first(&mut self) -> &mut [u8; DESCRIPTOR as usize] {
        let at = (self.job - self.base) as usize;
        let bytes = &mut self.image[at..at + DESCRIPTOR as usize];
        bytes.try_into().expect("a descriptor has as many bytes")
    }

    /// All bytes may be touched.
    pub fn open(&mut self) {
        (self.limits.base, self.limits.limit) = (0, u64::MAX);
    }

    /// Changes the bit of the job with this number, below [`BITS`].
    pub fn change(&mut self, bit: u64) {
        let field = bit.checked_sub(HEADER_BITS).map(|bit| (bit / 64, 1 << (bit % 64)));
        match field {
            None => self.image[(self.job - self.base + bit / 8) as usize] ^= 1 << (bit % 8),
            Some((0, mask)) => self.job ^= mask,
            Some((1, mask)) => self.limits.base ^= mask,
            Some((_, mask)) => self.limits.limit ^= mask,
        }
    }

    /// Something about the chain is wrong, or only odd.
    fn spoil(&mut self, rng: &mut StimulusRng, at: &[u64]) {
        self.plain = false;
        let offset = (at[rng.random_range(0..at.len())] - self.base) as usize;
        let bytes = &mut self.image[offset..offset + 128];
        match rng.random_range(0..6u8) {
            // Bits.
            0 | 1 => (0..rng.random_range(1..4u8))
                .for_each(|_| bytes[rng.random_range(0..128usize)] ^= 1 << rng.random_range(0..8u8)),
            // A field's byte.
            2 => bytes[rng.random_range(32..128usize)] = rng.random(),
            // Anything after a good header.
            3 => bytes[32..].iter_mut().for_each(|byte| *byte = rng.random()),
            // The window ends earlier, or begins later.
            4 => self.limits.limit -= rng.random_range(0..self.image.len() as u64 / 2),
            // A loop.
            _ => {
                let to = at[rng.random_range(0..at.len())];
                bytes[8..16].copy_from_slice(&to.to_le_bytes());
            }
        }
    }

    /// Descriptors say of how many operations right before them they are independent: the largest number that is true, or
    /// one that is smaller. Most drawn numbers are wrong where operations use the same state of an accelerator. `model`
    /// stands as before the job, and does it.
    pub fn order(&mut self, rng: &mut StimulusRng, model: &impl Accelerator) {
        let mut memory = SparseMemory::new();
        memory.store(self.base, &self.image);
        // A loop comes to a descriptor several times.
        let mut least = BTreeMap::new();
        for (address, [independent, _]) in independence(model, self.limits, self.job, &mut memory) {
            let number = least.entry(address).or_insert(independent);
            *number = independent.min(*number);
        }
        for (address, independent) in least {
            let flags = address.wrapping_sub(self.base).wrapping_add(6) as usize;
            let Some(flags) = self.image.get_mut(flags) else { continue };
            let said = *flags >> 1 & 7;
            let says = if rng.random() { independent } else { said.min(independent) };
            *flags = *flags & !0xe | says << 1;
        }
    }

    /// 64 bytes of the memory.
    pub fn any_block(&self, rng: &mut StimulusRng) -> RangeInclusive<u64> {
        let first = self.base + 64 * rng.random_range(0..self.image.len() as u64 / 64);
        first..=first + 63
    }
}
