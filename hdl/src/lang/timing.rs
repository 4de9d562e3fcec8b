//! When things happen in a block, in clock cycles.

use serde::{Deserialize, Serialize};

/// Timing of a block, in cycles. What a block does not have is left out.
///
/// ```
/// # use hdl::lang::Timing;
/// let timing = Timing::pipeline(3).phase("drain", 16, "from the last step to the last sum");
/// assert_eq!(timing.columns()[0], ("latency_cycles".to_string(), 3));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// From the edge that takes an input to the first cycle that shows its result: 1 for a register, 0 for logic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<u64>,
    /// From one beat to the next at full speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beat: Option<u64>,
    /// From the first beat of a piece of work (tile, column, vector) to the first beat of the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initiation: Option<u64>,
    /// What else a user plans with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
}

/// A named number of cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Snake-case name; a column of a sweep is called `<name>_cycles`.
    pub name: String,
    /// Cycles.
    pub cycles: u64,
    /// From where to where.
    pub meaning: String,
}

/// A number of cycles as a block has it at hand. A negative one, which makes no sense, is none.
pub trait Cycles {
    /// The number.
    fn count(self) -> u64;
}

macro_rules! cycles {
    ($($t:ty),*) => {$(
        impl Cycles for $t {
            fn count(self) -> u64 {
                u64::try_from(self).unwrap_or(0)
            }
        }
    )*};
}
cycles!(i32, u32, u64, usize, bool);

impl Timing {
    /// Nothing is known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A pipeline: it takes a beat in every cycle, and shows the result `latency` cycles later.
    #[must_use]
    pub fn pipeline(latency: impl Cycles) -> Self {
        Self::new().latency(latency).beat(1)
    }

    /// Cycles from the edge that takes an input to the first cycle that shows its result.
    #[must_use]
    pub fn latency(mut self, cycles: impl Cycles) -> Self {
        self.latency = Some(cycles.count());
        self
    }

    /// Cycles from one beat to the next at full speed.
    #[must_use]
    pub fn beat(mut self, cycles: impl Cycles) -> Self {
        self.beat = Some(cycles.count());
        self
    }

    /// Cycles from the first beat of a piece of work to the first beat of the next one.
    #[must_use]
    pub fn initiation(mut self, cycles: impl Cycles) -> Self {
        self.initiation = Some(cycles.count());
        self
    }

    /// Another number of cycles; `meaning` says from where to where.
    #[must_use]
    pub fn phase(mut self, name: &str, cycles: impl Cycles, meaning: &str) -> Self {
        self.phases.push(Phase { name: name.into(), cycles: cycles.count(), meaning: meaning.into() });
        self
    }

    /// The phases of a part, with its name in front of their names.
    #[must_use]
    pub fn part(mut self, name: &str, part: Self) -> Self {
        for (column, cycles, meaning) in part.rows() {
            self.phases.push(Phase { name: format!("{name}_{column}"), cycles, meaning });
        }
        self
    }

    /// Name, cycles and meaning of everything that is known.
    #[must_use]
    pub fn rows(&self) -> Vec<(String, u64, String)> {
        let known = [
            ("latency", self.latency, "from an input to its result"),
            ("beat", self.beat, "from one beat to the next at full speed"),
            ("initiation", self.initiation, "from the start of a piece of work to the start of the next"),
        ];
        let known = known.into_iter().filter_map(|(name, cycles, meaning)| Some((name, cycles?, meaning)));
        let known = known.map(|(name, cycles, meaning)| (name.to_string(), cycles, meaning.to_string()));
        known.chain(self.phases.iter().map(|p| (p.name.clone(), p.cycles, p.meaning.clone()))).collect()
    }

    /// Columns of a table of many blocks: `<name>_cycles`.
    #[must_use]
    pub fn columns(&self) -> Vec<(String, u64)> {
        self.rows().into_iter().map(|(name, cycles, _)| (format!("{name}_cycles"), cycles)).collect()
    }
}
