//! The file of energies.

use std::path::Path;

use models::cycles::Event;
use serde::Deserialize;
use toml::Spanned;

use super::Part;
use crate::compare::file::Place;
use crate::error::Result;
use crate::params::read_toml;

/// Largest energy, power and clock that are understood.
const MOST: f64 = 1e9;
/// Picojoules of a cycle for each milliwatt and megahertz.
const PICOJOULES: f64 = 1e3;

/// Energies of events, and powers.
#[derive(Clone, Debug)]
pub struct Table {
    /// The file, for messages.
    pub place: String,
    /// Heading.
    pub title: String,
    energies: Vec<Energy>,
    powers: Vec<Power>,
    /// Megahertz.
    clock: Option<f64>,
}

/// The energy of an event, or of each event of a kind.
#[derive(Clone, Debug)]
struct Energy {
    event: Option<String>,
    kind: Option<String>,
    part: Part,
    picojoules: f64,
    a_bit: bool,
}

/// A power.
#[derive(Clone, Debug)]
struct Power {
    part: Part,
    milliwatts: f64,
    per: Size,
}

/// What a power grows with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Machine,
    Area,
    Memory,
}

/// Names of sizes in files.
const SIZES: [(&str, Size); 3] = [("machine", Size::Machine), ("mm2", Size::Area), ("mbit", Size::Memory)];
const PER: [(&str, bool); 2] = [("event", false), ("bit", true)];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    title: String,
    clock_mhz: Option<Spanned<f64>>,
    energy: Vec<Spanned<RawEnergy>>,
    #[serde(default)]
    power: Vec<Spanned<RawPower>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEnergy {
    event: Option<String>,
    kind: Option<String>,
    part: String,
    pj: f64,
    per: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPower {
    part: String,
    mw: f64,
    per: String,
    source: String,
}

/// The value of a word.
fn word<T: Copy>(key: &str, given: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(name, _)| *name == given).map(|(_, value)| *value);
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    found.ok_or_else(|| format!("`{key}` is `{given}`, wanted is one of {}", names.join(", ")))
}

/// A number with a source.
fn sourced(key: &str, number: f64, source: &str) -> Result<f64, String> {
    if !(0.0..=MOST).contains(&number) {
        return Err(format!("`{key}` is {number}, allowed: a number from 0 to {MOST}"));
    }
    if source.trim().is_empty() {
        return Err(format!("`{key}` without a `source`: say where it comes from"));
    }
    Ok(number)
}

fn part(given: &str) -> Result<Part, String> {
    word("part", given, &Part::ALL.map(|part| (part.name(), part)))
}

impl RawEnergy {
    fn checked(&self) -> Result<Energy, String> {
        let name = match (&self.event, &self.kind) {
            (Some(_), Some(_)) => return Err("both `event` and `kind`, wanted is one of them".into()),
            (None, None) => return Err("neither `event` nor `kind`, wanted is the name of one".into()),
            (Some(name), None) | (None, Some(name)) => name,
        };
        if name.trim().is_empty() {
            return Err("an empty name of an event or a kind".into());
        }
        Ok(Energy {
            event: self.event.clone(),
            kind: self.kind.clone(),
            part: part(&self.part)?,
            picojoules: sourced("pj", self.pj, &self.source)?,
            a_bit: word("per", &self.per, &PER)?,
        })
    }
}

impl RawPower {
    fn checked(&self) -> Result<Power, String> {
        let milliwatts = sourced("mw", self.mw, &self.source)?;
        Ok(Power { part: part(&self.part)?, milliwatts, per: word("per", &self.per, &SIZES)? })
    }
}

impl Table {
    /// Reads a file.
    ///
    /// # Errors
    /// The file with the line, the key and what is wanted.
    pub fn read(path: &Path) -> Result<Self> {
        let (text, raw) = read_toml::<Raw>(path)?;
        let place = Place { path, text: &text };
        let mut energies: Vec<Energy> = Vec::new();
        for energy in &raw.energy {
            let start = energy.span().start;
            let one = energy.get_ref().checked().map_err(|e| place.at(start, e))?;
            if energies.iter().any(|other| (&other.event, &other.kind) == (&one.event, &one.kind)) {
                let name = one.event.as_ref().or(one.kind.as_ref()).map_or("", String::as_str);
                return Err(place.at(start, format!("`{name}` has two energies, wanted is one of them")));
            }
            energies.push(one);
        }
        let clock = raw.clock_mhz.map(|clock| match *clock.get_ref() {
            mhz if mhz > 0.0 && mhz <= MOST => Ok(mhz),
            mhz => {
                let told = format!("`clock_mhz` is {mhz}, allowed: a number above 0, up to {MOST}");
                Err(place.at(clock.span().start, told))
            }
        });
        let clock = clock.transpose()?;
        let mut powers = Vec::new();
        for power in &raw.power {
            let start = power.span().start;
            if clock.is_none() {
                return Err(place.at(start, "a power without a clock: give `clock_mhz`, in megahertz"));
            }
            powers.push(power.get_ref().checked().map_err(|e| place.at(start, e))?);
        }
        Ok(Self { place: path.display().to_string(), title: raw.title, energies, powers, clock })
    }

    /// The part and the picojoules of an event: by its name, or else by its kind.
    pub(in crate::compare) fn energy(&self, event: &Event) -> Result<(Part, f64), String> {
        let named = self.energies.iter().find(|energy| energy.event.as_deref() == Some(&event.name));
        let of_kind = || self.energies.iter().find(|energy| energy.kind.as_deref() == Some(&event.kind));
        let Event { name, kind, bits } = event;
        let Some(found) = named.or_else(of_kind) else {
            return Err(format!("no energy of `{name}`: wanted is event = \"{name}\" or kind = \"{kind}\""));
        };
        if found.a_bit && *bits == 0 {
            return Err(format!("`{name}` has no bits: wanted is per = \"event\""));
        }
        let times = if found.a_bit { *bits as f64 } else { 1.0 };
        Ok((found.part, found.picojoules * times))
    }

    /// Picojoules of the powers in a cycle, for a machine with so many mm² and Mbit.
    pub(super) fn powers(&self, [area, memory]: [Option<f64>; 2]) -> Result<Vec<(Part, f64)>, String> {
        let size = |power: &Power| match power.per {
            Size::Machine => Ok(1.0),
            Size::Area => area.ok_or("has no `area`, which a power per mm2 needs"),
            Size::Memory => memory.ok_or("has no `memory`, which a power per mbit needs"),
        };
        let clock = self.clock.unwrap_or(1.0);
        let of = |power: &Power| Ok((power.part, size(power)? * power.milliwatts / clock * PICOJOULES));
        self.powers.iter().map(of).collect()
    }

    /// Events that have an energy of their own, and that no machine has made.
    #[must_use]
    pub fn unused(&self, made: &dyn Fn(&str) -> bool) -> Vec<&str> {
        self.energies.iter().filter_map(|energy| energy.event.as_deref()).filter(|name| !made(name)).collect()
    }
}
