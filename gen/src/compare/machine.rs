//! A row of a comparison.

use std::sync::Arc;

use models::cycles::{Costs, Described};
use models::schemes::Settings;

use super::energy::Table;
use crate::catalogue::{Catalogue, Known, Params, similar};
use crate::error::{Failure, Result};
use crate::params::{ParamArgs, show_changes};

/// Where costs come from.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A block of the catalogue.
    Block {
        /// The block.
        entry: Known,
        /// All parameters.
        params: Params,
        /// Choices of its software.
        settings: Settings,
    },
    /// A machine in numbers.
    Numbers(Described),
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name in tables.
    pub name: String,
    /// Where its costs come from.
    pub kind: Kind,
    /// Logic, in square millimetres of one library.
    pub area: Option<f64>,
    /// Memory, in Mbit.
    pub memory: Option<f64>,
    /// The source of both.
    pub source: String,
    /// Energies of its events, where they are known.
    pub energy: Option<Arc<Table>>,
    /// More that a user says of it, by column.
    pub notes: Vec<(String, String)>,
}

impl Machine {
    /// A block of the command line: `NAME`, or `NAME:KEY=VALUE,..` with parameters and choices of its software.
    ///
    /// # Errors
    /// No such block, no such key, or a value that is not allowed.
    pub fn named(text: &str, catalogue: &Catalogue) -> Result<Self> {
        let (block, pairs) = text.split_once(':').unwrap_or((text, ""));
        let entry = block_of(block, catalogue)?;
        let choices = entry.counts().map(|(_, choices)| choices).unwrap_or_default();
        let (options, set): (Vec<&str>, Vec<&str>) = pairs
            .split(',')
            .filter(|pair| !pair.is_empty())
            .partition(|pair| choices.iter().any(|choice| pair.split('=').next() == Some(choice.name)));
        let set = ParamArgs { set: set.into_iter().map(str::to_owned).collect(), config: None };
        let kind = Kind::of_block(&entry, &|defaults| set.over(&*entry, defaults), &options.join(","));
        let kind = kind.map_err(|e| Failure::Usage(format!("`{text}`: {e}")))?;
        Ok(Self {
            name: text.to_owned(),
            kind,
            area: None,
            memory: None,
            source: String::new(),
            energy: None,
            notes: Vec::new(),
        })
    }

    /// Its costs, if memory answers after so many cycles.
    ///
    /// # Errors
    /// Parameters that the block refuses.
    pub fn costs(&self, latency: u32) -> Result<Box<dyn Costs>> {
        let costs = match &self.kind {
            Kind::Block { entry, params, settings } => entry.costs(params, settings, latency),
            Kind::Numbers(numbers) => return Ok(Box::new(numbers.clone())),
        };
        costs.map_err(|e| match e {
            Failure::Usage(told) => Failure::Usage(format!("machine `{}`: {told}", self.name)),
            other => other,
        })
    }

    /// What it is, besides its name: a block with the parameters that are not its defaults.
    #[must_use]
    pub fn about(&self) -> String {
        match &self.kind {
            Kind::Block { entry, params, settings } => {
                let defaults = entry.counts().map(|(defaults, _)| defaults).unwrap_or_default();
                format!("{}, {}; {settings}", entry.about().name, show_changes(&defaults, params))
            }
            Kind::Numbers(numbers) => numbers.about(),
        }
    }
}

impl Kind {
    /// A block with parameters over those where a user sets none, and with choices.
    ///
    /// # Errors
    /// An error of `over`, parameters that the block refuses, or a choice that there is not.
    pub fn of_block(entry: &Known, over: &dyn Fn(Params) -> Result<Params>, options: &str) -> Result<Self> {
        let Some((defaults, choices)) = entry.counts() else {
            return Err(Failure::Usage(format!("nobody counts the costs of decoder layers on {}", entry.about().name)));
        };
        let params = over(defaults)?;
        if let Some(error) = entry.check(&params).first() {
            return Err(Failure::Usage(format!("{}: {error}", entry.about().name)));
        }
        let settings = Settings::parse(&choices, options).map_err(|e| Failure::Usage(format!("{e:#}")))?;
        Ok(Self::Block { entry: entry.clone(), params, settings })
    }
}

/// A block whose costs are counted, by its name or its short name.
///
/// # Errors
/// Another block, or none: the message names the ones that are counted.
pub(super) fn block_of(name: &str, catalogue: &Catalogue) -> Result<Known> {
    if let Ok(found) = catalogue.find(name)
        && found.counts().is_some()
    {
        return Ok(found.clone());
    }
    let all = catalogue.all().iter().filter(|entry| entry.counts().is_some());
    let names: Vec<&str> = all.map(|entry| entry.about().name).collect();
    let near = similar(name, &names);
    let hint = near.first().map(|name| format!(" did you mean {name}?")).unwrap_or_default();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let told = format!("`{name}` is no accelerator whose layers are counted;{hint} there are: {known}");
    Err(Failure::Usage(format!("{told}; other machines are described in a file that ends in .toml")))
}
