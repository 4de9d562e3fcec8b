//! Seeds of random tests.
//!
//! ```
//! // In an ordinary run the fixed seed, in a soak run one that follows from it.
//! let seed = seeds::seed(7);
//! // In a full run all of a list, else some of it.
//! let widths = seeds::some(&[1, 2, 8, 33], 2);
//! assert!(widths.len() >= 2);
//! # let _ = seed;
//! ```
//!
//! An ordinary run is a fixed function of the tree: every random test has a fixed seed. `scripts/test --soak` draws other
//! ones: it sets [`VARIABLE`], and each seed that a test asks for becomes one that follows from both. So a failure is
//! repeated by the same value of the variable; the case that it found then becomes a fixed test.
//!
//! What takes too long for every run is left to the profile `full` of `cargo nextest`, which `scripts/test --full` runs: tests with
//! the tag `full`, and the rest of lists of which an ordinary run takes [`some`].
//!
//! This is the only place that reads the variables, and nothing else in the workspace may draw random numbers of its own.

/// The environment variable of a soak run: a number.
pub const VARIABLE: &str = "SENBAZURU_SEED";

/// The seed of a test: `fixed`, or in a soak run one that follows from `fixed` and the variable.
///
/// # Panics
/// The variable is set, and not to a number from 0 to 2^64 - 1: a test must not quietly run with another seed.
#[must_use]
pub fn seed(fixed: u64) -> u64 {
    let text = std::env::var_os(VARIABLE);
    match drawn(text.as_deref().map(|text| text.to_str().unwrap_or("not UTF-8"))) {
        Ok(None) => fixed,
        Ok(Some(drawn)) => mix(drawn, fixed),
        Err(problem) => panic!("{problem}"),
    }
}

/// The environment variable in which `cargo nextest` has the profile of a run.
pub const PROFILE: &str = "NEXTEST_PROFILE";

/// Of a list whose every entry takes seconds: all in a run of the profile `full` or `release`, else `count` of them at even
/// distances, the first one among them.
#[must_use]
pub fn some<T>(all: &[T], count: usize) -> Vec<&T> {
    let whole = std::env::var(PROFILE).is_ok_and(|profile| ["full", "release"].contains(&profile.as_str()));
    if whole { all.iter().collect() } else { spread(all, count) }
}

fn spread<T>(all: &[T], count: usize) -> Vec<&T> {
    let count = count.min(all.len());
    (0..count).map(|k| &all[k * all.len() / count]).collect()
}

fn drawn(text: Option<&str>) -> Result<Option<u64>, String> {
    let number = |text: &str| {
        text.parse().map_err(|_| format!("{VARIABLE} is `{text}`; it must be a number from 0 to 2^64 - 1, or not set"))
    };
    text.map(number).transpose()
}

/// Steele, Lea and Flood's SplitMix64 (2014) at position `fixed` of the sequence that `drawn` begins: different for
/// different `fixed`.
fn mix(drawn: u64, fixed: u64) -> u64 {
    scramble(scramble(drawn).wrapping_add(fixed.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How property tests run: `cases` cases from a seed of [`seed`], and no file of failures. Begin each `proptest!` with
/// `#![proptest_config(seeds::proptest(256))]`.
#[cfg(feature = "proptest")]
#[must_use]
pub fn proptest(cases: u32) -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, RngSeed};
    Config { cases, rng_seed: RngSeed::Fixed(seed(1)), failure_persistence: None, ..Config::default() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_variable_is_a_number_or_absent() {
        assert_eq!(drawn(None), Ok(None));
        assert_eq!(drawn(Some("0")), Ok(Some(0)));
        assert_eq!(drawn(Some("18446744073709551615")), Ok(Some(u64::MAX)));
        for text in ["", "-1", "18446744073709551616", "0x1", "1 ", "x"] {
            let problem = drawn(Some(text)).unwrap_err();
            assert!(problem.contains(&format!("SENBAZURU_SEED is `{text}`")), "{problem}");
        }
    }

    #[test]
    fn some_are_spread_over_all() {
        assert_eq!(spread(&[1, 2, 3, 4, 5, 6, 7], 3), [&1, &3, &5]);
        assert_eq!(spread(&[1, 2], 3), [&1, &2]);
        assert_eq!(spread::<u8>(&[], 3), Vec::<&u8>::new());
    }

    #[test]
    fn every_seed_of_a_soak_run_is_its_own() {
        let all: BTreeSet<u64> = (0..100).flat_map(|drawn| (0..100).map(move |fixed| mix(drawn, fixed))).collect();
        assert_eq!(all.len(), 100 * 100);
    }
}
