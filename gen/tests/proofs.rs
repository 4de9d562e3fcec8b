//! The registered proofs of every block hold.

use std::time::Duration;

use senbazuru::lint::Sources;
use senbazuru::params::show;
use senbazuru::prove::{Options, prove};
use senbazuru::registry;

#[test]
fn registered_proofs_hold() {
    let mut failures = String::new();
    for entry in registry::all() {
        for proof in entry.proofs() {
            let sources = Sources::from(&entry.elaborate(&proof.params).unwrap());
            let options = Options {
                depth: proof.depth,
                cover_depth: proof.cover_depth,
                induction: proof.induction,
                solver: "z3".into(),
                limit: Duration::from_secs(300),
                traces: std::env::temp_dir().join("senbazuru_proofs"),
            };
            for property in prove(&sources, &options).unwrap() {
                if !property.verdict.is_good() {
                    failures += &format!("{} with {}: {property:?}\n", entry.about().name, show(&proof.params));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
