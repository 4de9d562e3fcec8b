//! The command line as a user meets it: output, messages and exit codes.

use sim::fault::Fault;
use std::fs;
use std::path::Path;

use crate::support::{MESH, in_folder, senbazuru};
use sim::process::Tool;
use snapbox::cmd::cargo_bin;
use snapbox::str;

#[test]
fn list_names_every_block_and_prints_json() {
    let run = senbazuru(&["list"]).assert().code(0).stderr_eq("");
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    for entry in senbazuru::Catalogue::standard().all() {
        assert!(text.contains(entry.about().name), "{text}");
    }
    let run = senbazuru(&["list", "--json"]).assert().code(0);
    let lines: serde_json::Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!(lines.as_array().unwrap().len(), senbazuru::Catalogue::standard().all().len());
}

/// In a terminal a table is as wide as that, elsewhere 100 columns. No word is lost.
#[test]
fn list_fits_the_terminal() {
    let program = cargo_bin!("senbazuru").display().to_string();
    for columns in [80, 100] {
        let script = format!("stty rows 24 cols {columns}; '{program}' list");
        let output = Tool::new("script").args(["-qec", &script, "/dev/null"]).run().unwrap();
        let widest = output.stdout.lines().map(|l| l.trim_end().chars().count()).max();
        assert!(widest.is_some_and(|w| w > 60 && w <= columns), "{widest:?}\n{}", output.stdout);
        for entry in senbazuru::Catalogue::standard().all() {
            assert!(output.stdout.contains(entry.about().name), "{}", output.stdout);
        }
    }
    let told = |args: &[&str]| {
        let run = senbazuru(args).assert().code(0);
        String::from_utf8(run.get_output().stdout.clone()).unwrap()
    };
    let (text, long) = (told(&["list"]), told(&["list", "--long"]));
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let sorted = |text: &str| {
        let mut words: Vec<_> =
            text.split_whitespace().filter(|word| !word.starts_with("--")).map(str::to_owned).collect();
        words.sort();
        words
    };
    assert_eq!(sorted(&text), sorted(&long));
    assert_eq!(long.lines().count(), 2 + senbazuru::Catalogue::standard().all().len());
    for (line, entry) in long.lines().skip(2).zip(senbazuru::Catalogue::standard().all()) {
        assert!(line.contains(entry.about().name) && line.contains(entry.about().summary), "{line}");
    }
}

/// An earlier command has made the files that the tables of commands need.
#[test]
fn commands_of_the_page_follow_from_one_another() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/commands.md")).unwrap();
    let lines = page.lines().filter_map(|l| l.strip_prefix("| `senbazuru ")?.split_once('`'));
    let commands: Vec<&str> = lines.map(|(command, _)| command).collect();
    assert!(commands.len() > 10, "{commands:?}");
    let mut made = vec![String::new()];
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let option = |name: &str| words.iter().position(|w| *w == name).map(|i| words[i + 1].to_owned());
        match words[..] {
            ["wave", file, ..] | ["report", file, ..] => {
                assert!(made.contains(&file.to_owned()), "{command}: {made:?}")
            }
            ["sweep", file, ..] => {
                assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file).is_file());
                let name = Path::new(file).file_stem().unwrap().to_str().unwrap();
                made.push(format!("target/sweeps/{name}"));
            }
            _ => made.extend(option("--trace")),
        }
    }
    assert!(page.contains("SENBAZURU_CACHE"));
}

#[test]
fn info_of_a_mesh() {
    senbazuru(&["info", "mac_mesh", "--set", "rows=2", "--set", "columns=3"]).assert().code(0).stdout_eq(str![[r#"
mac_mesh (common): output-stationary mesh of multiply-accumulate cells

clear_i[r] and act_i[r] reach PE (r, c) after c cycles, weight_i[c] reaches it after r cycles. acc_o
shows row row_i in the same cycle. A row may be cleared at any time: each of its PEs drops its sum
when the clear reaches it. Reset cancels the clears that are still in the array; operands stay. A
sum is valid from the first clear that reaches its PE with operands that entered after the reset.

Source:         hdl/src/blocks/common/mac_mesh.rs
Verilog module: mac_mesh_r2_c3_w8_a32

parameter          value  default  allowed                               meaning
-----------------  -----  -------  ------------------------------------  ------------------------------------------------------
rows                   2       16  1 to 1024                             Rows of PEs
columns                3       16  1 to 1024                             Columns of PEs
operand_width          8        8  2 to 32                               Width of an activation and of a weight in bits, signed
accumulator_width     32       32  4 to 128; at least 2 x operand_width  Width of an accumulator in bits, signed, wrapping

sim --tensors takes act.npy: activations, a row for each token; int8, shape [any, channels]
sim --tensors takes weight.npy: weights, a row for each channel; int8, shape [channels, any]

port      direction  bits  elements  number    meaning                                                                                               inputs of the same cycle
--------  ---------  ----  --------  --------  ----------------------------------------------------------------------------------------------------  ------------------------
clk_i     input         1  -         unsigned  Clock: its rising edge                                                                                -
rst_ni    input         1  -         unsigned  Reset, active low, takes effect at once                                                               -
clear_i   input         2  2 x 1     unsigned  Per row: start a new sum with this cycle's product in the first column                                -
act_i     input        16  2 x 8     signed    Per row: activation into the first column                                                             -
weight_i  input        24  3 x 8     signed    Per column: weight into the first row                                                                 -
row_i     input         1  -         unsigned  Row of accumulators to read; past the end, the last one                                               -
acc_o     output       96  3 x 32    signed    The accumulators of row `row_i`, in the same cycle; accumulators that were never cleared are unknown  row_i

timing  cycles  meaning
------  ------  ----------------------------------------------------
beat         1  from one beat to the next at full speed
skew         3  from the first PE's product to the last PE's product

module                 block     instances
---------------------  --------  ---------
mac_mesh_r2_c3_w8_a32  mac_mesh          1
mac_pe_w8_a32          mac_pe            6

"#]]);
}

#[test]
fn info_as_markdown() {
    senbazuru(&["info", "mac_mesh", "--markdown"]).assert().code(0).stdout_eq(str![[r#"
# mac_mesh

output-stationary mesh of multiply-accumulate cells (common; `hdl/src/blocks/common/mac_mesh.rs`)

clear_i[r] and act_i[r] reach PE (r, c) after c cycles, weight_i[c] reaches it after r cycles. acc_o shows row row_i in the same cycle. A row may be cleared at any time: each of its PEs drops its sum when the clear reaches it. Reset cancels the clears that are still in the array; operands stay. A sum is valid from the first clear that reaches its PE with operands that entered after the reset.

## Parameters

| parameter | value | default | allowed | meaning |
| --- | ---: | ---: | --- | --- |
| rows | 16 | 16 | 1 to 1024 | Rows of PEs |
| columns | 16 | 16 | 1 to 1024 | Columns of PEs |
| operand_width | 8 | 8 | 2 to 32 | Width of an activation and of a weight in bits, signed |
| accumulator_width | 32 | 32 | 4 to 128; at least 2 x operand_width | Width of an accumulator in bits, signed, wrapping |

`sim --tensors` takes act.npy: activations, a row for each token; int8, shape [any, channels]

`sim --tensors` takes weight.npy: weights, a row for each channel; int8, shape [channels, any]

## Ports of `mac_mesh_r16_c16_w8_a32`

| port | direction | bits | elements | number | meaning | inputs of the same cycle |
| --- | --- | ---: | --- | --- | --- | --- |
| clk_i | input | 1 | - | unsigned | Clock: its rising edge | - |
| rst_ni | input | 1 | - | unsigned | Reset, active low, takes effect at once | - |
| clear_i | input | 16 | 16 x 1 | unsigned | Per row: start a new sum with this cycle's product in the first column | - |
| act_i | input | 128 | 16 x 8 | signed | Per row: activation into the first column | - |
| weight_i | input | 128 | 16 x 8 | signed | Per column: weight into the first row | - |
| row_i | input | 4 | - | unsigned | Row of accumulators to read; past the end, the last one | - |
| acc_o | output | 512 | 16 x 32 | signed | The accumulators of row `row_i`, in the same cycle; accumulators that were never cleared are unknown | row_i |

## Timing

| timing | cycles | meaning |
| --- | ---: | --- |
| beat | 1 | from one beat to the next at full speed |
| skew | 30 | from the first PE's product to the last PE's product |

## Modules

| module | block | instances |
| --- | --- | ---: |
| mac_mesh_r16_c16_w8_a32 | mac_mesh | 1 |
| mac_pe_w8_a32 | mac_pe | 256 |

"#]]);
}

/// What follows a list is not a part of its last entry.
#[test]
fn lists_in_markdown_end() {
    let out = senbazuru(&["info", "dequantization_unit", "--markdown"]).output().unwrap().stdout;
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("without a token.\n\nReset drops all tiles inside.\n\n##"), "{text}");
}

#[test]
fn config_file_then_set() {
    let folder = in_folder(&[("mesh.toml", "rows = 2\ncolumns = 2 # overridden\noperand_width = 4\n")]);
    let args = ["info", "mac_mesh", "--config", "mesh.toml", "--set", "columns=5", "--json"];
    let run = senbazuru(&args).current_dir(folder.path()).assert().code(0);
    let info: serde_json::Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!(info["top"], "mac_mesh_r2_c5_w4_a32");
}

#[test]
fn lint_of_a_mesh() {
    senbazuru(&[&["lint", "mac_mesh"], &MESH[..]].concat()).assert().code(0).stdout_eq(str![[r#"
module                result                             parameters
--------------------  ---------------------------------  ---------------------------------------------------------------
mac_mesh_r2_c2_w4_a8  clean: verilator, iverilog, yosys  rows = 2, columns = 2, operand_width = 4, accumulator_width = 8

"#]]);
}

#[test]
fn sim_agrees_and_is_repeatable() {
    let folder = in_folder(&[]);
    let run = || {
        let args = [&["sim", "mac_mesh", "--vectors", "50", "--seed", "7", "--trace", "run.fst", "--json"], &MESH[..]];
        let run = senbazuru(&args.concat()).current_dir(folder.path()).assert().code(0).stderr_eq("");
        serde_json::from_slice::<serde_json::Value>(&run.get_output().stdout).unwrap()
    };
    let (first, second) = (run(), run());
    assert_eq!((&first["passed"], &first["compared"]), (&true.into(), &100.into()));
    assert_eq!((&first["cycles"], &first["waveform"]), (&second["cycles"], &"run.fst".into()));
    assert!(fs::metadata(folder.path().join("run.fst")).unwrap().len() > 500);
}

#[test]
fn sim_of_broken_verilog_is_a_mismatch() {
    let folder = in_folder(&[]);
    let run = |args: &[&str]| senbazuru(&[args, &MESH].concat()).current_dir(folder.path());
    run(&["gen", "mac_mesh", "-o", "edited"]).assert().code(0);
    let file = |name: &str| folder.path().join("edited").join(name);
    let sources = ["mac_pe_w4_a8.v", "mac_mesh_r2_c2_w4_a8.v"]
        .map(|name| sim::SourceFile { name: name.into(), text: fs::read_to_string(file(name)).unwrap() });
    let top = "mac_mesh_r2_c2_w4_a8";
    let design = sim::Design { files: sources.to_vec(), ..sim::Design::from_verilog(top, "") };
    let fault = Fault::net("act_q", "weight_q").module("mac_pe");
    let broken = sim::fault::design(&design, &fault).unwrap();
    fs::remove_file(file("mac_pe_w4_a8.v")).unwrap();
    fs::write(file("mac_mesh_r2_c2_w4_a8.v"), &broken.files[0].text).unwrap();
    let sim = ["sim", "mac_mesh", "--verilog", "edited", "--vectors", "20", "--trace", "wrong.vcd"];
    run(&sim).assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: hardware and golden model differ
  block:      mac_mesh
  parameters: {"rows":2,"columns":2,"operand_width":4,"accumulator_width":8}
  seed:       1
  cycle:      52
  port:       acc_o
  expected:   49344 (16'hc0c0)
  got:        192 (16'h00c0)
  repeat:     senbazuru sim mac_mesh --set rows=2 --set columns=2 --set operand_width=4 --set accumulator_width=8 --seed 1 --vectors 20 --verilog edited --trace
  waveform:   wrong.vcd

"#]]);
    assert!(folder.path().join("wrong.vcd").exists());
    let run = run(&[&sim[..], &["--json"]].concat()).assert().code(1).stderr_eq("");
    let result: serde_json::Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!((&result["passed"], &result["seed"]), (&false.into(), &1.into()));
}

#[test]
fn synth_of_a_mesh() {
    let run = senbazuru(&[&["synth", "mac_mesh"], &MESH[..]].concat()).assert().code(0).stderr_eq("");
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    for part in
        ["mac_mesh: rows = 2, columns = 2", "flip-flops", "AND nodes", "dc2, 3 times", "$_DFF_P_", "osu018_stdcells"]
    {
        assert!(text.contains(part), "{text}");
    }
    let run = senbazuru(&[&["synth", "mac_mesh", "--json"], &MESH[..]].concat()).assert().code(0);
    let results: serde_json::Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    let result = &results[0]["result"];
    // Per PE 4 + 4 + 8 + 1; the last column passes nothing on to the right, the last row nothing down.
    assert_eq!(result["total"]["flip_flops"], 4 * 17 - 2 * 5 - 2 * 4);
    assert!(result["aig"]["dc2"]["and_nodes"].as_u64() < result["aig"]["strash"]["and_nodes"].as_u64());
}

/// 128 words of 64 bits are 8 macros of 128 x 8 bits: 8 of 256 words, and twice 8 of 64, are larger.
#[test]
fn memories_of_a_ram() {
    let block = ["memories", "ram", "--set", "depth=128", "--set", "width=64", "--set", "granule=64"];
    let json = |args: &[&str]| -> serde_json::Value {
        let run = senbazuru(&[&block[..], args, &["--json"]].concat()).assert().code(0).stderr_eq("");
        serde_json::from_slice(&run.get_output().stdout).unwrap()
    };
    let found = json(&[]);
    let made = &found["memories"][0]["macros"];
    assert_eq!((&made["name"], &made["count"]), (&"gf180mcu_fd_ip_sram__sram128x8m8wm1".into(), &8.into()));
    assert_eq!((&found["sum"]["macro_bits"], &found["sum"]["flip_flop_bits"]), (&8192.into(), &0.into()));
    let folder = in_folder(&[("large.toml", &sram("area = 1e9\n")), ("wrong.toml", &sram("area = 0\n"))]);
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let found = json(&["--sram", &file("large.toml")]);
    assert_eq!(found["memories"][0]["flip_flops"], "smaller than macros");
    let wrong = file("wrong.toml");
    let args = [&block[..], &["--sram", &wrong]].concat();
    let expected =
        format!("error: {wrong}: macro `one`: `area` is 0, allowed: a number above 0, up to 1000000000000\n");
    senbazuru(&args).assert().code(2).stdout_eq("").stderr_eq(expected);
    senbazuru(&["memories", "popcount"]).assert().code(0).stdout_eq(str![[r#"
...
it has no memory

"#]]);
}

/// A table of one macro.
fn sram(area: &str) -> String {
    format!(
        "title = \"one\"\nflip_flop_bit = 1\n[[macro]]\nname = \"one\"\nwords = 64\nbits = 8\nports = 1\n{area}\
         access_ns = 1\ncycle_ns = 1\nread_pj = 1\nwrite_pj = 1\nsource = \"by hand\"\n"
    )
}

#[test]
fn completions_mention_every_command() {
    let run = senbazuru(&["completions", "bash"]).assert().code(0);
    let script = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    for command in [
        "list",
        "info",
        "gen",
        "lint",
        "sim",
        "memories",
        "synth",
        "energy",
        "prove",
        "sweep",
        "point",
        "render",
        "doctor",
        "clean",
        "completions",
    ] {
        assert!(script.contains(&format!("senbazuru,{command})")), "{command}");
    }
}

#[test]
fn mutants_of_a_block() {
    let run =
        senbazuru(&["mutate", "popcount", "--set", "width=3", "--count", "6", "--floor", "0.99"]).assert().code(0);
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with("popcount: 100.0 % of the mutants that can be noticed are\n"), "{text}");
    let run = senbazuru(&["mutate", "popcount", "--set", "width=3", "--count", "6", "--json"]).assert().code(0);
    let found: serde_json::Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!((found["mutants"].as_u64(), found["share"].as_f64()), (Some(6), Some(1.0)));
    // A bench that looks at nothing but one vector of three bits misses some.
    let run = senbazuru(&[
        "mutate",
        "popcount",
        "--set",
        "width=9",
        "--count",
        "all",
        "--vectors",
        "1",
        "--no-proofs",
        "--floor",
        "1",
    ]);
    let run = run.assert().code(1);
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(text.contains("of the mutants are noticed, less than 100.0 %"), "{text}");
}
