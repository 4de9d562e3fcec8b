//! Energy of the work of a cell: events and time, by a table of energies that a user can replace.

mod table;

use models::cycles::{Cost, Event};

use crate::error::{Failure, Result};

pub use table::Table;

/// Where energy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Arithmetic.
    Logic,
    /// Memories on the chip.
    Memory,
    /// The bus.
    Bus,
    /// Memory.
    Dram,
    /// Refreshes.
    Refresh,
    /// Power that flows whatever is done.
    Leakage,
}

impl Part {
    /// All parts, in the order of columns.
    pub const ALL: [Self; 6] = [Self::Logic, Self::Memory, Self::Bus, Self::Dram, Self::Refresh, Self::Leakage];

    /// Its name in files and columns.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Logic => "logic",
            Self::Memory => "memory",
            Self::Bus => "bus",
            Self::Dram => "dram",
            Self::Refresh => "refresh",
            Self::Leakage => "leakage",
        }
    }
}

/// Picojoules by part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy([f64; Part::ALL.len()]);

impl Energy {
    /// Of a part.
    #[must_use]
    pub fn of(&self, part: Part) -> f64 {
        self.0[part as usize]
    }

    /// Everything.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    fn add(&mut self, part: Part, picojoules: f64) {
        self.0[part as usize] += picojoules;
    }

    /// This and `times` another one.
    fn plus(mut self, times: f64, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += times * more);
        self
    }
}

/// The energy of a machine at some work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Of the work, however long it takes.
    work: Energy,
    /// Of each cycle, and of each copy of the machine.
    cycle: Energy,
}

impl Price {
    /// The energy of work whose events and steady events are known.
    ///
    /// # Errors
    /// The table lacks an event, or a number of the machine is missing: the message names all that is wanted.
    pub fn new(
        table: &Table,
        (machine, sizes): (&str, [Option<f64>; 2]),
        cost: &Cost,
        steady: &[(Event, f64)],
    ) -> Result<Self> {
        if cost.events.iter().next().is_none() {
            let told = format!("machine `{machine}` counts no events, so it has no energy: compare it without");
            return Err(Failure::Usage(told));
        }
        let mut price = Self { work: Energy::default(), cycle: Energy::default() };
        let mut missing = Vec::new();
        let counted = cost.events.iter().map(|(event, count)| (event, count as f64, false));
        for (event, count, steady) in counted.chain(steady.iter().map(|(event, rate)| (event, *rate, true))) {
            match table.energy(event) {
                Ok((part, picojoules)) => {
                    let to = if steady { &mut price.cycle } else { &mut price.work };
                    to.add(part, count * picojoules);
                }
                Err(why) => missing.push(why),
            }
        }
        if !missing.is_empty() {
            let told = format!("{}: machine `{machine}`:\n  {}", table.place, missing.join("\n  "));
            return Err(Failure::Usage(told));
        }
        let powers =
            table.powers(sizes).map_err(|e| Failure::Usage(format!("{}: machine `{machine}` {e}", table.place)))?;
        powers.into_iter().for_each(|(part, picojoules)| price.cycle.add(part, picojoules));
        Ok(price)
    }

    /// The energy of so many cycles on so many copies.
    #[must_use]
    pub fn energy(&self, cycles: f64, copies: f64) -> Energy {
        self.work.plus(cycles * copies, self.cycle)
    }
}

#[cfg(test)]
mod tests;
