//! The whole way: pruning, quantization and packing to bytes off chip, and back, on random and on real keys and values.

use golden::titanus::cpq::{Config, Sequence};
use hdl::blocks::titanus::{KvCompressor, KvDecompressor};
use models::titanus::key_values::{KeyValues, LAYERS, key_values, threshold_for};
use sim::Design;
use sim::kit::options;
use test_tag::tag;
use testbenches::titanus::kv_compressor::{RawCase, bench_of};
use testbenches::titanus::kv_decompressor;

/// The paper's parallelism: 16 lanes; a head of 64 channels.
fn compressor() -> KvCompressor {
    KvCompressor { lanes: 16, tiles: 4, ..KvCompressor::default() }
}

/// 48 tokens of three layers, 32 of them prefill, pruned to a third and quantized to 3 and 2 bits; then random sequences.
#[test]
fn real_keys_and_values() {
    let cases: Vec<RawCase> = LAYERS
        .map(|layer| {
            let KeyValues { k, v, .. } = key_values(layer).unwrap_or_else(|e| panic!("{e}"));
            let tokens = [k, v].map(|side| side[..48].to_vec());
            let thresholds = [0, 1].map(|side| threshold_for(&tokens[side], 0.338));
            RawCase { thresholds, bits: [3, 2], prefill: 32, tokens }
        })
        .into();
    let p = compressor();
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let there = bench_of(&p, cases.clone()).unwrap_or_else(|e| panic!("{e}"));
    sim::run(&*there, &design, &options(10)).unwrap_or_else(|e| panic!("{e}"));

    // The bytes equal the golden ones, so the tokens that come back from both are the same.
    let KvCompressor { lanes, tiles, levels, block_bytes, .. } = p;
    let back = KvDecompressor { lanes, tiles, levels, block_bytes, checksum: false };
    let design = Design::from(&hdl::lang::elaborate(&back).unwrap_or_else(|e| panic!("{e}")));
    let sequences: Vec<Sequence> =
        cases.iter().flat_map(|case| [0, 1].map(|side| case.pruned(side).encode(levels, p.buffer_tokens))).collect();
    // The data is suitable: levels open in decode, and no channel runs out of them.
    assert!(sequences.iter().all(|s| !s.overflowed()));
    assert!(sequences.iter().any(|s| s.channels.iter().any(|c| c.levels.len() > 2)));
    let bench = kv_decompressor::bench_of(&back, sequences).unwrap_or_else(|e| panic!("{e}"));
    sim::run(&*bench, &design, &options(20)).unwrap_or_else(|e| panic!("{e}"));
}

/// The default size, 32 lanes, on all 384 tokens of each layer.
#[tag(full)]
#[test]
#[ignore = "builds the largest model: minutes"]
fn default_size_on_whole_text() {
    let p = KvCompressor { buffer_tokens: 192, ..KvCompressor::default() };
    let mut cases = Vec::new();
    let mut sequences = Vec::new();
    for layer in LAYERS {
        let KeyValues { k, v, .. } = key_values(layer).unwrap_or_else(|e| panic!("{e}"));
        let thresholds = [threshold_for(&k, 0.338), threshold_for(&v, 0.338)];
        let case = RawCase { thresholds, bits: [3, 2], prefill: 192, tokens: [k, v] };
        sequences.extend([0, 1].map(|side| case.pruned(side).encode(p.levels, p.buffer_tokens)));
        cases.push(case);
    }
    assert!(sequences.iter().all(|s| s.config == Config { bits: s.config.bits, max_levels: 16 }));
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = bench_of(&p, cases).unwrap_or_else(|e| panic!("{e}"));
    sim::run(&*bench, &design, &options(15)).unwrap_or_else(|e| panic!("{e}"));
    let back = KvDecompressor::default();
    let design = Design::from(&hdl::lang::elaborate(&back).unwrap_or_else(|e| panic!("{e}")));
    let bench = kv_decompressor::bench_of(&back, sequences).unwrap_or_else(|e| panic!("{e}"));
    sim::run(&*bench, &design, &options(30)).unwrap_or_else(|e| panic!("{e}"));
}
