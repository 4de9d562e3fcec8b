//! Comparisons: accelerators on the same work, memory and clock, at equal area.
//!
//! [`Comparison`] is what a file or a command line asks for, [`count`] finds the costs, and [`Found`] says who is the
//! fastest and why. `tables`, `data` and `page` show it.

mod area;
mod count;
mod data;
mod energy;
mod file;
mod found;
#[cfg(test)]
mod fuzz;
mod job;
mod machine;
mod page;
mod steps;
mod tables;

use std::path::PathBuf;
use std::sync::Arc;

use models::cycles::Part;
use models::decoder;

use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};

pub use area::synthesise;
pub use count::count;
pub(crate) use count::metrics;
pub use data::{csv, json};
pub use energy::{Energy, Part as EnergyPart, Price, Table as EnergyTable};
pub use file::File;
pub(crate) use file::Place;
pub use found::{Cell, Found};
pub use job::{Job, Phase};
pub(crate) use job::{MOST_BATCH, MOST_CONTEXT};
pub use machine::Machine;
pub use page::{curves, results};
pub use steps::Step;
pub use tables::{markdown, steps_alone, text};

/// Cycles until memory answers, where nobody says it, and most of them.
pub(crate) const LATENCY: u32 = 20;
pub(crate) const MOST_LATENCY: u64 = 100_000;

/// Number of cells and columns that a comparison may have.
const MOST_CELLS: usize = 100_000;

/// What is compared.
#[derive(Debug)]
pub struct Comparison {
    /// Heading.
    pub title: String,
    /// The question, in a sentence or two.
    pub about: String,
    /// Where it comes from, for messages.
    pub place: String,
    /// Rows.
    pub machines: Vec<Machine>,
    /// Models.
    pub models: Vec<decoder::Described>,
    /// Work.
    pub jobs: Vec<Job>,
    /// Bytes a cycle of memory.
    pub bandwidths: Vec<f64>,
    /// The part of a model that is counted.
    pub part: Part,
    /// Cycles until memory answers.
    pub latency: u32,
    /// A lead of up to this share of the time is none.
    pub margin: f64,
    /// Whether machines have copies until their areas are equal; where nobody says it, they have if all areas are known.
    pub equal_area: Option<bool>,
    /// Work whose costs the tables show; empty: all work.
    pub shown: Vec<Job>,
    /// Least and largest bandwidth of the drawn curves.
    pub curve: [f64; 2],
    /// Steps of ladders.
    pub steps: Vec<Step>,
}

/// Axes where nobody says others.
mod usual {
    pub const MODEL: &str = "Llama-2-7B";
    pub const CONTEXTS: [u64; 3] = [128, 1024, 4096];
    pub const BATCHES: [u64; 2] = [1, 16];
    pub const BANDWIDTHS: [f64; 3] = [16.0, 64.0, 256.0];
    pub const MARGIN: f64 = 0.01;
    /// Curves go so many times beyond the bandwidths.
    pub const BEYOND: [f64; 2] = [4.0, 16.0];
}

/// What a command line says on top of files.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Models by name or path.
    pub models: Vec<String>,
    /// Phases.
    pub phases: Vec<Phase>,
    /// Tokens that the last one sees, including itself.
    pub contexts: Vec<u64>,
    /// Sequences side by side.
    pub batches: Vec<u64>,
    /// Bytes a cycle.
    pub bandwidths: Vec<f64>,
    /// The part of a model.
    pub part: Option<Part>,
    /// Cycles until memory answers.
    pub latency: Option<u32>,
    /// A table of energies, for all machines.
    pub energy: Option<PathBuf>,
}

impl Comparison {
    /// Takes machines and files in order. Axes come from the command line, then from the file, then from here.
    ///
    /// # Errors
    /// A name, a file or a number that is wrong, with what would be right.
    pub fn new(given: &[String], asked: &Asked, catalogue: &Catalogue) -> Result<Self> {
        let mut machines = Vec::new();
        let (mut axes, mut steps): (Option<File>, Vec<Step>) = (None, Vec::new());
        for one in given {
            if !one.ends_with(".toml") {
                machines.push(Machine::named(one, catalogue)?);
                continue;
            }
            let mut file = File::read(one.as_ref(), catalogue)?;
            machines.append(&mut file.machines);
            steps.append(&mut file.steps);
            if file.has_axes() {
                if let Some(first) = &axes {
                    let told = format!("{} and {} both have axes; one of them is enough", first.place, file.place);
                    return Err(Failure::Usage(told));
                }
                axes = Some(file);
            }
        }
        if machines.is_empty() {
            let of = given.join(", ");
            return Err(Failure::Usage(format!("{of}: no machine; give blocks, or a file with [[machine]]")));
        }
        for (number, machine) in machines.iter().enumerate() {
            if machines[..number].iter().any(|other| other.name == machine.name) {
                let told = format!("two machines are called `{}`: give one of them another `name`", machine.name);
                return Err(Failure::Usage(told));
            }
        }
        if let Some(path) = &asked.energy {
            let table = Arc::new(EnergyTable::read(path)?);
            machines.iter_mut().for_each(|machine| machine.energy = Some(table.clone()));
        }
        let file = axes.unwrap_or_default();
        let models = match (asked.models.is_empty(), file.models.is_empty()) {
            (false, _) => models_of(&asked.models)?,
            (true, false) => file.models,
            (true, true) => models_of(&[usual::MODEL.to_owned()])?,
        };
        let by_hand = !(asked.phases.is_empty() && asked.contexts.is_empty() && asked.batches.is_empty());
        let jobs = if by_hand || file.jobs.is_empty() {
            let phases = or(&asked.phases, file.jobs.iter().map(|job| job.phase), &Phase::ALL);
            let batches = or(&asked.batches, file.jobs.iter().map(|job| job.batch), &usual::BATCHES);
            let contexts = or(&asked.contexts, file.jobs.iter().map(|job| job.context), &usual::CONTEXTS);
            Job::all(&phases, &batches, &contexts).map_err(Failure::Usage)?
        } else {
            file.jobs
        };
        let bandwidths = [&asked.bandwidths, &file.bandwidths].into_iter().find(|all| !all.is_empty());
        let bandwidths = bandwidths.cloned().unwrap_or_else(|| usual::BANDWIDTHS.to_vec());
        check_bandwidths(&bandwidths).map_err(Failure::Usage)?;
        let cells = [machines.len(), models.len(), jobs.len(), bandwidths.len()];
        let count = cells.into_iter().try_fold(1, usize::checked_mul).unwrap_or(usize::MAX);
        if count > MOST_CELLS {
            return Err(Failure::Usage(format!("{count} cells to compare, at most {MOST_CELLS}")));
        }
        let (least, largest) = bandwidths.iter().fold((f64::MAX, 0.0_f64), |(l, m), &b| (l.min(b), m.max(b)));
        let shown = file.shown.into_iter().filter(|job| jobs.contains(job)).collect();
        Ok(Self {
            title: if file.title.is_empty() { "Accelerators side by side".to_owned() } else { file.title },
            about: file.about,
            place: given.join(" "),
            machines,
            models,
            jobs,
            bandwidths,
            part: asked.part.or(file.part).unwrap_or_default(),
            latency: asked.latency.or(file.latency).unwrap_or(LATENCY),
            margin: file.margin.unwrap_or(usual::MARGIN),
            equal_area: file.equal_area,
            shown,
            curve: file.curve.unwrap_or([least / usual::BEYOND[0], largest * usual::BEYOND[1]]),
            steps,
        })
    }

    /// Refuses equal areas where one is not known.
    ///
    /// # Errors
    /// Names the machines without one.
    pub fn check_areas(&self) -> Result<()> {
        let missing = self.machines.iter().filter(|machine| machine.area.is_none());
        let names: Vec<&str> = missing.map(|machine| machine.name.as_str()).collect();
        if names.is_empty() || self.equal_area != Some(true) {
            return Ok(());
        }
        let told = format!("`equal_area` is true, and there is no `area` of {}", names.join(", "));
        Err(Failure::Usage(format!("{}: {told}; give it, or take --area synth", self.place)))
    }

    /// How many of each machine there are.
    #[must_use]
    pub fn copies(&self) -> Vec<f64> {
        let areas: Option<Vec<f64>> = self.machines.iter().map(|machine| machine.area).collect();
        match areas.filter(|_| self.equal_area != Some(false)) {
            Some(areas) => {
                let largest = areas.iter().fold(0.0, |most, &area| f64::max(most, area));
                areas.iter().map(|area| largest / area).collect()
            }
            None => vec![1.0; self.machines.len()],
        }
    }

    /// What is counted, in words: `a layer of Llama-2-7B`.
    #[must_use]
    pub fn what(&self, model: &decoder::Described) -> String {
        match self.part {
            Part::Layer => format!("a layer of {}", model.name),
            Part::Model => model.name.clone(),
        }
    }
}

/// What is asked for, or each value of a file once, or the usual values.
fn or<T: Copy + PartialEq>(asked: &[T], of_file: impl Iterator<Item = T>, usual: &[T]) -> Vec<T> {
    let mut known = Vec::new();
    of_file.for_each(|value| {
        if !known.contains(&value) {
            known.push(value);
        }
    });
    let all = [asked, &known, usual].into_iter().find(|values| !values.is_empty());
    all.map(<[T]>::to_vec).unwrap_or_default()
}

/// Models by name or path.
///
/// # Errors
/// One that is not there, damaged, or there twice.
pub(crate) fn models_of(names: &[String]) -> Result<Vec<decoder::Described>> {
    let find = |name: &String| decoder::Described::find(name).map_err(|e| Failure::Usage(told(&e)));
    let all: Vec<decoder::Described> = names.iter().map(find).collect::<Result<_>>()?;
    for (number, model) in all.iter().enumerate() {
        if all[..number].iter().any(|other| other.name == model.name) {
            return Err(Failure::Usage(format!("the model {} is there twice", model.name)));
        }
    }
    Ok(all)
}

/// An error with its causes. Some errors have the text of their cause at their end already.
fn told(error: &anyhow::Error) -> String {
    crate::commands::chain(error)
}

fn check_bandwidths(all: &[f64]) -> Result<(), String> {
    for (number, bandwidth) in all.iter().enumerate() {
        if !(*bandwidth > 0.0 && *bandwidth <= 1e9) {
            return Err(format!("bandwidth {bandwidth}, allowed: bytes a cycle above 0, up to 1e9"));
        }
        if all[..number].contains(bandwidth) {
            return Err(format!("bandwidth {bandwidth} is there twice"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hdl::accelerators::vector::VectorTop;
    use hdl::blocks::common::MacMesh;
    use models::cycles::shapes::Model;
    use models::cycles::{Cost, Costs, Counts, Work};
    use models::schemes::{Choice, Kind};

    use super::*;
    use crate::Line;
    use crate::point::Store;

    /// An accelerator of a user's catalogue: an option says how many products it does a cycle.
    struct Mine(u64);

    impl Costs for Mine {
        fn about(&self) -> String {
            format!("{} products a cycle", self.0)
        }

        fn peak(&self) -> f64 {
            self.0 as f64
        }

        fn layer(&self, model: &Model, work: Work) -> anyhow::Result<Cost> {
            anyhow::ensure!(work.sequences < 3, "{} sequences, it has room for 2", work.sequences);
            let products = work.sequences * work.tokens * model.weights();
            Ok(Cost { cycles: products / self.0, bytes: model.weights(), products, ..Cost::default() })
        }

        fn head(&self, _: &Model, _: u64) -> anyhow::Result<Cost> {
            Ok(Cost::default())
        }
    }

    const COUNTS: Counts<VectorTop> = Counts {
        block: VectorTop::default,
        choices: || vec![Choice { name: "products", default: "4", kind: Kind::Count(1..=64), about: "" }],
        costs: |_, settings, _| Ok(Box::new(Mine(settings.count("products")?))),
    };

    /// Blocks without an area are synthesised, and the larger one is the only one of its size.
    #[test]
    fn areas_by_synthesis() {
        let counts: Counts<MacMesh> =
            Counts { block: MacMesh::default, choices: Vec::new, costs: |_, _, _| Ok(Box::new(Mine(1))) };
        let line = Line::new("mine", testbenches::common::mac_mesh::bench).counts(counts);
        let catalogue = Catalogue::empty().line(line);
        let size = "operand_width=2,accumulator_width=6";
        let rows = [format!("mac_mesh:rows=2,columns=1,{size}"), format!("mac_mesh:rows=1,columns=1,{size}")];
        let mut comparison = Comparison::new(&rows, &Asked::default(), &catalogue).unwrap();
        assert_eq!(comparison.copies(), [1.0, 1.0]);
        let folder = tempfile::tempdir().unwrap();
        synthesise(&mut comparison, &["osu018".into()], &Store::new(folder.path())).unwrap();
        let copies = comparison.copies();
        assert!(copies[0] == 1.0 && (1.9..2.5).contains(&copies[1]), "{copies:?}");
        assert_eq!(comparison.machines[1].source, "synthesised in osu018, modules apart");
    }

    /// All that is special about an accelerator is in its line.
    #[test]
    fn an_accelerator_of_a_user() {
        let line = Line::new("mine", testbenches::accelerators::vector::bench).counts(COUNTS);
        let catalogue = Catalogue::empty().line(line);
        let asked = Asked {
            models: vec!["smollm2-135m".to_owned()],
            phases: vec![Phase::Token],
            contexts: vec![8],
            batches: vec![1, 4],
            bandwidths: vec![1e6],
            ..Asked::default()
        };
        let rows = ["vector_top".to_owned(), "vector_top:products=8,lane.function=gelu_tanh".to_owned()];
        let comparison = Comparison::new(&rows, &asked, &catalogue).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let count = || count(&comparison, &store, std::num::NonZeroUsize::MIN).unwrap();
        let first = count();
        let told = text(&Found::new(&comparison, first.clone())).unwrap();
        assert!(told.contains("vector_top:products=8,lane.function=gelu_tanh 2.00: compute"), "{told}");
        assert!(told.contains("vector_top: 4 sequences, it has room for 2\n"), "{told}");
        assert_eq!(first[1].costs, count()[1].costs);
        let refused = Comparison::new(&["kelle".to_owned()], &asked, &catalogue).unwrap_err().to_string();
        assert!(
            refused.contains("`kelle` is no accelerator whose layers are counted; there are: vector_top"),
            "{refused}"
        );
    }
}
