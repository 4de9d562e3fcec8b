//! Who is the fastest, and why.

use std::collections::{BTreeMap, BTreeSet};

use models::cycles::Cost;
use models::cycles::comparison::{Bound, Race, race, time};

use super::count::{Counted, Row};
use super::energy::{Energy, Price, Table};
use super::{Comparison, Job, Step};
use crate::error::Result;

/// A comparison with its costs.
#[derive(Debug)]
pub struct Found<'a> {
    /// What was asked.
    pub comparison: &'a Comparison,
    /// Machines in its order.
    pub rows: Vec<Row>,
    /// How many of each there are.
    pub copies: Vec<f64>,
}

/// A machine at some work.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// Number of the machine.
    pub machine: usize,
    /// Number of the model.
    pub model: usize,
    /// Work.
    pub job: Job,
    /// Number of model and work.
    place: usize,
    /// Its cost, or why it has no room.
    pub cost: &'a Counted,
    /// Its energy, if a table says it.
    pub price: Option<&'a Price>,
}

/// Who wins some work.
#[derive(Clone, Copy, Debug)]
pub struct Winner {
    /// Number of the model.
    pub model: usize,
    /// Work.
    pub job: Job,
    /// Bytes a cycle.
    pub bandwidth: f64,
    /// The end.
    pub race: Race,
}

impl<'a> Found<'a> {
    /// A comparison whose costs are known.
    #[must_use]
    pub fn new(comparison: &'a Comparison, rows: Vec<Row>) -> Self {
        Self { comparison, rows, copies: comparison.copies() }
    }

    /// All models with all work, by number.
    fn places(&self) -> Vec<[usize; 2]> {
        let jobs = self.comparison.jobs.len();
        (0..self.comparison.models.len()).flat_map(|model| (0..jobs).map(move |job| [model, job])).collect()
    }

    /// All machines at a model and some work.
    #[must_use]
    pub fn at(&self, [model, job]: [usize; 2]) -> Vec<Cell<'_>> {
        let mut all = Vec::new();
        for (machine, row) in self.rows.iter().enumerate() {
            if let Some(cost) = row.costs.get(model).and_then(|costs| costs.get(job)) {
                let place = model * self.comparison.jobs.len() + job;
                let price = row.prices.get(model).and_then(|prices| prices.get(job)?.as_ref());
                all.push(Cell { machine, model, job: self.comparison.jobs[job], place, cost, price });
            }
        }
        all
    }

    /// All cells: by model, work, machine.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell<'_>> {
        self.places().into_iter().flat_map(|place| self.at(place)).collect()
    }

    /// The cells whose costs the tables show.
    #[must_use]
    pub fn shown(&self) -> Vec<Cell<'_>> {
        let shown = &self.comparison.shown;
        self.cells().into_iter().filter(|cell| shown.is_empty() || shown.contains(&cell.job)).collect()
    }

    /// Cycles on all copies of a machine, and what they wait for.
    #[must_use]
    pub fn time(&self, cell: &Cell<'_>, bandwidth: f64) -> Option<(f64, Bound)> {
        let copies = self.copies.get(cell.machine)?;
        cell.cost.as_ref().ok().map(|cost| time(cost, *copies, bandwidth))
    }

    /// The bandwidth in the middle, at which energies are told.
    #[must_use]
    pub fn middle(&self) -> f64 {
        let all = &self.comparison.bandwidths;
        all.get(all.len() / 2).copied().unwrap_or(f64::INFINITY)
    }

    /// Whether a machine makes an event at any work.
    #[must_use]
    pub fn makes(&self, machine: usize, name: &str) -> bool {
        let costs = self.rows.get(machine).into_iter().flat_map(|row| row.costs.iter().flatten().flatten());
        costs.into_iter().any(|cost| cost.events.count(name) > 0)
    }

    /// The steps of ladders with their ratios; none where a machine has no room.
    ///
    /// # Errors
    /// A step with an event that its machine does not make.
    pub fn steps(&self) -> Result<Vec<(&Step, Option<f64>)>> {
        self.comparison.steps.iter().map(|step| Ok((step, step.ratio(self)?))).collect()
    }

    /// The energy of the work, with the time that it takes at a bandwidth.
    #[must_use]
    pub fn energy(&self, cell: &Cell<'_>, bandwidth: f64) -> Option<Energy> {
        let (time, _) = self.time(cell, bandwidth)?;
        Some(cell.price?.energy(time, *self.copies.get(cell.machine)?))
    }

    /// Events that have an energy in a table, and that no machine with this table makes: `TABLE: event`.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        let mut made: BTreeMap<&str, (&Table, BTreeSet<&str>)> = BTreeMap::new();
        for (machine, row) in self.comparison.machines.iter().zip(&self.rows) {
            let Some(table) = &machine.energy else { continue };
            let (_, names) = made.entry(&table.place).or_insert((table, BTreeSet::new()));
            let costs = row.costs.iter().flatten().flatten();
            names.extend(costs.flat_map(|cost| cost.events.iter().map(|(event, _)| &*event.name)));
            names.extend(row.steady.iter().map(String::as_str));
        }
        let of = |(table, names): (&Table, BTreeSet<&str>)| {
            let unused = table.unused(&|name| names.contains(name));
            unused.into_iter().map(|name| format!("{}: {name}", table.place)).collect::<Vec<_>>()
        };
        made.into_values().flat_map(of).collect()
    }

    /// The share of the array's products that are used.
    #[must_use]
    pub fn busy(&self, machine: usize, cost: &Cost) -> f64 {
        let peak = self.rows.get(machine).map_or(1.0, |row| row.peak);
        if cost.cycles == 0 { 0.0 } else { cost.products as f64 / cost.cycles as f64 / peak }
    }

    /// Whether a machine is the fastest at the bandwidth of this number.
    #[must_use]
    pub fn wins(&self, cell: &Cell<'_>, winners: &[Winner], bandwidth: usize) -> bool {
        let winner = winners.get(cell.place * self.comparison.bandwidths.len() + bandwidth);
        matches!(winner.map(|winner| winner.race), Some(Race::Won { by, .. }) if by == cell.machine)
    }

    /// Who wins: by model, work, bandwidth.
    #[must_use]
    pub fn winners(&self) -> Vec<Winner> {
        let mut all = Vec::new();
        for [model, job] in self.places() {
            let cells = self.at([model, job]);
            for &bandwidth in &self.comparison.bandwidths {
                let times: Vec<_> = cells.iter().map(|cell| self.time(cell, bandwidth)).collect();
                let race = race(&times, self.comparison.margin);
                all.push(Winner { model, job: self.comparison.jobs[job], bandwidth, race });
            }
        }
        all
    }
}
