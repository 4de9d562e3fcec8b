//! Sums of many terms, or of ones in an array, as balanced trees of pairs.

use crate::lang::{Array, Module, Signal, Type};

/// The sum of all terms, exact. Its nets are called after `name`. Sums of a level have the type that `sum_of` gives for
/// the number of their terms.
#[track_caller]
pub fn adder_tree(m: &mut Module, name: &str, terms: Array, sum_of: impl Fn(u32) -> Type) -> Signal {
    adder_trees(m, name, terms, 1, sum_of).at(0)
}

/// `count` sums of as many neighbours each, as [`adder_tree`]. Where `count` is more than 1, the neighbours of a sum are a
/// power of two.
#[track_caller]
pub fn adder_trees(m: &mut Module, name: &str, terms: Array, count: u32, sum_of: impl Fn(u32) -> Type) -> Array {
    let (all, mut of, mut level) = (terms.count() / count.max(1), 1, terms);
    while level.count() > count.max(1) {
        of = (2 * of).min(all);
        let (count, ty) = (level.count(), sum_of(of));
        let pairs = count / 2;
        let next = m.nets(&format!("{name}_of_{of}"), ty, count - pairs);
        m.for_each(&format!("{name}_pair_of_{of}"), pairs, |m, i| {
            let (a, b) = (level.at(i * 2).extend(ty.width), level.at(i * 2 + 1).extend(ty.width));
            m.connect(next.at(i), a.wrapping_add(b));
        });
        if count % 2 == 1 {
            m.connect(next.at(pairs), level.at(count - 1).extend(ty.width));
        }
        level = next;
    }
    level
}
