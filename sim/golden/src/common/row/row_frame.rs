//! Rows travel in beats: the rows of a sequence of beats, and the effect of beats that break a rule.

/// Part of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat<T> {
    /// The elements and their operands.
    pub data: T,
    /// Elements in use if it is the last beat.
    pub used: u64,
    /// Whether it ends its row.
    pub last: bool,
}

/// A row as the unit processes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<T> {
    /// Its beats.
    pub beats: Vec<T>,
    /// Elements in use of the last beat.
    pub used: usize,
    /// Whether it broke a rule.
    pub error: bool,
}

impl<T> Row<T> {
    /// Elements of the row.
    pub fn len(&self, lanes: usize) -> usize {
        (self.beats.len() - 1) * lanes + self.used
    }
}

/// The rows of `beats`. If `used` of a last beat is 0 or more than `lanes`, it counts as `lanes`. A row with more than
/// `max_beats` beats loses the rest. Beats after the last beat with `last` are no row yet, unless there are at least
/// `max_beats` of them: then the row is cut off.
pub fn gate<T: Clone>(beats: &[Beat<T>], lanes: usize, max_beats: usize) -> Vec<Row<T>> {
    let mut rows = vec![];
    for row in beats.split_inclusive(|beat| beat.last) {
        let whole = row.last().is_some_and(|beat| beat.last);
        let cut = row.len() > max_beats || (row.len() == max_beats && !whole);
        if !whole && !cut {
            continue;
        }
        let used = row[row.len() - 1].used;
        let wrong = !cut && !(1..=lanes as u64).contains(&used);
        let kept = row[..row.len().min(max_beats)].iter().map(|beat| beat.data.clone()).collect();
        let used = if cut || wrong { lanes } else { used as usize };
        rows.push(Row { beats: kept, used, error: cut || wrong });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates() {
        let beat = |used, last| Beat { data: (), used, last };
        let beats = [
            beat(9, false),
            beat(1, true),
            beat(0, true),
            beat(1, false),
            beat(1, false),
            beat(1, true),
            beat(2, true),
        ];
        let rows: Vec<_> = gate(&beats, 4, 2).iter().map(|row| (row.beats.len(), row.used, row.error)).collect();
        assert_eq!(rows, [(2, 1, false), (1, 4, true), (2, 4, true), (1, 2, false)]);
        assert_eq!(gate(&beats[3..5], 4, 2).len(), 1);
        assert_eq!(gate(&beats[3..4], 4, 2).len(), 0);
    }
}
