//! The registered proofs of every block hold.

mod support;

use std::time::Duration;

use senbazuru::flows::lint::Sources;
use senbazuru::flows::prove::{Options, prove};
use senbazuru::params::show;
use senbazuru::registry;
use support::on_all_cores;

#[test]
fn registered_proofs_hold() {
    let catalogue = registry::all();
    let mut work = Vec::new();
    for entry in &catalogue {
        for proof in entry.proofs() {
            work.push((format!("{} with {}", entry.about().name, show(&proof.params)), (entry, proof)));
        }
    }
    on_all_cores(work, |(entry, proof)| {
        let options = Options {
            depth: proof.depth,
            cover_depth: proof.cover_depth,
            induction: proof.induction,
            solver: "z3".into(),
            limit: Duration::from_secs(300),
            traces: std::env::temp_dir().join("senbazuru_proofs"),
        };
        let properties = prove(&Sources::from(&entry.elaborate(&proof.params).unwrap()), &options).unwrap();
        let bad: Vec<_> = properties.iter().filter(|p| !p.verdict.is_good()).map(|p| format!("{p:?}")).collect();
        if bad.is_empty() { Ok(()) } else { Err(bad.join("\n")) }
    });
}
