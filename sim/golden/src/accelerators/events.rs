//! Events of operations that take energy: products, accesses to memories on the chip, beats of the bus.
//!
//! An accelerator says itself which events its operations make. Other code only adds them up.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Kinds of events that accelerators share. An accelerator may have kinds of its own.
pub mod kind {
    /// A multiply-accumulate, or what an accelerator does instead.
    pub const PRODUCT: &str = "product";
    /// An element that passes a step of arithmetic on rows, or on results.
    pub const ELEMENT: &str = "element";
    /// A word that is read from an SRAM.
    pub const SRAM_READ: &str = "sram read";
    /// A word that is written to an SRAM.
    pub const SRAM_WRITE: &str = "sram write";
    /// A word that is read from an eDRAM.
    pub const EDRAM_READ: &str = "edram read";
    /// A word that is written to an eDRAM.
    pub const EDRAM_WRITE: &str = "edram write";
    /// A word of an eDRAM that is refreshed: a read and a write.
    pub const EDRAM_REFRESH: &str = "edram refresh";
    /// A beat on the bus.
    pub const BUS: &str = "bus";
    /// A burst on the bus, for which memory may open a row.
    pub const BURST: &str = "burst";
    /// A beat that memory reads.
    pub const DRAM_READ: &str = "dram read";
    /// A beat that memory writes.
    pub const DRAM_WRITE: &str = "dram write";
}

/// A thing that happens, again and again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// Its name; no other event of the accelerator has it.
    pub name: Cow<'static, str>,
    /// Its kind, for which energies are known where they are not known for the name: one of [`kind`], or another.
    pub kind: Cow<'static, str>,
    /// Bits that move in each event; of a product those of both factors.
    pub bits: u64,
}

impl Event {
    /// An event of an accelerator.
    #[must_use]
    pub fn new(name: &'static str, kind: &'static str, bits: u64) -> Self {
        Self { name: name.into(), kind: kind.into(), bits }
    }
}

/// How often events happen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events(BTreeMap<Event, u64>);

impl Events {
    /// The same with some more events.
    #[must_use]
    pub fn with(mut self, event: Event, count: u64) -> Self {
        self.add(event, count);
        self
    }

    /// Adds some events. None at all leaves no trace.
    pub fn add(&mut self, event: Event, count: u64) {
        if count > 0 {
            *self.0.entry(event).or_default() += count;
        }
    }

    /// The same events, so many times.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.0.values_mut().for_each(|events| *events *= count);
        self.0.retain(|_, events| *events > 0);
        self
    }

    /// The same without the events of a kind.
    #[must_use]
    pub fn without(mut self, kind: &str) -> Self {
        self.0.retain(|event, _| event.kind != kind);
        self
    }

    /// All events, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Event, u64)> {
        self.0.iter().map(|(event, &count)| (event, count))
    }

    /// How often the event of this name happens.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.iter().filter(|(event, _)| event.name == name).map(|(_, count)| count).sum()
    }

    /// Counts of both, each pair through `of`. An event that one side lacks counts 0 there.
    ///
    /// # Errors
    /// The first error of `of`.
    pub fn joined<E>(&self, other: &Self, of: impl Fn(&Event, u64, u64) -> Result<u64, E>) -> Result<Self, E> {
        let mut all = Self::default();
        let keys: std::collections::BTreeSet<&Event> = self.0.keys().chain(other.0.keys()).collect();
        for event in keys {
            let count = |events: &Self| events.0.get(event).copied().unwrap_or(0);
            all.add(event.clone(), of(event, count(self), count(other))?);
        }
        Ok(all)
    }
}

impl std::ops::AddAssign for Events {
    fn add_assign(&mut self, other: Self) {
        other.0.into_iter().for_each(|(event, count)| self.add(event, count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_multiples() {
        let product = || Event::new("product", kind::PRODUCT, 8);
        let beat = || Event::new("read beat", kind::BUS, 128);
        let mut all = Events::default().with(product(), 3).with(beat(), 0);
        all += Events::default().with(product(), 2).with(beat(), 7).times(2);
        assert_eq!((all.count("product"), all.count("read beat"), all.count("write beat")), (7, 14, 0));
        assert_eq!(all.clone().times(0), Events::default());
        let less = Events::default().with(product(), 9);
        let apart = |event: &Event, a: u64, b: u64| a.checked_sub(b).ok_or_else(|| event.name.to_string());
        assert_eq!(less.joined(&all, apart), Err("read beat".to_owned()));
        assert_eq!(all.joined(&Events::default(), apart), Ok(all));
    }
}
