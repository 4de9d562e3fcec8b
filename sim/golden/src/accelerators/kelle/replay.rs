//! A run with cells that decay. The recorded accesses to rows of the cache are replayed in model cells, which forget
//! like the hardware's cells. Operations see the keys and values that these cells have.
//!
//! The recording says which row is read in which cycle. The replay checks that the rows belong to the tokens of the
//! operation, in the order of the contract.

use std::collections::VecDeque;

use crate::kelle::edram_bank::{Bank, Distribution};

use super::cache::Token;
use super::shape::Shape;

/// Groups of banks: high bytes of keys, low bytes of keys, then the same for values.
pub const GROUPS: usize = 4;

/// A read of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Whether the value is read, not the key.
    pub value: bool,
    /// Whether high bytes, and whether low bytes, are read.
    pub bytes: [bool; 2],
    /// Row.
    pub row: usize,
}

/// An access to a row of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A token is written. A token with a late value is written twice.
    Write(usize),
    /// A row is read.
    Read(Read),
    /// Banks of high bytes (0) or of low bytes (1) read a row for a refresh.
    RefreshRead {
        /// High bytes (0) or low bytes (1).
        byte: usize,
        /// Row.
        row: usize,
    },
    /// The banks write the row back.
    RefreshWrite {
        /// High bytes (0) or low bytes (1).
        byte: usize,
        /// Row.
        row: usize,
    },
}

/// Keys and values of tokens as they are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Keys, the oldest token's key first.
    pub keys: Vec<Vec<i64>>,
    /// Values.
    pub values: Vec<Vec<i64>>,
}

impl Shown {
    /// Keys and values as they were written.
    #[must_use]
    pub fn of<'a>(tokens: impl IntoIterator<Item = &'a Token>) -> Self {
        let (keys, values) = tokens.into_iter().map(|token| (token.key.clone(), token.value.clone())).unzip();
        Self { keys, values }
    }
}

/// Cells, and the accesses that are still to come.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Rows and columns of the array.
    array: [usize; 2],
    /// Banks by group and number.
    banks: Vec<Vec<Bank>>,
    buffers: Vec<Vec<Vec<bool>>>,
    /// Key and value that were written to a row.
    written: Vec<Option<[Vec<i64>; 2]>>,
    events: VecDeque<(u64, Event)>,
    fault: Option<String>,
}

impl Replay {
    /// Cells of an accelerator whose groups have `banks` banks. Each cell's time is drawn from `distribution`; a cycle
    /// is a nanosecond.
    #[must_use]
    pub fn new(shape: &Shape, banks: u32, seed: u64, distribution: &Distribution) -> Self {
        let (rows, bits) = (shape.cache_rows as usize, 8 * (shape.width / banks) as usize);
        let bank = |group: u64, number: u64| {
            Bank::sample(seed ^ number.rotate_left(32) ^ group.rotate_left(48), rows, bits, distribution)
        };
        let group = |group| (0..banks.into()).map(|number| bank(group, number)).collect();
        Self {
            array: [shape.rows as usize, shape.columns as usize],
            banks: (0..GROUPS as u64).map(group).collect(),
            buffers: vec![Vec::new(); GROUPS],
            written: vec![None; rows],
            events: VecDeque::new(),
            fault: None,
        }
    }

    /// The banks, by group and number.
    #[must_use]
    pub fn banks(&self) -> &[Vec<Bank>] {
        &self.banks
    }

    /// Accesses, and their cycles.
    #[must_use]
    pub fn with_events(self, events: Vec<(u64, Event)>) -> Self {
        Self { events: events.into(), ..self }
    }

    /// Flipped bits that were read.
    pub(super) fn end(&self) -> Result<u64, String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let access = |event: &&(u64, Event)| matches!(event.1, Event::Write(_) | Event::Read(_));
        match self.events.iter().find(access) {
            Some((cycle, event)) => Err(format!("{event:?} in cycle {cycle}: the jobs have ended, must be none")),
            None => Ok(self.banks.iter().flatten().map(Bank::flips).sum()),
        }
    }

    /// A token enters after others, and its queries attend to all of them. Returns the keys and values that they see. A
    /// late value is zeros until the first value is read. After a fault, keys and values are as they were written.
    pub(super) fn step(&mut self, old: &[Token], new: &Token, elements: usize, late: bool) -> Shown {
        let tokens: Vec<&Token> = old.iter().chain([new]).collect();
        self.shown(&tokens, |replay| {
            if !late {
                replay.write(new)?;
                let keys = replay.product(&tokens, elements, false)?;
                return Ok(Shown { keys, values: replay.product(&tokens, elements, true)? });
            }
            let without = Token { value: vec![0; new.value.len()], ..new.clone() };
            let row = replay.write(&without)?;
            let scored: Vec<&Token> = old.iter().chain([&without]).collect();
            let keys = replay.product(&scored, elements, false)?;
            let again = replay.write(new)?;
            if again != row {
                return Err(format!("a token with its value is written to row {again}, must be {row}"));
            }
            Ok(Shown { keys, values: replay.product(&tokens, elements, true)? })
        })
    }

    /// Recomputed key and value of a token replace its earlier ones, `before`.
    pub(super) fn come_again(&mut self, before: &[Vec<i64>; 2], token: &Token) {
        self.shown(&[token], |replay| {
            let held = replay.written.clone();
            let row = replay.write(token)?;
            match &held[row] {
                Some(held) if held == before => Ok(Shown::default()),
                _ => Err(format!("a recomputed token is written to row {row}, which is not its row")),
            }
        });
    }

    /// Tokens are saved to memory. Returns their keys and values as the cells have them.
    pub(super) fn save(&mut self, tokens: &[Token]) -> Shown {
        let tokens: Vec<&Token> = tokens.iter().collect();
        self.shown(&tokens, |replay| {
            let mut shown = Shown::default();
            for token in &tokens {
                shown.keys.push(integers(&replay.read(token, false, [true, true])?));
                shown.values.push(integers(&replay.read(token, true, [true, true])?));
            }
            Ok(shown)
        })
    }

    /// A saved token comes back.
    pub(super) fn restore(&mut self, token: &Token) {
        self.shown(&[token], |replay| replay.write(token).map(|_| Shown::default()));
    }

    fn shown(&mut self, tokens: &[&Token], read: impl FnOnce(&mut Self) -> Result<Shown, String>) -> Shown {
        if self.fault.is_none() {
            match read(self) {
                Ok(shown) => return shown,
                Err(fault) => self.fault = Some(fault),
            }
        }
        Shown::of(tokens.iter().copied())
    }

    /// The rows of a product, in the order of the array's panels.
    fn product(&mut self, tokens: &[&Token], elements: usize, value: bool) -> Result<Vec<Vec<i64>>, String> {
        let [rows, columns] = self.array;
        let (slices, panels) = (elements / columns, tokens.len().div_ceil(rows));
        let mut all = vec![vec![0u16; elements]; tokens.len()];
        let (groups, tiles) = if value { (slices, panels) } else { (panels, slices) };
        for (group, tile) in (0..groups).flat_map(|group| (0..tiles).map(move |tile| (group, tile))) {
            let (panel, slice) = if value { (tile, group) } else { (group, tile) };
            for bytes in [[true, false], [false, true]] {
                for position in panel * rows..tokens.len().min((panel + 1) * rows) {
                    let shown = self.read(tokens[position], value, bytes)?;
                    let here = slice * columns..(slice + 1) * columns;
                    all[position][here.clone()].iter_mut().zip(&shown[here]).for_each(|(all, byte)| *all |= byte);
                }
            }
        }
        Ok(all.iter().map(|vector| integers(vector)).collect())
    }

    /// The next access. Refreshes before it are done.
    fn access(&mut self) -> Result<(u64, Event), String> {
        while let Some((now, event)) = self.events.pop_front() {
            match event {
                Event::RefreshRead { byte, row } => {
                    for group in [byte, byte + 2] {
                        self.buffers[group] = self.banks[group].iter_mut().map(|bank| bank.read(row, now)).collect();
                    }
                }
                Event::RefreshWrite { byte, row } => {
                    for group in [byte, byte + 2] {
                        let words = self.banks[group].iter_mut().zip(&self.buffers[group]);
                        words.for_each(|(bank, word)| bank.write(row, now, word));
                    }
                }
                Event::Write(_) | Event::Read(_) => return Ok((now, event)),
            }
        }
        Err("the recorded accesses end before the jobs".into())
    }

    /// Does the write of a token, and returns its row.
    fn write(&mut self, token: &Token) -> Result<usize, String> {
        let (now, event) = self.access()?;
        let Event::Write(row) = event else {
            return Err(format!("{event:?} in cycle {now}: must be the write of a token"));
        };
        for (group, banks) in self.banks.iter_mut().enumerate() {
            let vector = if group < 2 { &token.key } else { &token.value };
            let shift = if group.is_multiple_of(2) { 8 } else { 0 };
            let lanes = vector.len() / banks.len();
            for (bank, elements) in banks.iter_mut().zip(vector.chunks(lanes)) {
                let bits = elements.iter().flat_map(|element| (0..8).map(move |bit| element >> (shift + bit) & 1 == 1));
                bank.write(row, now, &bits.collect::<Vec<bool>>());
            }
        }
        self.written[row] = Some([token.key.clone(), token.value.clone()]);
        Ok(row)
    }

    /// The bytes that a read of a token shows, in their places, and zeros elsewhere.
    fn read(&mut self, token: &Token, value: bool, bytes: [bool; 2]) -> Result<Vec<u16>, String> {
        let (now, event) = self.access()?;
        let right = match event {
            Event::Read(read) => read.value == value && read.bytes == bytes,
            _ => false,
        };
        let (Event::Read(Read { row, .. }), true) = (event, right) else {
            return Err(format!("{event:?} in cycle {now}: must be a read with value {value} and bytes {bytes:?}"));
        };
        let same = |written: &[Vec<i64>; 2]| written[0] == token.key && written[1] == token.value;
        if !self.written[row].as_ref().is_some_and(same) {
            return Err(format!("row {row} is read in cycle {now}: it holds another token"));
        }
        let mut shown = vec![0u16; token.key.len()];
        for byte in (0..2).filter(|&byte| bytes[byte]) {
            let banks = &mut self.banks[2 * usize::from(value) + byte];
            let lanes = shown.len() / banks.len();
            for (bank, elements) in banks.iter_mut().zip(shown.chunks_mut(lanes)) {
                let word = bank.read(row, now);
                for (element, bits) in elements.iter_mut().zip(word.chunks(8)) {
                    let byte_here = bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u16::from(bit));
                    *element |= byte_here << if byte == 0 { 8 } else { 0 };
                }
            }
        }
        Ok(shown)
    }
}

/// 16 bits, two's complement.
fn integers(vector: &[u16]) -> Vec<i64> {
    vector.iter().map(|&element| i64::from(element as i16)).collect()
}
