//! How large modules are, and which of them a proof can have open.

use std::collections::{BTreeMap, BTreeSet};

use hdl::lang::Design as Elaborated;

/// The most characters of Verilog that are open at once; a module counts as often as it is placed. Yosys and ABC would
/// take minutes for a question about more.
const OPEN: u64 = 300_000;

/// Whether nothing of a design has to be closed.
pub(super) fn is_small(ir: &Elaborated) -> bool {
    Sizes::of(ir).size(&BTreeSet::new()) <= OPEN
}

/// The modules of a part, and how large they are.
pub(super) struct Sizes {
    /// Children before parents: name, characters of Verilog, and modules placed directly in it with how often.
    modules: Vec<(String, u64, BTreeMap<String, u64>)>,
}

impl Sizes {
    /// Of a design, or of a part of one.
    pub fn of(part: &Elaborated) -> Self {
        let files: BTreeMap<String, u64> = part.verilog().into_iter().map(|f| (f.name, f.text.len() as u64)).collect();
        let mut children: BTreeMap<String, BTreeMap<String, u64>> =
            part.manifest().modules.into_iter().map(|m| (m.name, m.children)).collect();
        let modules = part.module_names().into_iter().map(|name| {
            let own = files.get(&format!("{name}.v")).copied().unwrap_or_default();
            (name.to_owned(), own, children.remove(name).unwrap_or_default())
        });
        Self { modules: modules.collect() }
    }

    /// The modules that are not inside a closed one: how often each is placed, and its own size.
    fn open(&self, closed: &BTreeSet<String>) -> BTreeMap<&str, (u64, u64)> {
        let mut open: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (at, (name, own, children)) in self.modules.iter().enumerate().rev() {
            let count = open.get(name.as_str()).map_or(u64::from(at + 1 == self.modules.len()), |placed| placed.0);
            open.insert(name, (count, *own));
            if closed.contains(name) {
                open.remove(name.as_str());
                continue;
            }
            for (child, times) in children {
                open.entry(child).or_default().0 += count * times;
            }
        }
        open
    }

    /// Characters of Verilog that are open.
    fn size(&self, closed: &BTreeSet<String>) -> u64 {
        self.open(closed).values().map(|(count, own)| count * own).sum()
    }

    /// Whether a module is inside another one, or is this one.
    fn contains(&self, name: &str, inner: &str) -> bool {
        let children = self.modules.iter().find(|(module, ..)| module == name).map(|(_, _, children)| children);
        name == inner || children.is_some_and(|children| children.keys().any(|child| self.contains(child, inner)))
    }

    /// All modules that do not contain this one.
    pub fn others(&self, mutated: &str) -> BTreeSet<String> {
        let names = self.modules.iter().map(|(name, ..)| name);
        names.filter(|name| !self.contains(name, mutated)).cloned().collect()
    }

    /// Sets of modules that are closed where all inputs are tried: none, and each of the modules that stand in the part
    /// itself. None where the part is too large.
    pub fn tried(&self, mutated: &str) -> Vec<BTreeSet<String>> {
        let none = BTreeSet::new();
        if self.size(&none) > OPEN {
            return Vec::new();
        }
        let inside = self.modules.last().into_iter().flat_map(|(_, _, children)| children.keys());
        let alone = inside.filter(|name| !self.contains(name, mutated)).map(|name| BTreeSet::from([name.clone()]));
        [none].into_iter().chain(alone).collect()
    }

    /// Sets of modules that are closed where a part without feedback is unrolled: all that keep nothing, as `has_clock`
    /// tells, and none where the part is not too large. Logic is decided sooner than what has a state.
    pub fn unrolled(&self, mutated: &str, has_clock: impl Fn(&str) -> bool) -> Vec<BTreeSet<String>> {
        let closed: BTreeSet<String> = self.others(mutated).into_iter().filter(|name| !has_clock(name)).collect();
        let none = BTreeSet::new();
        let mut sets = Vec::new();
        if self.size(&closed) <= OPEN {
            sets.push(closed);
        }
        if self.size(&none) <= 2 * OPEN && sets.first() != Some(&none) {
            sets.push(none);
        }
        sets
    }

    /// The largest modules, with all inside them, that have to be closed so that the others are small enough. None of
    /// them contains `mutated`.
    pub fn largest(&self, mutated: &str) -> BTreeSet<String> {
        let others = self.others(mutated);
        let mut closed = BTreeSet::new();
        while self.size(&closed) > OPEN {
            let open = self.open(&closed);
            let without = |name: &&String| {
                let mut more = closed.clone();
                more.insert((*name).clone());
                self.size(&more)
            };
            let placed = others
                .iter()
                .filter(|name| !closed.contains(*name) && open.get(name.as_str()).is_some_and(|o| o.0 > 0));
            let Some(largest) = placed.min_by_key(without).cloned() else { break };
            closed.insert(largest);
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `top` holds `pair` and `large`; `pair` holds two `small`.
    fn sizes() -> Sizes {
        let module = |name: &str, own: u64, children: &[(&str, u64)]| {
            (name.to_owned(), own, children.iter().map(|(child, times)| ((*child).to_owned(), *times)).collect())
        };
        let modules = vec![
            module("small", 100_000, &[]),
            module("large", 250_000, &[]),
            module("pair", 10_000, &[("small", 2)]),
            module("top", 10_000, &[("pair", 1), ("large", 1)]),
        ];
        Sizes { modules }
    }

    fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
        names.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_module_counts_as_often_as_it_is_placed() {
        assert_eq!(sizes().open(&names([]))["small"], (2, 100_000));
        assert!(!sizes().open(&names(["pair"])).values().any(|(count, own)| *own == 100_000 && *count > 0));
    }

    #[test]
    fn modules_that_are_closed_where_all_inputs_are_tried() {
        let pair = Sizes {
            modules: vec![
                ("small".into(), 100_000, BTreeMap::new()),
                ("other".into(), 1_000, BTreeMap::new()),
                ("pair".into(), 10_000, [("other".to_owned(), 2), ("small".to_owned(), 1)].into()),
            ],
        };
        assert_eq!(pair.tried("small"), [names([]), names(["other"])]);
        assert_eq!(pair.tried("pair"), [names([]), names(["other"]), names(["small"])]);
        assert!(sizes().tried("top").is_empty(), "too large");
    }

    #[test]
    fn modules_without_a_clock_are_closed_where_a_part_is_unrolled() {
        assert_eq!(sizes().unrolled("small", |name| name != "large"), [names(["large"]), names([])]);
        assert_eq!(sizes().unrolled("top", |_| true), [names([])]);
    }

    #[test]
    fn what_contains_the_mutant_stays_open_and_the_largest_others_are_closed() {
        assert_eq!(sizes().largest("small"), names(["large"]));
        assert_eq!(sizes().largest("large"), names(["pair"]));
        assert_eq!(sizes().largest("top"), names(["large"]));
        assert_eq!(sizes().others("small"), names(["large"]));
        assert_eq!(sizes().others("pair"), names(["large", "small"]));
    }
}
