//! [`Memory`]: sparse bytes that remember which of them a design read and wrote.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::burst::{BOUNDARY, ones};
use super::signals::Data;

const PAGE: usize = BOUNDARY as usize;
const MARKS: usize = PAGE / 64;

/// Bytes at 64-bit addresses, zero until written. A test loads and inspects the memory without leaving marks. Accesses
/// of the design through a bus are marked byte by byte.
#[derive(Clone, Default)]
pub struct Memory {
    pages: Vec<Page>,
    numbers: BTreeMap<u64, usize>,
}

#[derive(Clone)]
struct Page {
    bytes: Box<[u8; PAGE]>,
    written: Box<[u64; MARKS]>,
    read: Box<[u64; MARKS]>,
}

impl Page {
    fn new() -> Self {
        let marks = || Box::new([0; MARKS]);
        Self { bytes: Box::new([0; PAGE]), written: marks(), read: marks() }
    }
}

impl Memory {
    /// All zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores bytes from `address` on, for the test.
    pub fn store(&mut self, address: u64, bytes: &[u8]) {
        let (mut at, mut left) = (address, bytes);
        while !left.is_empty() {
            let offset = (at % BOUNDARY) as usize;
            let (now, later) = left.split_at(left.len().min(PAGE - offset));
            let page = self.page_of(at);
            self.pages[page].bytes[offset..offset + now.len()].copy_from_slice(now);
            (at, left) = (at.wrapping_add(now.len() as u64), later);
        }
    }

    /// Loads bytes from `address` on, for the test.
    pub fn load(&self, address: u64, bytes: &mut [u8]) {
        let (mut at, mut left) = (address, bytes);
        while !left.is_empty() {
            let offset = (at % BOUNDARY) as usize;
            let (now, later) = left.split_at_mut(left.len().min(PAGE - offset));
            match self.numbers.get(&(at / BOUNDARY)) {
                Some(&page) => now.copy_from_slice(&self.pages[page].bytes[offset..offset + now.len()]),
                None => now.fill(0),
            }
            (at, left) = (at.wrapping_add(now.len() as u64), later);
        }
    }

    /// `count` bytes from `address` on.
    pub fn bytes(&self, address: u64, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.load(address, &mut bytes);
        bytes
    }

    /// Stores a little-endian word.
    pub fn store_u32(&mut self, address: u64, value: u32) {
        self.store(address, &value.to_le_bytes());
    }

    /// Loads a little-endian word.
    pub fn load_u32(&self, address: u64) -> u32 {
        let mut bytes = [0; 4];
        self.load(address, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    /// Stores a little-endian word.
    pub fn store_u64(&mut self, address: u64, value: u64) {
        self.store(address, &value.to_le_bytes());
    }

    /// Loads a little-endian word.
    pub fn load_u64(&self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        self.load(address, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// The addresses that the design wrote, as ascending ranges that do not touch.
    pub fn written(&self) -> Vec<RangeInclusive<u64>> {
        self.marked(|page| &page.written)
    }

    /// The addresses that the design read, as ascending ranges that do not touch.
    pub fn read(&self) -> Vec<RangeInclusive<u64>> {
        self.marked(|page| &page.read)
    }

    /// The first range that the design wrote outside of all areas in `allowed`. An area is an address and a number of
    /// bytes.
    pub fn written_outside(&self, allowed: &[(u64, u64)]) -> Option<RangeInclusive<u64>> {
        outside(&self.written(), allowed)
    }

    /// The first range that the design read outside of all areas in `allowed`. An area is an address and a number of
    /// bytes.
    pub fn read_outside(&self, allowed: &[(u64, u64)]) -> Option<RangeInclusive<u64>> {
        outside(&self.read(), allowed)
    }

    /// Forgets the marks of reads and writes, but not the bytes.
    pub fn clear_marks(&mut self) {
        for page in &mut self.pages {
            page.written.fill(0);
            page.read.fill(0);
        }
    }

    fn marked(&self, marks: impl Fn(&Page) -> &[u64; MARKS]) -> Vec<RangeInclusive<u64>> {
        let runs = self.numbers.iter().flat_map(|(&number, &page)| {
            let marks = marks(&self.pages[page]);
            runs_of(marks).into_iter().map(move |(start, end)| (number, start, end))
        });
        merge(runs)
    }

    /// Index of the page of `address`, for [`Memory::bus_read`] and [`Memory::bus_write`]; it stays the same.
    pub(super) fn page_of(&mut self, address: u64) -> usize {
        *self.numbers.entry(address / BOUNDARY).or_insert_with(|| {
            self.pages.push(Page::new());
            self.pages.len() - 1
        })
    }

    /// The data that a bus of `bus` bytes reads at `address` on the byte `lanes`. The other lanes hold the complement
    /// of memory, so that the bench notices a design that takes them.
    #[inline]
    pub(super) fn bus_read(&mut self, page: usize, address: u64, bus: u64, lanes: u128, data: &mut Data) {
        let page = &mut self.pages[page];
        let offset = (address % BOUNDARY) as usize & !(bus as usize - 1);
        mark(&mut page.read, offset, lanes);
        let bytes = &page.bytes[offset..offset + bus as usize];
        if bus < 8 {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            data[0] = (u64::from_le_bytes(word) ^ !bytes_of(lanes as u8)) & ones(8 * bus) as u64;
            return;
        }
        for (word, bytes) in data.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        if lanes != ones(bus) {
            for (i, word) in data[..bus as usize / 8].iter_mut().enumerate() {
                *word ^= !bytes_of((lanes >> (8 * i)) as u8);
            }
        }
    }

    /// A write of a bus of `bus` bytes at `address`, of the bytes in `strb`.
    #[inline]
    pub(super) fn bus_write(&mut self, page: usize, address: u64, bus: u64, strb: u128, data: &Data) {
        let page = &mut self.pages[page];
        let offset = (address % BOUNDARY) as usize & !(bus as usize - 1);
        mark(&mut page.written, offset, strb);
        let bytes = &mut page.bytes[offset..offset + bus as usize];
        if bus < 8 {
            for (lane, byte) in bytes.iter_mut().enumerate().filter(|(lane, _)| strb >> lane & 1 == 1) {
                *byte = (data[0] >> (8 * lane)) as u8;
            }
            return;
        }
        let words = data.iter().zip(bytes.as_chunks_mut().0);
        if strb == ones(bus) {
            words.for_each(|(word, bytes)| *bytes = word.to_le_bytes());
            return;
        }
        for (i, (word, bytes)) in words.enumerate() {
            let keep = bytes_of((strb >> (8 * i)) as u8);
            *bytes = (u64::from_le_bytes(*bytes) & !keep | word & keep).to_le_bytes();
        }
    }
}

/// 0xff for each bit that is set.
fn bytes_of(bits: u8) -> u64 {
    const TABLE: [u64; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let mut bit = 0;
            while bit < 8 {
                if i >> bit & 1 == 1 {
                    table[i] |= 0xff << (8 * bit);
                }
                bit += 1;
            }
            i += 1;
        }
        table
    };
    TABLE[usize::from(bits)]
}

/// Sets the marks of the bytes `lanes` from `offset` on; a beat lies in one word of marks or in two whole ones.
fn mark(marks: &mut [u64; MARKS], offset: usize, lanes: u128) {
    marks[offset / 64] |= (lanes as u64) << (offset % 64);
    if lanes >> 64 != 0 {
        marks[offset / 64 + 1] |= (lanes >> 64) as u64;
    }
}

/// Runs of ones, as byte offsets in a page.
fn runs_of(marks: &[u64; MARKS]) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (i, &word) in marks.iter().enumerate() {
        let mut at = 0;
        while at < 64 && word >> at != 0 {
            let start = at + (word >> at).trailing_zeros();
            let end = start + (word >> start).trailing_ones();
            let (from, to) = (64 * i as u64 + u64::from(start), 64 * i as u64 + u64::from(end));
            match runs.last_mut() {
                Some((_, end)) if *end == from => *end = to,
                _ => runs.push((from, to)),
            }
            at = end;
        }
    }
    runs
}

/// Joins runs within pages to ranges of addresses.
fn merge(runs: impl Iterator<Item = (u64, u64, u64)>) -> Vec<RangeInclusive<u64>> {
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for (page, start, end) in runs {
        let base = page * BOUNDARY;
        let (start, last) = (base + start, base + (end - 1));
        match ranges.last_mut() {
            Some(range) if range.end().checked_add(1) == Some(start) => *range = *range.start()..=last,
            _ => ranges.push(start..=last),
        }
    }
    ranges
}

fn outside(marked: &[RangeInclusive<u64>], allowed: &[(u64, u64)]) -> Option<RangeInclusive<u64>> {
    let filled = allowed.iter().filter(|(_, bytes)| *bytes > 0);
    let mut allowed: Vec<_> = filled.map(|&(address, bytes)| (address, address.saturating_add(bytes - 1))).collect();
    allowed.sort_unstable();
    for range in marked {
        let mut from = Some(*range.start());
        for &(first, last) in &allowed {
            // There is no byte after the last address.
            from = from.and_then(|at| if (first..=last).contains(&at) { last.checked_add(1) } else { Some(at) });
        }
        if let Some(from) = from.filter(|from| from <= range.end()) {
            let next = allowed.iter().find(|a| a.0 > from).map_or(u64::MAX, |a| a.0 - 1);
            return Some(from..=next.min(*range.end()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(value: u64) -> Data {
        let mut data = Data::default();
        data[0] = value;
        data
    }

    #[test]
    fn the_test_side_leaves_no_marks() {
        let mut memory = Memory::new();
        memory.store(0xffe, &[1, 2, 3, 4]);
        assert_eq!(memory.bytes(0xffd, 6), [0, 1, 2, 3, 4, 0]);
        assert_eq!(memory.load_u32(0xffe), 0x0403_0201);
        memory.store_u64(u64::MAX - 3, 0x8877_6655_4433_2211);
        assert_eq!((memory.load_u32(u64::MAX - 3), memory.load_u32(0)), (0x4433_2211, 0x8877_6655));
        assert!(memory.written().is_empty() && memory.read().is_empty());
        memory.store_u32(0x10, 5);
        assert_eq!(memory.load_u64(0xc), 5 << 32);
    }

    #[test]
    fn strobes_choose_bytes_on_every_bus_width() {
        for bus in [1, 2, 4, 8, 16, 32, 64, 128_u64] {
            let mut memory = Memory::new();
            let address = 3 * bus;
            let page = memory.page_of(address);
            memory.store(address, &vec![0xee; bus as usize]);
            let data = [0x0706_0504_0302_0100; 16];
            let strb = 0x5555_5555_5555_5555_5555_5555_5555_5555 & ones(bus);
            memory.bus_write(page, address, bus, strb, &data);
            for lane in 0..bus {
                let expected = if lane % 2 == 0 { (lane % 8) as u8 } else { 0xee };
                assert_eq!(memory.bytes(address + lane, 1), [expected], "bus {bus}, lane {lane}");
            }
            assert_eq!(memory.written().len() as u64, bus.div_ceil(2));
            let mut back = Data::default();
            memory.bus_read(page, address, bus, strb, &mut back);
            for lane in 0..bus {
                let byte = (back[lane as usize / 8] >> (lane % 8 * 8)) as u8;
                let expected = if lane % 2 == 0 { (lane % 8) as u8 } else { !0xee };
                assert_eq!(byte, expected, "bus {bus}, lane {lane}");
            }
            assert_eq!(memory.read(), memory.written());
            assert!(bus < 8 || back[(bus / 8) as usize..].iter().all(|&w| w == 0));
        }
    }

    #[test]
    fn ranges_join_across_words_and_pages() {
        let mut memory = Memory::new();
        for address in (0xf80..0x1080).step_by(8) {
            let page = memory.page_of(address);
            memory.bus_write(page, address, 8, 0xff, &word(address));
        }
        let page = memory.page_of(u64::MAX);
        memory.bus_write(page, u64::MAX - 7, 8, 0x80, &word(7 << 56));
        assert_eq!(memory.written(), [0xf80..=0x107f, u64::MAX..=u64::MAX]);
        assert_eq!(memory.written_outside(&[(0xf80, 256)]), Some(u64::MAX..=u64::MAX));
        memory.clear_marks();
        assert!(memory.written().is_empty());
        assert_eq!(memory.load_u64(0x1000), 0x1000);
    }

    #[test]
    fn what_is_outside_is_found() {
        let mut memory = Memory::new();
        let page = memory.page_of(0x100);
        memory.bus_write(page, 0x100, 16, 0xffff, &Data::default());
        assert_eq!(memory.written_outside(&[(0x108, 8), (0x100, 8)]), None);
        assert_eq!(memory.written_outside(&[(0x108, 8)]), Some(0x100..=0x107));
        assert_eq!(memory.written_outside(&[(0x100, 4), (0x106, 10)]), Some(0x104..=0x105));
        assert_eq!(memory.written_outside(&[(0x100, 15)]), Some(0x10f..=0x10f));
        assert_eq!(memory.written_outside(&[]), Some(0x100..=0x10f));
        assert_eq!(memory.read_outside(&[]), None);
    }
}
