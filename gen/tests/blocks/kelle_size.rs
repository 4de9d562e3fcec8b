//! The paper's Kelle: 32 x 32 PEs, 2 MB of weights, 256 KB of activations, and 4 MB of keys and values; and the same
//! with 2,048 tokens in each of 32 heads.

use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop};
use hdl::lang::elaborate;
use senbazuru::flows::lint::{Sources, lint};
use test_tag::tag;

/// As `docs/blocks/kelle-top.md` has it synthesised: 32 heads of 256 tokens of 128 elements.
fn paper() -> KelleTop {
    let spec = KelleSpec { inner: 2048, weights: 65_536, ..KelleSpec::default() };
    let attention = AttentionSpec {
        spec: spec.clone(),
        heads: 32,
        slots: 255,
        width: 128,
        interval: 19_456,
        ..AttentionSpec::default()
    };
    KelleTop { spec, attention, ..KelleTop::default() }
}

#[test]
fn sizes_are_those_of_the_paper() {
    let KelleTop { spec, attention, .. } = paper();
    assert_eq!((spec.rows, spec.columns), (32, 32));
    assert_eq!(spec.weights * spec.columns, 2 << 20);
    assert_eq!(spec.tokens * spec.inner * 2, 256 << 10);
    // Of each token a key and a value of two bytes an element: a row of a bank is 16 bytes in 32 banks.
    let cache = attention.cache();
    assert_eq!(attention.rows() * attention.width * 4, 4 << 20);
    assert_eq!((cache.refresh.rows, 4 * cache.banks, cache.lanes), (8192, 32, 16));
    // At 1 GHz no row that is refreshed is as old as 45 us.
    assert!(cache.refresh.slack() + u64::from(cache.refresh.interval) < 45_000);
}

/// N' = 2,048, the paper's budget for PG19, with the heads of LLaMA2-7B.
fn long() -> KelleTop {
    let AttentionSpec { spec, .. } = paper().attention;
    let attention = AttentionSpec { slots: 2048, interval: 360_000, ..paper().attention };
    KelleTop { spec, attention, ..paper() }
}

#[test]
fn heads_of_2048_tokens() {
    let attention = long().attention;
    let cache = attention.cache();
    assert_eq!((attention.rows(), cache.refresh.rows, attention.panels()), (65_568, 65_568, 65));
    let design = elaborate(&long()).unwrap_or_else(|e| panic!("{e}"));
    assert!(design.top_name().starts_with("kelle_top"));
    // The slack of its walk is longer than the weakest cell holds its bit, 45 us: important high bytes are safe at 0.36 ms
    // only with cells that hold for 0.56 ms.
    assert_eq!(cache.refresh.slack() + u64::from(cache.refresh.interval), 557_471);
    let beyond = AttentionSpec { slots: 4095, interval: 400_000, heads: 33, ..attention };
    let errors = elaborate(&KelleTop { attention: beyond, ..long() }).unwrap_err().to_string();
    assert!(errors.contains("rows") && errors.contains("135168") && errors.contains("131072"), "{errors}");
}

#[tag(full)]
#[test]
#[ignore = "two minutes: linters on two whole accelerators"]
fn the_papers_accelerator_is_clean() {
    for block in [paper(), long()] {
        let design = elaborate(&block).unwrap_or_else(|e| panic!("{e}"));
        let checks = lint(&Sources::from(&design)).unwrap();
        assert!(checks.len() >= 3, "{checks:?}");
        for check in checks {
            assert!(check.messages.is_empty(), "{}: {}", check.tool, check.messages.join("\n"));
        }
    }
}
