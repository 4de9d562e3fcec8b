//! A refused parameter is told by a name that the user has, with the value that the user gave.

use std::collections::BTreeSet;
use test_tag::tag;

use crate::support::on_all_cores;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use senbazuru::catalogue::{Catalogue, Entry, Params};
use serde_json::Value;

/// A value that may be legal or not.
fn odd(rng: &mut ChaCha8Rng, value: &Value) -> Value {
    match value {
        Value::Bool(truth) => (!truth).into(),
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or(1);
            let choices = [0, 1, 2, 3, number / 2, number - 1, number + 1, 2 * number, 4 * number + 1, 64, 4096];
            choices[rng.random_range(0..choices.len())].max(0).into()
        }
        other => other.clone(),
    }
}

/// `params` with odd values at these positions.
fn change(rng: &mut ChaCha8Rng, params: &Params, positions: &[usize]) -> Params {
    let mut changed = params.clone();
    let names: Vec<&String> = params.keys().collect();
    for name in positions.iter().filter_map(|&p| names.get(p)) {
        changed.insert((*name).clone(), odd(rng, &params[*name]));
    }
    changed
}

/// The messages of a set of parameters that cannot be acted upon.
fn wrong(entry: &dyn Entry, params: &Params) -> Vec<String> {
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let errors = entry.check(params).into_iter();
    let bad = errors.filter(|error| params.get(&error.parameter).is_none_or(|value| shown(value) != error.value));
    bad.map(|error| format!("{}: {error}", entry.about().name)).collect()
}

#[test]
fn messages_name_what_the_user_has_set() {
    let mut rng = ChaCha8Rng::seed_from_u64(seeds::seed(1));
    let (mut told, mut refused) = (BTreeSet::new(), 0);
    for entry in Catalogue::standard().all().to_vec() {
        let defaults = entry.defaults();
        // Each parameter alone, then several at once, since a rule of a part may compare two of them.
        for turn in 0..defaults.len() * 8 + 150 {
            let changed = if turn < defaults.len() * 8 {
                vec![turn / 8]
            } else {
                let count = rng.random_range(2..=4);
                (0..count).map(|_| rng.random_range(0..defaults.len().max(1))).collect()
            };
            let params = change(&mut rng, &defaults, &changed);
            if entry.accepts(&params).is_ok() {
                refused += usize::from(!entry.check(&params).is_empty());
                told.extend(wrong(entry.as_ref(), &params));
            }
        }
    }
    assert!(refused > 1000, "{refused}");
    assert!(told.is_empty(), "{}:\n{}", told.len(), told.into_iter().collect::<Vec<_>>().join("\n"));
}

/// Elaborates each block at changed parameters that its rules let pass, `turns` times.
fn what_passes_elaborates(turns: u64) {
    let work = Catalogue::standard().all().to_vec().into_iter().map(|entry| {
        let name = entry.about().name;
        (name.to_owned(), name)
    });
    on_all_cores(work.collect(), |&name| {
        let entry = Catalogue::standard().find(name).cloned().map_err(|e| e.to_string())?;
        let mut rng = ChaCha8Rng::seed_from_u64(seeds::seed(2));
        let configurations = entry.configurations();
        let mut problems = BTreeSet::new();
        for _ in 0..turns {
            let base = &configurations[rng.random_range(0..configurations.len())];
            let positions: Vec<usize> =
                (0..rng.random_range(1..=3)).map(|_| rng.random_range(0..base.len().max(1))).collect();
            let params = change(&mut rng, base, &positions);
            if entry.accepts(&params).is_err() || !entry.check(&params).is_empty() {
                continue;
            }
            if let Err(error) = entry.elaborate(&params) {
                problems.insert(format!("{}: {error:#}", Value::from(params)));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.into_iter().take(5).collect::<Vec<_>>().join("\n")) }
    });
}

/// A part's rule is a rule of the whole, in the names of the whole: no message comes from within.
#[test]
fn what_the_rules_let_pass_elaborates() {
    what_passes_elaborates(20);
}

#[tag(full)]
#[test]
#[ignore = "minutes: more parameters"]
fn what_the_rules_let_pass_elaborates_whole() {
    what_passes_elaborates(500);
}
