//! Every way in which a command can be refused: the message and the exit code.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::support::{MESH, in_folder, senbazuru};
use snapbox::str;

#[test]
fn unknown_block() {
    senbazuru(&["info", "mac-msh"]).assert().code(2).stderr_eq(str![[r#"
error: unknown block `mac-msh`; did you mean mac_mesh? `senbazuru list` shows all blocks

"#]]);
}

#[test]
fn unknown_block_with_nothing_similar() {
    let run = senbazuru(&["info", "zzz"]).assert().code(2).stdout_eq("");
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(text.starts_with("error: unknown block `zzz`; the blocks are: mac_mesh, "), "{text}");
}

#[test]
fn unknown_parameter() {
    senbazuru(&["gen", "mac_mesh", "--set", "row=3"]).assert().code(2).stderr_eq(str![[r#"
error: mac_mesh has no parameter `row`; did you mean rows? its parameters are: rows, columns, operand_width, accumulator_width

"#]]);
}

#[test]
fn value_of_the_wrong_type() {
    senbazuru(&["gen", "mac_mesh", "--set", "rows=many"]).assert().code(2).stderr_eq(str![[r#"
error: parameter `rows` is many, allowed: 1 to 1024

"#]]);
    senbazuru(&["gen", "mac_mesh", "--set", "rows=-1"]).assert().code(2).stderr_eq(str![[r#"
error: parameter `rows` is -1, allowed: 1 to 1024

"#]]);
    senbazuru(&["gen", "mac_mesh", "--set", "rows=99999999999"]).assert().code(2).stderr_eq(str![[r#"
error: parameter `rows` is 99999999999, allowed: 1 to 1024

"#]]);
    senbazuru(&["gen", "mac_mesh", "--set", "rows="]).assert().code(2).stderr_eq(str![[r#"
error: parameter `rows` is empty, allowed: 1 to 1024

"#]]);
}

#[test]
fn value_out_of_range() {
    senbazuru(&["gen", "mac_mesh", "--set", "rows=0"]).assert().code(2).stderr_eq(str![[r#"
error: mac_mesh: parameter `rows` is 0, allowed: 1 to 1024

"#]]);
    senbazuru(&["sim", "mac_mesh", "--set", "accumulator_width=9"]).assert().code(2).stderr_eq(str![[r#"
error: mac_mesh: parameter `accumulator_width` is 9, allowed: 2 x operand_width = 16 to 128

"#]]);
}

#[test]
fn set_without_value_or_twice() {
    senbazuru(&["gen", "mac_mesh", "--set", "rows"]).assert().code(2).stderr_eq(str![[r#"
error: `--set rows`: write it as NAME=VALUE

"#]]);
    senbazuru(&["gen", "mac_mesh", "--set", "rows=1", "--set", "rows=2"]).assert().code(2).stderr_eq(str![[r#"
error: `--set rows=2`: `rows` is set twice

"#]]);
}

#[test]
fn config_file_missing() {
    senbazuru(&["gen", "mac_mesh", "--config", "none.toml"]).assert().code(2).stderr_eq(str![[r#"
error: cannot read none.toml: No such file or directory (os error 2)

"#]]);
}

#[test]
fn config_file_wrong() {
    let folder = in_folder(&[
        ("syntax.toml", "rows = 2\ncolumns = = 3\n"),
        ("twice.toml", "rows = 2\ncolumns = 3\nrows = 4\n"),
        ("unknown.toml", "# a mesh\nrows = 2\n\ncolums = 3\n"),
        ("type.toml", "rows = 2\ncolumns = \"three\"\n"),
    ]);
    let run = |file| senbazuru(&["gen", "mac_mesh", "--config", file]).current_dir(folder.path()).assert().code(2);
    run("syntax.toml").stderr_eq(str![[r#"
error: syntax.toml: TOML parse error at line 2, column 11
  |
2 | columns = = 3
  |           ^
extra `=`, expected nothing

"#]]);
    run("twice.toml").stderr_eq(str![[r#"
error: twice.toml: TOML parse error at line 3, column 1
  |
3 | rows = 4
  | ^^^^
duplicate key

"#]]);
    run("unknown.toml").stderr_eq(str![[r#"
error: unknown.toml:4: mac_mesh has no parameter `colums`; did you mean columns? its parameters are: rows, columns, operand_width, accumulator_width

"#]]);
    run("type.toml").stderr_eq(str![[r#"
error: type.toml:2: parameter `columns` is three, allowed: 1 to 1024

"#]]);
}

#[test]
fn output_folder_cannot_be_made() {
    let folder = in_folder(&[("file", "")]);
    let run = senbazuru(&["gen", "mac_mesh", "-o", "file/out"]).current_dir(folder.path());
    run.assert().code(2).stderr_eq(str![[r#"
error: cannot write file/out: Not a directory (os error 20)

"#]]);
}

#[test]
fn options_that_exclude_each_other() {
    senbazuru(&["gen", "mac_mesh", "--stdout", "-o", "out"]).assert().code(2).stderr_eq(str![[r#"
error: the argument '--stdout' cannot be used with '--output <DIR>'

Usage: senbazuru gen --stdout <BLOCK>...

For more information, try '--help'.

"#]]);
    senbazuru(&["gen", "--all", "--set", "rows=1"]).assert().code(2).stderr_eq(str![[r#"
error: the argument '--all' cannot be used with '--set <NAME=VALUE>'

Usage: senbazuru gen --all [BLOCK]...

For more information, try '--help'.

"#]]);
    senbazuru(&["gen"]).assert().code(2).stderr_eq(str![[r#"
error: the following required arguments were not provided:
  <BLOCK>...

Usage: senbazuru gen <BLOCK>...

For more information, try '--help'.

"#]]);
}

#[test]
fn numbers_out_of_range() {
    senbazuru(&["sim", "mac_mesh", "--vectors", "0"]).assert().code(2).stderr_eq(str![[r#"
error: invalid value '0' for '--vectors <N>': 0 is not in 1..18446744073709551615

For more information, try '--help'.

"#]]);
    senbazuru(&["prove", "mac_mesh", "--depth", "0"]).assert().code(2).stderr_eq(str![[r#"
error: invalid value '0' for '--depth <N>': 0 is not in 1..=100000

For more information, try '--help'.

"#]]);
}

#[test]
fn unknown_command_and_shell() {
    senbazuru(&["enrgy"]).assert().code(2).stderr_eq(str![[r#"
error: unrecognized subcommand 'enrgy'

  tip: a similar subcommand exists: 'energy'

Usage: senbazuru <COMMAND>

For more information, try '--help'.

"#]]);
    senbazuru(&["completions", "tcsh"]).assert().code(2).stderr_eq(str![[r#"
error: invalid value 'tcsh' for '<SHELL>'
  [possible values: bash, elvish, fish, powershell, zsh]

  tip: a similar value exists: 'zsh'

For more information, try '--help'.

"#]]);
}

#[test]
fn trace_file_with_another_extension() {
    senbazuru(&["sim", "mac_mesh", "--trace", "run.txt"]).assert().code(2).stderr_eq(str![[r#"
error: --trace run.txt: the name must end in .vcd or .fst

"#]]);
}

#[test]
fn verilog_folder_missing_empty_or_of_another_block() {
    let folder = in_folder(&[("empty/readme", ""), ("other/top.v", "module top(input wire a_i);\nendmodule\n")]);
    let run = |dir| {
        let args = [&["sim", "mac_mesh", "--verilog", dir], &MESH[..]].concat();
        senbazuru(&args).current_dir(folder.path()).assert()
    };
    run("none").code(2).stderr_eq(str![[r#"
error: cannot read none: No such file or directory (os error 2)

"#]]);
    run("empty").code(2).stderr_eq(str![[r#"
error: empty holds no Verilog file (*.v)

"#]]);
    run("other").code(1).stderr_eq(str![[r#"
error: Verilator rejects `mac_mesh_r2_c2_w4_a8`:
%Error: [..]'mac_mesh_r2_c2_w4_a8' was not found in design[..]

"#]]);
}

#[test]
fn liberty_file_missing_or_wrong() {
    let folder = in_folder(&[("wrong.lib", "this is no library\n")]);
    let run = |file| {
        let args = [&["synth", "mac_mesh", "--liberty", file], &MESH[..]].concat();
        senbazuru(&args).current_dir(folder.path()).assert()
    };
    run("none.lib").code(2).stderr_eq(str![[r#"
error: cannot read none.lib: No such file or directory (os error 2)

"#]]);
    run("wrong.lib").code(2).stderr_eq(str![[r#"
error: [..]wrong.lib: line 1: this is no Liberty file: it begins with `this`; `library (...)` is wanted

"#]]);
    run("osu18").code(2).stderr_eq(str![[r#"
error: cannot read osu18: No such file or directory (os error 2); the libraries with a name are osu018, osu035, osu050, profiles sky130hd, gf180mcu, ihp-sg13g2, nangate45, asap7

"#]]);
}

#[test]
fn energy_without_a_library() {
    senbazuru(&["energy", "mac_mesh", "--liberty", "none"]).assert().code(2).stderr_eq(str![[r#"
error: --liberty none: energy needs a cell library, a Liberty file or osu018, osu035, osu050

"#]]);
    let args = ["point", "mac_mesh", "--stages", "synth,energy", "--liberty", "none"];
    senbazuru(&args).assert().code(2).stderr_eq(str![[r#"
error: the stage energy needs a cell library, not `none`: a Liberty file, or osu018, osu035, osu050

"#]]);
}

#[test]
fn names_that_are_no_text() {
    let folder = in_folder(&[("s.toml", "block = 'mac_mesh'\nstages = ['gen']\n[axes]\nrows = [1]\n")]);
    for option in ["--store", "--output"] {
        let run = senbazuru(&["sweep", "s.toml", option]).arg(OsStr::from_bytes(b"st\xff")).current_dir(folder.path());
        let text = run.assert().code(2).get_output().stderr.clone();
        assert!(String::from_utf8_lossy(&text).starts_with(&format!("error: {option} st")), "{text:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn nothing_to_prove() {
    senbazuru(&["prove", "skew_lines"]).assert().code(2).stderr_eq(str![[r#"
error: skew_lines describes no properties: there is nothing to prove

"#]]);
    senbazuru(&["prove", "weighted_sum"]).assert().code(2).stderr_eq(str![[r#"
error: weighted_sum has no registered proof; choose small parameters with --set

"#]]);
    senbazuru(&[&["prove", "mac_mesh"], &MESH[..]].concat()).assert().code(2).stderr_eq(str![[r#"
error: mac_mesh_r2_c2_w4_a8 has no properties to prove

"#]]);
}

#[test]
fn tools_missing() {
    let folder = in_folder(&[]);
    let run = |args: &[&str]| {
        let run = senbazuru(&[args, &MESH].concat()).current_dir(folder.path()).env("PATH", "");
        run.assert().code(3).stdout_eq("")
    };
    run(&["lint", "mac_mesh"]).stderr_eq(str![[r#"
error: `verilator` is not installed or not on PATH: install the Debian package `verilator`

"#]]);
    run(&["sim", "mac_mesh"]).stderr_eq(str![[r#"
error: `cc` is not installed or not on PATH: install the Debian package `gcc`

"#]]);
    run(&["synth", "mac_mesh"]).stderr_eq(str![[r#"
error: `yosys` is not installed or not on PATH: install the Debian package `yosys`

"#]]);
    // Generating needs no tool.
    let args = [&["gen", "mac_mesh", "-o", "out"], &MESH[..]].concat();
    senbazuru(&args).current_dir(folder.path()).env("PATH", "").assert().code(0);
    assert!(fs::metadata(folder.path().join("out/mac_pe_w4_a8.v")).is_ok());
}

#[test]
fn nothing_to_run() {
    senbazuru(&["run", "--on", "tendr", "Gravity is"]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error: no model runs on `tendr`; did you mean tender? accelerators are: kllm, kelle, titanus, tender

"#]]);
    senbazuru(&["run", "--on", "tender", ""]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error: the prompt is empty; give the text to go on with

"#]]);
    for tokens in ["0", "65536"] {
        let run =
            senbazuru(&["run", "--on", "tender", "--tokens", tokens, "Gravity is"]).assert().code(2).stdout_eq("");
        let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        let start = format!("error: invalid value '{tokens}' for '--tokens <N>': {tokens} is not in 1..=65535\n");
        assert!(text.starts_with(&start), "{text}");
    }
    senbazuru(&["run", "Gravity is"]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error: the following required arguments were not provided:
  --on <NAME>

Usage: senbazuru run --on <NAME> <PROMPT>

For more information, try '--help'.

"#]]);
}

/// Options that `run` cannot combine: it refuses all of them before it reads the weights.
#[test]
fn layers_to_run() {
    let refused = |args: &[&str]| {
        let run = senbazuru(&[&["run", "Gravity is", "--on"], args].concat()).assert().code(2).stdout_eq("");
        String::from_utf8(run.get_output().stderr.clone()).unwrap()
    };
    let text = refused(&["tender", "--layers", "3"]);
    assert_eq!(
        text,
        "error: tender computes all layers: it has the whole model in its memory; --layers is for accelerators of a layer each\n"
    );
    for on in ["kllm", "kelle", "titanus"] {
        let text = refused(&[on, "--tops", "2"]);
        assert!(text.starts_with(&format!("error: --tops is not for {on}: ")), "{text}");
        let text = refused(&[on, "--no-check"]);
        assert!(text.starts_with(&format!("error: --no-check is not for {on}: ")), "{text}");
        let text = refused(&[on, "--golden", "--layers", "all"]);
        assert!(text.contains("'--golden'") && text.contains("'--layers <LAYERS>'"), "{text}");
    }
    for layers in ["", "some", "1,,2", "-1", "3-5"] {
        let text = refused(&["kllm", &format!("--layers={layers}")]);
        assert!(text.contains("for '--layers <LAYERS>'"), "{text}");
    }
    let text = refused(&["kllm", "--layers", "3-5"]);
    assert!(text.contains("wanted are numbers, as in 0,14,29, or `all`"), "{text}");
}

#[test]
fn exploring_what_is_not_there() {
    senbazuru(&["explore", "titanus"]).assert().code(2).stdout_eq("").stderr_eq(str![[r#"
error: cannot read titanus: No such file or directory (os error 2)

"#]]);
}

#[test]
fn mutants_without_a_number() {
    for (option, value, wanted) in [
        ("--count", "0", "a number from 1 on, or `all`"),
        ("--count", "few", "a number from 1 on, or `all`"),
        ("--floor", "99", "a number from 0 to 1"),
    ] {
        let run = senbazuru(&["mutate", "popcount", option, value]).assert().code(2).stdout_eq("");
        let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        assert!(text.contains(wanted), "{text}");
    }
    senbazuru(&["mutate", "popcnt"]).assert().code(2).stdout_eq("");
}

#[test]
fn weights_missing_or_wrong() {
    let cache = in_folder(&[]);
    let refused = |part: &str| {
        let run = senbazuru(&["run", "--on", "tender", "Gravity is"]).env("SENBAZURU_CACHE", cache.path());
        let run = run.assert().code(2).stdout_eq("");
        let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        assert!(text.starts_with("error: ") && text.contains(part), "{text}");
        assert!(text.contains("SmolLM2-135M") && text.contains("`scripts/setup full` fetches it"), "{text}");
    };
    refused("No such file");
    let folder = cache.path().join("weights");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("SmolLM2-135M-Instruct.Q4_1.gguf"), "GGUF").unwrap();
    refused("not the weights of SmolLM2-135M, or damaged");
}
