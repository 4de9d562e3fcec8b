//! Coverage counts as Verilator writes them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::{Error, Result};

/// Covered points of all points of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Ratio {
    /// Points hit at least once.
    pub hit: usize,
    /// All points.
    pub total: usize,
}

impl Ratio {
    /// Percentage; 100 when there is nothing to cover.
    pub fn percent(self) -> f64 {
        if self.total == 0 { 100.0 } else { 100.0 * self.hit as f64 / self.total as f64 }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} % ({}/{})", self.percent(), self.hit, self.total)
    }
}

/// Counts per coverage point, from one run or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    points: BTreeMap<Point, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    toggle: bool,
    place: String,
    /// The point's complete key, which differs between the points of one line.
    key: String,
}

impl Coverage {
    /// Reads a file written by [`crate::Sim::write_coverage`] or by Verilator itself.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let mut coverage = Self::default();
        for line in text.lines().filter(|line| line.starts_with('C')) {
            let (point, count) = parse(line).ok_or_else(|| Error::Data {
                path: path.to_owned(),
                problem: format!("not a coverage point: {line:?}"),
            })?;
            *coverage.points.entry(point).or_default() += count;
        }
        Ok(coverage)
    }

    /// Adds the counts of another run of the same design.
    pub fn merge(&mut self, other: &Self) {
        for (point, count) in &other.points {
            *self.points.entry(point.clone()).or_default() += count;
        }
    }

    /// Lines and branches.
    pub fn line(&self) -> Ratio {
        self.ratio(false)
    }

    /// Bits of signals; a bit is hit when it changed at least once.
    pub fn toggle(&self) -> Ratio {
        self.ratio(true)
    }

    /// Points never hit, as `file:line: what`, sorted.
    pub fn missed(&self) -> Vec<String> {
        self.points.iter().filter(|(_, count)| **count == 0).map(|(point, _)| point.place.clone()).collect()
    }

    fn ratio(&self, toggle: bool) -> Ratio {
        let mut ratio = Ratio::default();
        for (_, count) in self.points.iter().filter(|(point, _)| point.toggle == toggle) {
            ratio.total += 1;
            ratio.hit += usize::from(*count > 0);
        }
        ratio
    }
}

/// `C '<1>name<2>value<1>name<2>value...' count`, with the control characters 1 and 2 as separators.
fn parse(line: &str) -> Option<(Point, u64)> {
    let (key, count) = line.strip_prefix("C '")?.rsplit_once("' ")?;
    let fields: BTreeMap<&str, &str> = key.split('\u{1}').filter_map(|field| field.split_once('\u{2}')).collect();
    let field = |name: &str| fields.get(name).copied();
    let toggle = field("page")?.starts_with("v_toggle");
    let place = format!("{}:{}: {}", field("f")?, field("l")?, field("o").unwrap_or("line"));
    Some((Point { toggle, place, key: key.to_owned() }, count.trim().parse().ok()?))
}
