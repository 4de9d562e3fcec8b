//! The cache of keys and values in its configurations, and broken ones.

use hdl::blocks::kelle::KvCache;
use hdl::lang::CatalogBlock;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::kelle::kv_cache::bench;

#[test]
fn configurations() {
    for block in seeds::some(&KvCache::configurations(), 2) {
        let report = sim::kit::run(block, bench, &options(3000)).unwrap_or_else(|e| panic!("{e}"));
        assert!(report.compared >= 100_000, "{report:?}");
    }
}

#[test]
fn broken_caches_are_noticed() {
    let faults = [
        ("high bytes of values show bytes of keys", Fault::net("shows_value_high_q", "1'b0")),
        ("a byte that was not asked for shows", Fault::net("shows_key_low_q", "1'b1")),
        ("low banks are read while they are refreshed", Fault::net("low_free", "1'b1")),
        ("low bytes are written when they are read", Fault::net("needs_low", "access_low_i")),
        ("scores of another head age", Fault::net("step_head_i", "2'd0").into("u_scores")),
        ("low bytes follow the intervals of high ones", Fault::net("config_high_lsb_i", "config_high_msb_i")),
    ];
    let block = KvCache::configurations().swap_remove(1);
    must_be_noticed(&block, bench, 3000, &faults);
    let faults = [
        ("a token that comes again loses its score", Fault::net("keep_i", "1'b0")),
        ("a dropped token is refreshed", Fault::net("drop_valid_i", "1'b0")),
    ];
    let block = KvCache::configurations().swap_remove(2);
    must_be_noticed(&block, bench, 3000, &faults);
}
