//! Kelle's calibration, as far as schemes know it: budgets of heads, and how often tokens are refreshed.

use anyhow::{Context, Result};

use crate::schemes::{Choice, Given, Kind, Settings};

/// The accelerator whose calibration this is.
pub const ACCELERATOR: &str = "kelle_top";

/// Array of tokens that each head keeps after each step, by layer and head.
pub const BUDGET: &str = "budget";
/// Array of the cycles from refresh to refresh, by layer: upper and lower byte of important tokens, then of others.
pub const INTERVALS: &str = "refresh.intervals";
/// Array of the lowest importance that is high, by layer.
pub const IMPORTANCE: &str = "refresh.importance";

/// Options of the intervals in microseconds, in the order of [`INTERVALS`].
pub const TIMES: [&str; 4] = ["important-upper", "important-lower", "other-upper", "other-lower"];

/// Options of the calibration.
#[must_use]
pub fn choices() -> Vec<Choice> {
    let time = |name, about| Choice { name, default: "0", kind: Kind::Count(0..=1_000_000), about };
    vec![
        Choice {
            name: "budget",
            default: "0",
            kind: Kind::Count(0..=65_535),
            about: "tokens that a head keeps after each step; 0: as many as without a calibration",
        },
        Choice {
            name: "importance",
            default: "0",
            kind: Kind::Count(0..=u64::from(u32::MAX)),
            about: "lowest importance of an important token",
        },
        Choice {
            name: "cycles",
            default: "1",
            kind: Kind::Count(1..=10_000),
            about: "cycles of a microsecond, for the intervals",
        },
        time(TIMES[0], "microseconds between refreshes of the upper byte of important tokens; all 0: as after a reset"),
        time(TIMES[1], "the same for their lower byte"),
        time(TIMES[2], "the same for the upper byte of the other tokens"),
        time(TIMES[3], "the same for their lower byte"),
    ]
}

/// Cycles of each interval.
///
/// # Errors
/// More cycles than a register holds.
pub fn intervals(settings: &Settings) -> Result<Vec<u32>> {
    let cycles: u32 = settings.count("cycles")?;
    let one = |name: &str| -> Result<u32> {
        let all = settings.count::<u32>(name)?.checked_mul(cycles);
        all.with_context(|| format!("option `{name}` is more than 2^32 cycles"))
    };
    TIMES.into_iter().map(one).collect()
}

/// Nanoseconds of each layer's intervals in a calibration, in the order of [`TIMES`].
///
/// # Errors
/// There is no such array, or it has not four intervals of a layer.
pub fn refreshes(given: &Given) -> Result<Vec<[u64; 4]>> {
    let cycles = given.settings.count::<u64>("cycles")?;
    let of_layer = |row: Vec<u32>| -> Result<[u64; 4]> {
        let times: Vec<u64> = row.iter().map(|&interval| 1000 * u64::from(interval) / cycles).collect();
        let count = times.len();
        times
            .try_into()
            .ok()
            .with_context(|| format!("array `{INTERVALS}` has {count} intervals of a layer, wanted are 4"))
    };
    given.file.arrays.rows::<u32>(INTERVALS)?.into_iter().map(of_layer).collect()
}

/// The budgets of a calibration, by layer and key head.
///
/// # Errors
/// There is no such array.
pub fn budgets(given: &Given) -> Result<Vec<Vec<usize>>> {
    let rows = given.file.arrays.rows::<u16>(BUDGET)?;
    Ok(rows.into_iter().map(|row| row.into_iter().map(usize::from).collect()).collect())
}
