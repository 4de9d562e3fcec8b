//! The input that chooses a mutation, and designs that have it.

use super::list::Mutation;

/// The input of a model with mutants that chooses a mutant by its number, from 1. At 0 the design is unchanged.
pub const SELECT: &str = "senbazuru_select_i";

/// Bits of the input that chooses one of so many mutants, or none.
pub(super) fn select_width(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
}

/// Yosys commands that apply mutations to a design. A number at the input selects one, from 1.
pub(super) fn commands<'a>(mutations: impl ExactSizeIterator<Item = &'a Mutation>) -> String {
    let width = select_width(mutations.len());
    let one = |(index, mutation): (usize, &Mutation)| {
        format!("mutate -ctrl {SELECT} {width} {} {}\n", index + 1, mutation.options)
    };
    mutations.enumerate().map(one).collect()
}

/// The elaborated design with mutations. A number at the input selects one, from 1.
pub(super) fn with_faults<'a>(
    ir: &hdl::lang::Design,
    mutations: impl Iterator<Item = &'a Mutation>,
) -> hdl::lang::Design {
    let faults: Vec<_> = mutations.filter_map(|mutation| mutation.fault.clone()).collect();
    ir.with_faults(SELECT, &faults)
}
