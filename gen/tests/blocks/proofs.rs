//! The registered proofs of every block hold.

use std::time::Duration;
use test_tag::tag;

use crate::support::on_all_cores;
use crate::support::parts::{self, Part};
use hdl::blocks::common::bus::DmaSpec;
use hdl::blocks::common::{AxiReadDma, AxiSpec, AxiWriteDma, RamImplementation};
use hdl::lang::{Design, elaborate};
use senbazuru::catalogue::{Catalogue, Entry, ProofRun};
use senbazuru::flows::lint::Sources;
use senbazuru::flows::prove::{Kind, Options, Property, prove};
use senbazuru::params::show;

/// How the names of proofs begin that take over ten seconds each, or five where the block has others. Most of these blocks have
/// shorter ones besides, and broken ones are refuted in the ordinary run.
const LONG: [&str; 28] = [
    "axi_arbiter ",
    "axi_read_dma ",
    "axi_write_dma ",
    "cache_reader ",
    "cache_writer ",
    "crc32 ",
    "dcim_linear ",
    "dense_sparse_product with rows = 1",
    "dequantization_unit with lanes = 2, tiles = 1, levels = 2",
    "dequantization_unit with lanes = 2, tiles = 2",
    "eviction_controller with slots = 3",
    "execution_controller ",
    "float_fma with format = e5m2",
    "float_fma with format = fp16, fused = true",
    "job_controller ",
    "kv_packer ",
    "kv_unpacker ",
    "mac_mesh with rows = 3",
    "orizuru with n = 3, k_max = 2",
    "orizuru with n = 3, k_max = 3, k_min = 2",
    "orizuru with n = 4",
    "orizuru with n = 5",
    "pe_lane ",
    "quantization_unit with lanes = 2, tiles = 1, levels = 1",
    "refresh_controller with rows = 3",
    "scaling_unit ",
    "score_memory ",
    "token_packer ",
];

/// Of these, and of parts, half a minute and more each.
const LONGEST: [&str; 9] = [
    "codebook_loader",
    "crc32 ",
    "dense_sparse_product ",
    "execution_controller ",
    "factor_ring",
    "pe_lane ",
    "scaling_unit ",
    "token_packer ",
    "token_reader",
];

/// Proofs of a block that are made in an ordinary run, which takes each fourth block and each fourth part.
const SOME: usize = 1;

#[test]
fn registered_proofs_hold() {
    all_hold(|name| !begins_with(name, &LONG));
}

#[tag(full)]
#[test]
#[ignore = "minutes: proofs of ten seconds and more"]
fn registered_proofs_hold_whole() {
    let catalogue = Catalogue::standard().all().to_vec();
    let names: Vec<String> =
        catalogue.iter().flat_map(|entry| entry.proofs().into_iter().map(|p| name(&**entry, &p))).collect();
    let unknown: Vec<_> = LONG.iter().filter(|long| !names.iter().any(|name| name.starts_with(**long))).collect();
    assert!(unknown.is_empty(), "no proof begins with {unknown:?}");
    all_hold(|name| begins_with(name, &LONG) && !begins_with(name, &LONGEST));
}

#[tag(release)]
#[test]
#[ignore = "minutes: proofs of minutes each"]
fn longest_proofs_hold() {
    all_hold(|name| begins_with(name, &LONGEST));
    parts_hold(|part| begins_with(part.name, &LONGEST));
}

fn begins_with(name: &str, some: &[&str]) -> bool {
    some.iter().any(|begin| name.starts_with(begin))
}

fn name(entry: &dyn Entry, proof: &ProofRun) -> String {
    format!("{} with {}", entry.about().name, show(&proof.params))
}

fn all_hold(wanted: impl Fn(&str) -> bool) {
    let catalogue = Catalogue::standard().all().to_vec();
    let mut work = Vec::new();
    for entry in &catalogue {
        let proofs: Vec<_> = entry.proofs().into_iter().filter(|proof| wanted(&name(&**entry, proof))).collect();
        let some = seeds::some(&proofs, SOME).into_iter().cloned();
        work.extend(some.map(|proof| (name(&**entry, &proof), (&**entry, proof))));
    }
    let some = seeds::some(&work, work.len().div_ceil(4)).into_iter().cloned().collect();
    on_all_cores(some, |(entry, proof): &(&dyn Entry, ProofRun)| {
        let options = Options {
            depth: proof.depth,
            cover_depth: proof.cover_depth,
            induction: proof.induction,
            solver: "z3".into(),
            limit: Duration::from_secs(300),
            traces: std::env::temp_dir().join("senbazuru_proofs"),
        };
        holds(&entry.elaborate(&proof.params).unwrap(), &options)
    });
}

fn holds(design: &Design, options: &Options) -> Result<(), String> {
    let properties = prove(&Sources::from(design), options).unwrap();
    let bad: Vec<_> = properties.iter().filter(|p| !p.verdict.is_good()).map(|p| format!("{p:?}")).collect();
    if bad.is_empty() { Ok(()) } else { Err(bad.join("\n")) }
}

/// Proofs of parts of accelerators. Modules inside them have proofs of their own, and not all of their covers are
/// reached here.
#[test]
fn parts_of_accelerators_hold() {
    parts_hold(|part| !part.long);
}

#[tag(full)]
#[test]
#[ignore = "minutes: proofs of ten seconds and more"]
fn parts_of_accelerators_hold_whole() {
    parts_hold(|part| part.long && !begins_with(part.name, &LONGEST));
}

fn parts_hold(wanted: impl Fn(&Part) -> bool) {
    let parts: Vec<_> = parts::all().into_iter().filter(wanted).map(|part| (part.name.to_owned(), part)).collect();
    let some =
        seeds::some(&parts, parts.len().div_ceil(4)).into_iter().map(|(name, part)| (name.clone(), part)).collect();
    on_all_cores(some, |part: &&Part| {
        let options = Options {
            depth: part.depth,
            cover_depth: part.cover_depth,
            induction: part.induction,
            solver: "z3".into(),
            limit: Duration::from_secs(300),
            traces: std::env::temp_dir().join("senbazuru_proofs"),
        };
        let properties = prove(&Sources::from(&(part.design)()), &options).unwrap();
        let looked_at = |p: &&Property| p.kind == Kind::Assert || !p.name.contains('.');
        let bad: Vec<_> =
            properties.iter().filter(looked_at).filter(|p| !p.verdict.is_good()).map(|p| format!("{p:?}")).collect();
        if bad.is_empty() { Ok(()) } else { Err(bad.join("\n")) }
    });
}

/// DMAs with beats of 64 bytes: bursts reach the boundary of 4 KiB within the depth, and go on after it.
#[tag(full)]
#[test]
#[ignore = "minutes: proofs of beats of 64 bytes"]
fn dmas_split_at_4_kib() {
    let axi = AxiSpec { address_width: 13, data_width: 512, id_width: 1 };
    let (row_width, rows_width, stride_width) = (8, 2, 7);
    let dma = DmaSpec {
        burst_beats: 2,
        outstanding: 2,
        commands: 2,
        row_width,
        rows_width,
        stride_width,
        ..DmaSpec::default()
    };
    let storage = RamImplementation::Inferred;
    let read = AxiReadDma { axi: axi.clone(), dma: dma.clone(), buffer_beats: 4, storage };
    let write = AxiWriteDma { axi, dma, buffer_beats: 2, storage };
    let designs = [(elaborate(&read).unwrap(), true), (elaborate(&write).unwrap(), false)];
    for (design, induction) in designs {
        let options = Options {
            depth: 8,
            cover_depth: 20,
            induction,
            solver: "z3".into(),
            limit: Duration::from_secs(400),
            traces: std::env::temp_dir().join("senbazuru_proofs"),
        };
        holds(&design, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}
