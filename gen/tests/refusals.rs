//! A refused parameter is told by a name that the user has, with the value that the user gave.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use senbazuru::registry::{self, Entry, Params};
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
    for entry in registry::all() {
        let defaults = entry.defaults();
        let names: Vec<&String> = defaults.keys().collect();
        // Each parameter alone, then several at once: what a rule of a part compares may be two of them.
        for turn in 0..names.len() * 8 + 150 {
            let mut params = defaults.clone();
            let changes = if turn < names.len() * 8 { 1 } else { rng.random_range(2..=4) };
            for _ in 0..changes {
                let number = if changes == 1 { turn / 8 } else { rng.random_range(0..names.len().max(1)) };
                let Some(name) = names.get(number) else { continue };
                params.insert((*name).clone(), odd(&mut rng, &defaults[*name]));
            }
            if entry.accepts(&params).is_ok() {
                refused += usize::from(!entry.check(&params).is_empty());
                told.extend(wrong(entry.as_ref(), &params));
            }
        }
    }
    assert!(refused > 1000, "{refused}");
    assert!(told.is_empty(), "{}:\n{}", told.len(), told.into_iter().collect::<Vec<_>>().join("\n"));
}
