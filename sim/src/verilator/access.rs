//! Ports of a running instance: handles, poke and peek.
//!
//! Values go through the addresses of Verilator's members, without a search and without a call into the model.

use std::ffi::c_void;

use super::design::{Dir, Port};
use super::instance::Sim;
use super::slot::Slot;
use crate::bits::{Bits, mask, words_of};
use crate::mutate::SELECT;
use crate::{Error, Result};

/// Handle of an input: found once by name, then used without a search. Valid for all instances of the same design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct In(pub(super) u32);

/// Handle of an output. Valid for all instances of the same design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Out(pub(super) u32);

/// A struct of port handles and its `find(&Sim)`, which looks them all up by name.
///
/// ```
/// sim::handles! {
///     /// Ports of a counter.
///     struct Ports {
///         enable: In = "enable_i",
///         count: Out = "count_o",
///     }
/// }
/// # let _ = Ports::find;
/// ```
#[macro_export]
macro_rules! handles {
    ($(#[$about:meta])* $visible:vis struct $name:ident { $($shown:vis $field:ident: $kind:ident = $port:literal),+ $(,)? }) => {
        $(#[$about])*
        $visible struct $name {
            $($shown $field: $crate::$kind),+
        }

        impl $name {
            /// Finds the ports.
            ///
            /// # Errors
            /// A port that the design does not have.
            $visible fn find(sim: &$crate::Sim) -> $crate::Result<Self> {
                Ok(Self { $($field: $crate::handles!(@$kind sim, $port)?),+ })
            }
        }
    };
    (@In $sim:ident, $port:literal) => { $sim.input($port) };
    (@Out $sim:ident, $port:literal) => { $sim.output($port) };
}

impl Sim {
    /// The input `name`.
    pub fn input(&self, name: &str) -> Result<In> {
        self.find(name, Dir::Input).map(In)
    }

    /// The output `name`.
    pub fn output(&self, name: &str) -> Result<Out> {
        self.find(name, Dir::Output).map(Out)
    }

    /// The port of an output handle.
    pub fn port_of(&self, output: Out) -> &Port {
        &self.model.ports[output.0 as usize]
    }

    /// The port of an input handle.
    pub fn port_of_input(&self, input: In) -> &Port {
        &self.model.ports[input.0 as usize]
    }

    /// Sets an input of any width to an unsigned value.
    #[inline]
    pub fn poke_u64(&mut self, input: In, value: u64) {
        let index = input.0 as usize;
        let width = self.slots[index].width;
        if value & !mask(width) != 0 {
            return self.misfit(index, value.to_string());
        }
        self.write_u64(index, value);
    }

    /// Sets an input of any width to a two's-complement value.
    #[inline]
    pub fn poke_i64(&mut self, input: In, value: i64) {
        let index = input.0 as usize;
        let width = self.slots[index].width;
        if width < 64 && !matches!(value >> (width - 1), 0 | -1) {
            return self.misfit(index, value.to_string());
        }
        if width <= 64 {
            self.write_u64(index, value as u64 & mask(width));
        } else {
            self.write_words(index, &Bits::sign_extended(width, value));
        }
    }

    /// Sets an input; the width must be the port's.
    pub fn poke(&mut self, input: In, value: &Bits) {
        let index = input.0 as usize;
        if value.width() != self.slots[index].width {
            return self.misfit(index, value.to_string());
        }
        self.write_words(index, value);
    }

    /// Sets an input wider than 64 bits from 32-bit words, least significant first, without allocation. Missing words
    /// are zero.
    ///
    /// # Panics
    /// When the port has at most 64 bits: use [`Sim::poke_u64`].
    pub fn poke_words(&mut self, input: In, words: &[u32]) {
        let index = input.0 as usize;
        let slot = &self.slots[index];
        assert!(
            slot.width > 64,
            "`{}` has {} bits: set it with `poke_u64`",
            self.port_of_input(input).name,
            slot.width
        );
        let count = words_of(slot.width);
        let top_bits = slot.width % 32;
        let too_high = top_bits != 0 && words.get(count - 1).is_some_and(|&top| top >> top_bits != 0);
        if too_high || words.iter().skip(count).any(|&w| w != 0) {
            return self.misfit(index, format!("{words:x?}"));
        }
        self.settled = false;
        // SAFETY: wide members are arrays of `words_of(width)` 32-bit words.
        let target = unsafe { std::slice::from_raw_parts_mut(slot.address.cast::<u32>(), count) };
        let given = words.len().min(count);
        target[..given].copy_from_slice(&words[..given]);
        target[given..].fill(0);
    }

    /// Sets an input of any width from 64-bit words, least significant first, without allocation. Words and bits above
    /// the port are dropped, missing words are zero.
    #[inline]
    pub fn poke_u64s(&mut self, input: In, words: &[u64]) {
        let index = input.0 as usize;
        let slot = &self.slots[index];
        if slot.width <= 64 {
            let low = words.first().copied().unwrap_or_default() & mask(slot.width);
            return self.write_u64(index, low);
        }
        self.settled = false;
        let count = words_of(slot.width);
        // SAFETY: wide members are arrays of `words_of(width)` 32-bit words.
        let target = unsafe { std::slice::from_raw_parts_mut(slot.address.cast::<u32>(), count) };
        let mut words = words.iter();
        for halves in target.chunks_mut(2) {
            let word = words.next().copied().unwrap_or_default();
            for (i, half) in halves.iter_mut().enumerate() {
                *half = (word >> (32 * i)) as u32;
            }
        }
        let used = slot.width % 32;
        if used != 0 {
            target[count - 1] &= (1 << used) - 1;
        }
    }

    /// Reads a port of any width into 64-bit words, least significant first, without allocation. Words above the port
    /// become zero. Bits that do not fit are left out.
    #[inline]
    pub fn peek_u64s(&self, output: Out, words: &mut [u64]) {
        let slot = &self.slots[output.0 as usize];
        if slot.width <= 64 {
            words.fill(0);
            if let Some(low) = words.first_mut() {
                *low = self.peek_u64(output);
            }
            return;
        }
        // SAFETY: wide members are arrays of `words_of(width)` 32-bit words.
        let source = unsafe { std::slice::from_raw_parts(slot.address.cast::<u32>(), words_of(slot.width)) };
        let mut halves = source.chunks(2);
        for word in words {
            *word = halves.next().map_or(0, |pair| pair.iter().rev().fold(0, |high, &low| high << 32 | u64::from(low)));
        }
    }

    /// Whether the active-low reset is low.
    #[inline]
    pub fn in_reset(&self) -> bool {
        // SAFETY: the reset is a one-bit input, checked when the model was built; such members are bytes.
        self.model.reset.is_some_and(|reset| unsafe { *self.slots[reset].address } == 0)
    }

    /// Reads a port of up to 64 bits.
    ///
    /// # Panics
    /// When the port is wider: use [`Sim::peek`].
    #[inline]
    pub fn peek_u64(&self, output: Out) -> u64 {
        let slot = &self.slots[output.0 as usize];
        // SAFETY: the address belongs to a live C++ member whose type follows from the width.
        unsafe {
            match slot.width {
                0..=8 => u64::from(*slot.address),
                9..=16 => u64::from(*slot.address.cast::<u16>()),
                17..=32 => u64::from(*slot.address.cast::<u32>()),
                33..=64 => *slot.address.cast::<u64>(),
                width => panic!("`{}` has {width} bits: read it with `peek`", self.port_of(output).name),
            }
        }
    }

    /// Reads a port of up to 64 bits as two's complement.
    ///
    /// # Panics
    /// When the port is wider: use [`Sim::peek`].
    #[inline]
    pub fn peek_i64(&self, output: Out) -> i64 {
        let shift = 64 - self.slots[output.0 as usize].width;
        ((self.peek_u64(output) << shift) as i64) >> shift
    }

    /// Reads a port of any width.
    pub fn peek(&self, output: Out) -> Bits {
        let slot = &self.slots[output.0 as usize];
        if slot.width <= 64 {
            return Bits::truncated(slot.width, self.peek_u64(output));
        }
        // SAFETY: wide members are arrays of 32-bit words.
        let words = unsafe { std::slice::from_raw_parts(slot.address.cast::<u32>(), words_of(slot.width)) };
        Bits::from_words(slot.width, words)
    }

    /// Like [`Sim::reset`], but `noise` sets all other inputs of the design before each edge; its argument is the
    /// width. So a register that the reset forgets is not right by chance. Afterwards the inputs get their values back.
    pub(crate) fn reset_among(&mut self, cycles: u64, mut noise: impl FnMut(u32) -> Bits) -> Result<()> {
        let fixed = [self.model.clock, self.model.reset];
        let is_noisy = |(index, port): (usize, &Port)| {
            let noisy = port.dir == Dir::Input && port.name != SELECT && !fixed.contains(&Some(index));
            noisy.then_some(index as u32)
        };
        let inputs: Vec<u32> = self.model.ports.iter().enumerate().filter_map(is_noisy).collect();
        let before: Vec<Bits> = inputs.iter().map(|&index| self.peek(Out(index))).collect();
        for _ in 0..cycles {
            for &index in &inputs {
                let value = noise(self.slots[index as usize].width);
                self.poke(In(index), &value);
            }
            self.reset(1)?;
        }
        inputs.iter().zip(&before).for_each(|(&index, value)| self.poke(In(index), value));
        Ok(())
    }

    pub(super) fn find_slots(&self) -> Box<[Slot]> {
        let mut addresses = vec![std::ptr::null_mut::<c_void>(); self.model.ports.len()];
        // SAFETY: the shim writes one address per port, in the order of `ports`.
        unsafe { (self.model.api.ports)(self.instance, addresses.as_mut_ptr()) };
        let slot = |(port, address): (&Port, *mut c_void)| Slot { address: address.cast(), width: port.width };
        self.model.ports.iter().zip(addresses).map(slot).collect()
    }

    fn find(&self, name: &str, dir: Dir) -> Result<u32> {
        let ports = &self.model.ports;
        if let Some(index) = ports.iter().position(|p| p.name == name && p.dir == dir) {
            return Ok(index as u32);
        }
        let known: Vec<&str> = ports.iter().filter(|p| p.dir == dir).map(|p| p.name.as_str()).collect();
        Err(Error::UnknownPort {
            top: self.model.top.clone(),
            direction: dir.name(),
            name: name.to_owned(),
            known: known.join(", "),
        })
    }

    #[inline]
    pub(super) fn write_u64(&mut self, index: usize, value: u64) {
        self.settled = false;
        let slot = &self.slots[index];
        // SAFETY: the address belongs to a live C++ member whose type follows from the width.
        unsafe {
            match slot.width {
                0..=8 => *slot.address = value as u8,
                9..=16 => *slot.address.cast::<u16>() = value as u16,
                17..=32 => *slot.address.cast::<u32>() = value as u32,
                33..=64 => *slot.address.cast::<u64>() = value,
                width => self.write_words(index, &Bits::truncated(width, value)),
            }
        }
    }

    fn write_words(&mut self, index: usize, value: &Bits) {
        self.settled = false;
        let slot = &self.slots[index];
        if slot.width <= 64 {
            return self.write_u64(index, value.field(0, slot.width));
        }
        let words = value.words();
        // SAFETY: wide members are arrays of `words_of(width)` words, and the widths are equal.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), slot.address.cast::<u32>(), words.len()) };
    }

    #[cold]
    fn misfit(&mut self, index: usize, value: String) {
        let port = &self.model.ports[index];
        let error = Error::Poke { cycle: self.cycle, port: port.name.clone(), width: port.width, value };
        self.fault.get_or_insert(error);
    }
}
