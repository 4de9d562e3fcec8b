//! `gen --package`, read by the tools that it is for: FuseSoC, Edalize, cocotb in two simulators, OpenSTA,
//! LibreLane, and the schemas of IP-XACT.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use test_tag::tag;

use crate::support::{MESH, in_folder, on_all_cores, senbazuru};
use senbazuru::catalogue::{Catalogue, Params};
use sim::Design;
use sim::fault::{self, Fault};
use sim::process::{Output, Tool};
use snapbox::str;
use tempfile::TempDir;

/// A program of a Python environment: `python` has cocotb 1.9 and all else, `cocotb2` has cocotb 2.
fn python(environment: &str, program: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(environment).join("bin").join(program);
    let path = std::path::absolute(&path).unwrap();
    assert!(path.exists(), "there is no {}: run `scripts/setup tests`", path.display());
    path
}

/// A tool that finds the programs of the Python environment, and nothing of the user's in a home folder.
fn tool(program: &str, folder: &Path) -> Tool {
    tool_in("python", program, folder)
}

fn tool_in(environment: &str, program: &str, folder: &Path) -> Tool {
    tool_after(python(environment, "cocotb-config").parent().unwrap(), program, folder)
}

/// A tool that looks into `first` before it looks where others are.
fn tool_after(first: &Path, program: &str, folder: &Path) -> Tool {
    let path = format!("{}:{}", first.display(), std::env::var("PATH").unwrap());
    let tool = Tool::new(program).dir(folder).env("PATH", path).env("HOME", folder).env("MAKEFLAGS", "");
    tool.env("XDG_CONFIG_HOME", folder).env("XDG_DATA_HOME", folder).env("XDG_CACHE_HOME", folder)
}

fn run(tool: Tool) -> String {
    let command = tool.command_line();
    let output = tool.run().unwrap_or_else(|e| panic!("{e}"));
    assert!(output.success(), "{command}\n{}", output.log());
    output.log()
}

/// The package of a block, in the folder `out` of a temporary one, and the name of the top.
fn package(block: &str, set: &[&str], more: &[&str]) -> (TempDir, String) {
    let folder = in_folder(&[]);
    let set = set.iter().flat_map(|s| ["--set", s]).collect::<Vec<_>>();
    let args = [&["gen", block, "--package", "-o", "out"], more, &set[..]].concat();
    senbazuru(&args).current_dir(folder.path()).assert().code(0).stderr_eq("");
    let names = names(&folder.path().join("out"));
    let top = names.iter().find_map(|name| name.strip_suffix(".core")).unwrap().to_owned();
    (folder, top)
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

/// The generated test in a simulator.
fn cocotb(environment: &str, folder: &Path, simulator: &str, cycles: &str) -> Output {
    // Yosys writes a design with a fault, in a style that Verilator warns of.
    let args = if simulator == "verilator" { "-Wno-fatal" } else { "" };
    let make = tool_in(environment, "make", &folder.join("out")).arg(format!("SIM={simulator}")).env("CYCLES", cycles);
    let make = make.env("COMPILE_ARGS", args);
    make.run().unwrap_or_else(|e| panic!("{e}"))
}

/// Puts the block with a fault in the place of the block, which is a single module.
fn break_it(folder: &Path, top: &str, (block, set): (&str, &[&str]), fault: &Fault) {
    let entry = Catalogue::standard().find(block).cloned().unwrap();
    let mut params: Params = entry.defaults();
    for (name, value) in set.iter().map(|s| s.split_once('=').unwrap()) {
        params.insert(name.into(), serde_json::from_str(value).unwrap());
    }
    let faulty = fault::design(&Design::from(&entry.elaborate(&params).unwrap()), fault).unwrap();
    let [file] = &faulty.files[..] else { panic!("{block} is several modules") };
    fs::write(folder.join("out").join(format!("{top}.v")), &file.text).unwrap();
}

#[test]
fn a_package_is_written_checked_and_removed() {
    let folder = in_folder(&[]);
    let run = |more: &[&str]| {
        let args = [&["gen", "mac_mesh", "-o", "out"], more, &MESH].concat();
        senbazuru(&args).current_dir(folder.path()).assert()
    };
    run(&["--package", "--period", "2.5"]).code(0).stderr_eq("").stdout_eq(str![[r#"
mac_mesh: 15 files written in out

"#]]);
    let out = folder.path().join("out");
    let all = names(&out);
    let top = "mac_mesh_r2_c2_w4_a8";
    let packaged = [
        "Makefile".into(),
        "check_results.py".into(),
        "stream_bench.py".into(),
        format!("{top}.core"),
        format!("{top}.eda.yml"),
        format!("{top}.ipxact-2014.xml"),
        format!("{top}.ipxact-2022.xml"),
        format!("{top}.librelane.json"),
        format!("{top}.orfs.mk"),
        format!("{top}.sdc"),
        format!("test_{top}.py"),
    ];
    assert!(packaged.iter().all(|name| all.contains(name)), "{all:?}");
    run(&["--package", "--period", "2.5", "--check"]).code(0);
    // Another period is other constraints.
    run(&["--package", "--check"]).code(1).stderr_eq(str![[r#"
error: the generated files are stale:
  out/mac_mesh_r2_c2_w4_a8.librelane.json:[..] differs
  out/mac_mesh_r2_c2_w4_a8.sdc:[..] differs
  out/test_mac_mesh_r2_c2_w4_a8.py:[..] differs

"#]]);
    fs::write(out.join("my_tests.py"), "import cocotb\n").unwrap();
    run(&["--prune"]).code(0).stdout_eq(str![[r#"
mac_mesh: 4 files written in out
11 files of earlier runs removed

"#]]);
    let left = names(&out);
    assert!(packaged.iter().all(|name| !left.contains(name)) && left.contains("my_tests.py"), "{left:?}");
    // A Makefile of the user's, and the Makefile of another design.
    fs::write(out.join("Makefile"), "all:\n\techo mine\n").unwrap();
    run(&["--package"]).code(2).stderr_eq(str![[r#"
error: out/Makefile is there already and not from senbazuru: write to another folder

"#]]);
    assert_eq!(names(&out).len(), left.len() + 1);
    fs::remove_file(out.join("Makefile")).unwrap();
    run(&["--package"]).code(0);
    let wider = ["gen", "mac_mesh", "-o", "out", "--package", "--set", "rows=3"];
    senbazuru(&wider).current_dir(folder.path()).assert().code(1).stderr_eq(str![[r#"
error: out/Makefile is another file than the one to be written, and mac_mesh_r2_c2_w4_a8.json, which an earlier run left there, needs it: write to another folder, or remove what is of that run with --prune

"#]]);
}

#[test]
fn wrong_requests_write_nothing() {
    let folder = in_folder(&[]);
    let run = |args: &[&str]| senbazuru(&[&["gen"], args].concat()).current_dir(folder.path()).assert().code(2);
    run(&["popcount", "crc32", "--package", "-o", "out"]).stderr_eq(str![[r#"
error: --package goes with one block, as its Makefile and tests do: name one

"#]]);
    run(&["--all", "--package"]).stderr_eq(str![[r#"
error: the argument '--all' cannot be used with '--package'
...
"#]]);
    run(&["popcount", "--stdout", "--package"]).stderr_eq(str![[r#"
error: the argument '--stdout' cannot be used with '--package'
...
"#]]);
    run(&["popcount", "--period", "5"]).stderr_eq(str![[r#"
error: the following required arguments were not provided:
  --package
...
"#]]);
    for period in ["0", "-1", "nan", "inf", "0.001", "10ns", "1e9"] {
        let run = run(&["popcount", "--package", &format!("--period={period}")]);
        let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        let expected = format!("invalid value '{period}' for '--period <NS>': allowed: 0.01 to 1000000 ns");
        assert!(text.contains(&expected), "{text}");
    }
    assert!(names(folder.path()).is_empty());
}

/// FuseSoC in the folder beside the package.
fn fusesoc(folder: &Path, args: &[&str]) -> Output {
    tool("fusesoc", folder).args(["--cores-root", "out"]).args(args).run().unwrap()
}

#[test]
fn fusesoc_finds_the_core_and_lints_it() {
    let (folder, top) = package("stream_width_converter", &[], &[]);
    let core = format!("senbazuru:common:{top}:{}", env!("CARGO_PKG_VERSION"));
    let shown = fusesoc(folder.path(), &["core", "show", &core]);
    assert!(shown.success(), "{}", shown.log());
    for target in ["default", "lint", "sim", "synth"] {
        assert!(shown.stdout.lines().any(|l| l.split(" :").next().unwrap().trim() == target), "{}", shown.log());
    }
    let lint = fusesoc(folder.path(), &["run", "--target", "lint", &core]);
    assert!(lint.success() && lint.log().contains("verilator -f"), "{}", lint.log());
    // Messages of the linter are not suppressed. It accepts unused signals with `unused` in their names.
    let file = folder.path().join("out").join(format!("{top}.v"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("endmodule", "wire spare;\nendmodule", 1)).unwrap();
    let lint = fusesoc(folder.path(), &["run", "--target", "lint", &core]);
    assert!(!lint.success() && lint.log().contains("UNUSED"), "{}", lint.log());
}

#[test]
fn edalize_reads_the_same_list() {
    let (folder, top) = package("fp16_mac", &[], &[]);
    let out = folder.path().join("out");
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/edam.py");
    fs::create_dir(folder.path().join("work")).unwrap();
    let edam = out.join(format!("{top}.eda.yml"));
    let python = tool(&python("python", "python").display().to_string(), folder.path());
    let text = run(python.arg(reader).arg(edam).arg(folder.path().join("work")));
    let list = fs::read_to_string(out.join(format!("{top}.f"))).unwrap();
    assert!(list.lines().count() > 1, "{list}");
    let sources: String = list.lines().map(|file| format!("{file}:verilogSource-2005 ")).collect();
    assert!(text.contains(&format!("{top} {top} {sources}{top}.sdc:SDC")), "{text}");
}

/// A block of one module, and how a fault of it looks to the harness.
type Case = (&'static str, &'static [&'static str], [(fn() -> Fault, &'static str); 2]);

const REGISTER: Case = (
    "stream_register",
    &["width=8"],
    [
        (|| Fault::net("output_valid_o", "right & input_valid_i"), "output_valid_o fell before the beat was taken"),
        (
            || Fault::net("output_data_o", "right ^ {8{output_ready_i}}"),
            "output_data_o changed before the beat was taken",
        ),
    ],
);

/// Streams side by side.
const ARBITER: Case = (
    "stream_arbiter",
    &["width=8"],
    [
        (|| Fault::net("output_valid_o", "right & (input_valid_i != 4'd15)"), "output: output_valid_o fell"),
        (|| Fault::net("output_data_o", "right + {7'd0, output_ready_i}"), "output: output_data_o changed"),
    ],
);

/// The harness passes, and fails for the first `faults` of the case's.
fn judged(case: &Case, environment: &str, simulator: &str, faults: usize) {
    let (block, set, all) = case;
    let (folder, top) = package(block, set, &[]);
    let good = cocotb(environment, folder.path(), simulator, "100");
    assert!(good.success() && good.log().contains("TESTS=3 PASS=3 FAIL=0"), "{}", good.log());
    for (fault, message) in &all[..faults] {
        break_it(folder.path(), &top, (block, set), &fault());
        let bad = cocotb(environment, folder.path(), simulator, "100");
        assert!(!bad.success() && bad.log().contains(message), "{}\n{}", fault(), bad.log());
        assert!(bad.log().contains("results.xml: failed: "), "{}", bad.log());
    }
}

#[test]
fn the_harness_passes_and_can_fail() {
    judged(&REGISTER, "python", "icarus", 1);
    judged(&REGISTER, "cocotb2", "icarus", 1);
}

#[tag(full)]
#[test]
#[ignore = "compiles models"]
fn the_harness_can_fail_in_both_simulators() {
    for case in [&REGISTER, &ARBITER] {
        judged(case, "python", "icarus", 2);
        judged(case, "python", "verilator", 2);
        judged(case, "cocotb2", "icarus", 2);
    }
}

/// A register that forgot its reset.
const UNKNOWN: &str = "module stream_register_w8_both(
  input  wire clk_i, input wire rst_ni, input wire clear_i, input wire input_valid_i, output wire input_ready_o,
  input  wire [7:0] input_data_i, output reg output_valid_o, input wire output_ready_i, output reg [7:0] output_data_o);
  assign input_ready_o = output_ready_i | !output_valid_o;
  always @(posedge clk_i)
    if (rst_ni & !clear_i & input_ready_o) {output_valid_o, output_data_o} <= {input_valid_i, input_data_i};
endmodule
";

#[test]
fn unknown_bits_are_found() {
    let (folder, top) = package(REGISTER.0, REGISTER.1, &[]);
    fs::write(folder.path().join("out").join(format!("{top}.v")), UNKNOWN).unwrap();
    for environment in ["python", "cocotb2"] {
        let bad = cocotb(environment, folder.path(), "icarus", "100");
        assert!(!bad.success() && bad.log().contains("input: input_ready_o is x"), "{}", bad.log());
    }
}

/// Looks at every word of the memories before and after they are filled, and at a register that has a reset.
const MEMORIES: &str = r#"
import cocotb
from cocotb.triggers import Timer
from stream_bench import Bench
from test_TOP import CLOCK, INPUTS, KNOWN, FOREIGN, MEMORIES, OTHERS, PERIOD_NS, REGISTERS, RESET, STREAMS

def known(words):
    return [set(str(word.value)) <= set("01") for word in words]

@cocotb.test()
async def fills(dut):
    assert MEMORIES == {"ram_d8_w8_g8_inferred": ("words",)}, MEMORIES
    assert "level_q" not in REGISTERS.get("TOP", ()), REGISTERS
    bench = Bench(dut, STREAMS, INPUTS, KNOWN, OTHERS, CLOCK, RESET, PERIOD_NS)
    words = list(dut.u_ram.words)
    before = known(words)
    bench.power_up(MEMORIES, REGISTERS, FOREIGN)
    await Timer(1, "ns")
    after = known(words)
    assert len(after) == 8 and not any(before) and all(after), (before, after)
    assert not any(known([dut.level_q])), dut.level_q
"#;

#[test]
fn memories_have_random_bits_and_both_names_of_a_module_of_tests_are_understood() {
    let (folder, top) = package("stream_fifo", &["width=8", "depth=8", "storage=memory"], &[]);
    let out = folder.path().join("out");
    fs::write(out.join("my_tests.py"), MEMORIES.replace("TOP", &top)).unwrap();
    for environment in ["python", "cocotb2"] {
        for name in ["MODULE", "COCOTB_TEST_MODULES"] {
            let log = run(tool_in(environment, "make", &out).arg(format!("{name}=my_tests")));
            assert!(log.contains("TESTS=1 PASS=1 FAIL=0") && !log.contains("deprecated"), "{log}");
        }
    }
}

#[test]
fn versions_of_cocotb_that_are_not_known_are_refused() {
    let (folder, _) = package(REGISTER.0, REGISTER.1, &[]);
    let out = folder.path().join("out");
    let config = |version: &str| {
        let bin = folder.path().join(version);
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("cocotb-config"), format!("#!/bin/sh\necho {version}\n")).unwrap();
        fs::set_permissions(bin.join("cocotb-config"), fs::Permissions::from_mode(0o755)).unwrap();
        let make = tool_after(&bin, "make", &out).run().unwrap();
        assert!(!make.success());
        make.log()
    };
    for version in ["1.8.1", "1.10.0", "3.0.0"] {
        let log = config(version);
        let wanted = format!("cocotb 1.9 or 2 is wanted, {version} is installed: pip install \"cocotb>=1.9,<3\"");
        assert!(log.contains(&wanted), "{log}");
    }
    // FuseSoC does not read the Makefile.
    let script = "import cocotb; cocotb.__version__ = '3.0.0'; import stream_bench";
    let refused = tool_in("cocotb2", "python3", &out).args(["-c", script]).run().unwrap();
    let wanted = "this is cocotb 3.0.0; 1.9 or 2 is wanted: pip install \"cocotb>=1.9,<3\"";
    assert!(!refused.success() && refused.log().contains(wanted), "{}", refused.log());
    // cocotb 2 itself reports a Verilator that is too old.
    let verilator = Tool::new("verilator").arg("--version").run().unwrap().log();
    if verilator.contains("Verilator 5.006") {
        let old = cocotb("cocotb2", folder.path(), "verilator", "10");
        assert!(!old.success() && old.log().contains("cocotb requires Verilator 5.036 or later"), "{}", old.log());
    }
}

/// The harness of each of these blocks passes at its default parameters, in both versions of cocotb.
fn harnesses_pass(blocks: impl IntoIterator<Item = &'static str>) {
    on_all_cores(blocks.into_iter().map(|block| (block.to_owned(), block)).collect(), |block| {
        let (folder, _) = package(block, &[], &[]);
        for environment in ["python", "cocotb2"] {
            let output = cocotb(environment, folder.path(), "icarus", "100");
            if !output.success() {
                return Err(output.log());
            }
        }
        Ok(())
    });
}

/// Of each kind of design the block with the least Verilog: registers without a reset, memories, arrays of instances, no clock.
#[test]
fn the_harness_of_each_kind_of_block_passes() {
    type Kind = fn(&hdl::lang::Design) -> bool;
    let kinds: [Kind; 5] = [
        |design| design.unreset_registers().iter().any(|r| r.depth.is_none() && r.width > 1),
        |design| design.unreset_registers().iter().any(|r| r.depth.is_some()),
        |design| design.manifest().modules.iter().any(|module| module.instances > 16),
        |design| design.manifest().clock.is_none(),
        |design| design.manifest().modules.len() > 8,
    ];
    let designs: Vec<_> = Catalogue::standard()
        .all()
        .to_vec()
        .iter()
        .map(|entry| (entry.about().name, entry.elaborate(&entry.defaults()).unwrap()))
        .map(|(name, design)| (design.verilog().iter().map(|file| file.text.len()).sum::<usize>(), name, design))
        .collect();
    let smallest = |kind: &Kind| designs.iter().filter(|d| kind(&d.2)).min_by_key(|d| d.0).unwrap().1;
    harnesses_pass(kinds.iter().map(smallest).collect::<BTreeSet<_>>());
}

#[tag(release)]
#[test]
#[ignore = "simulates every block"]
fn the_harness_of_every_block_passes() {
    harnesses_pass(Catalogue::standard().all().iter().map(|entry| entry.about().name));
}

#[tag(full)]
#[test]
#[ignore = "compiles models"]
fn fusesoc_runs_the_harness() {
    let (folder, top) = package(REGISTER.0, REGISTER.1, &[]);
    let core = format!("senbazuru:common:{top}:{}", env!("CARGO_PKG_VERSION"));
    let run = || fusesoc(folder.path(), &["run", "--target", "sim", &core]);
    let sim = run();
    assert!(sim.success() && sim.log().contains("TESTS=3 PASS=3 FAIL=0"), "{}", sim.log());
    // FuseSoC itself does not look at cocotb's results.
    break_it(folder.path(), &top, (REGISTER.0, REGISTER.1), &REGISTER.2[0].0());
    let sim = run();
    assert!(!sim.success() && sim.log().contains("results.xml: failed: "), "{}", sim.log());
}

/// OpenSTA reads a package's constraints, on the block in cells of osu018.
fn timing(block: &str, set: &[&str], period: &str) -> String {
    let (folder, top) = package(block, set, &["--period", period]);
    let out = folder.path().join("out");
    let library = senbazuru::flows::liberty::open(&["osu018"]).unwrap().files.remove(0).display().to_string();
    let sources = fs::read_to_string(out.join(format!("{top}.f"))).unwrap().replace('\n', " ");
    let script = format!(
        "read_verilog {sources}\nsynth -flatten -top {top}\ndfflibmap -liberty {library}\nabc -liberty {library}\n\
         opt_clean\nwrite_verilog -noattr netlist.v\n"
    );
    fs::write(out.join("map.ys"), script).unwrap();
    run(Tool::new("yosys").args(["-q", "map.ys"]).dir(&out));
    let script = format!(
        "read_liberty {library}\nread_verilog netlist.v\nlink_design {top}\nread_sdc {top}.sdc\ncheck_setup -verbose\n\
         puts checked\nreport_clock_properties\nreport_checks -path_delay max -digits 3\nwrite_sdc -no_timestamp read.sdc\n"
    );
    fs::write(out.join("timing.tcl"), script).unwrap();
    let log = run(Tool::new("sta").args(["-no_splash", "-exit", "timing.tcl"]).dir(&out));
    assert!(!log.contains("Warning") && !log.contains("Error"), "{log}");
    log + &fs::read_to_string(out.join("read.sdc")).unwrap()
}

#[test]
fn opensta_reads_the_constraints() {
    let log = timing("stream_register", &["width=2"], "4");
    // Every port but the clock is constrained, so nothing is found wanting.
    assert!(log.starts_with("checked\n"), "{log}");
    for line in [
        "create_clock -name clk_i -period 4.0000 ",
        "set_input_delay 0.8000 -clock [get_clocks {clk_i}] -add_delay [get_ports {input_data_i[1]}]",
        "set_output_delay 0.8000 -clock [get_clocks {clk_i}] -add_delay [get_ports {output_data_o[0]}]",
        "set_false_path\\\n    -from [get_ports {rst_ni}]",
        "slack (MET)",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
    assert!(timing("stream_register", &["width=2"], "0.5").contains("slack (VIOLATED)"));
}

#[test]
fn paths_of_a_block_without_a_clock_are_constrained() {
    let log = timing("popcount", &["width=8"], "4");
    assert!(log.starts_with("checked\n"), "{log}");
    assert!(log.contains("create_clock -name outside -period 4.0000") && log.contains("slack (MET)"), "{log}");
    assert!(!log.contains("set_false_path"), "{log}");
}

/// LibreLane's loader takes the configuration, and IP-XACT keeps to the schemas of both editions.
#[tag(full)]
#[test]
#[ignore = "LibreLane and the schemas, from PyPI"]
fn other_flows_read_what_is_handed_over() {
    let python = python("handover", "python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/handover.py");
    for (block, set) in [("stream_fifo", &[][..]), ("reduce_top", &[]), ("popcount", &[])] {
        let (folder, top) = package(block, set, &["--period", "2.5"]);
        let tool = Tool::new(python.display().to_string()).arg(&script).arg(folder.path().join("out"));
        let output = tool.run().unwrap();
        assert!(output.success(), "{block}: {}", output.log());
        let last = output.stdout.lines().last().unwrap();
        let found: serde_json::Value = serde_json::from_str(last).unwrap();
        assert_eq!((&found["top"], &found["period"]), (&top.into(), &2.5.into()), "{found}");
        let registers = found["2014"]["register"].as_u64().unwrap();
        assert_eq!(registers > 0, block == "reduce_top", "{found}");
        assert_eq!(found["2014"]["busInterface"].as_u64().unwrap() > 1, block == "reduce_top", "{found}");
        assert_eq!(found["2014"], found["2022"], "{found}");
    }
}
