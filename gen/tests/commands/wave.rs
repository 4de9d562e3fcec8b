//! Waveforms: `sim --trace` on every block, drawings of files, and drawings of the documents.

mod files;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use test_tag::tag;

use crate::support::{in_folder, on_all_cores, senbazuru};
use senbazuru::catalogue::{Catalogue, Entry, Known, Params};
use senbazuru::params::plain;
use sim::process::Tool;
use snapbox::str;

/// Two signals over six cycles; times begin at 5, edges rise at 10, 20, 30, ..
const FILE: &str = "$timescale 1ps $end
$scope module TOP $end
$var wire 1 ! clk_i $end
$var wire 1 \" go_i $end
$var wire 8 # sum_o [7:0] $end
$scope module adder $end
$var wire 4 $ part[1] [3:0] $end
$upscope $end
$upscope $end
$enddefinitions $end
#5
0!
0\"
b00000000 #
b1010 $
#10
1!
#15
0!
1\"
#20
1!
b00000111 #
#25
0!
#30
1!
b11111111 #
#35
0!
#40
1!
bxxxx0000 #
#45
0!
0\"
#50
1!
";

fn draw(text: &str, more: &[&str]) -> Result<String, String> {
    let folder = in_folder(&[("a.vcd", text)]);
    draw_file(&folder.path().join("a.vcd"), more)
}

/// The drawing, or the message with the file's name for its path.
fn draw_file(path: &Path, more: &[&str]) -> Result<String, String> {
    let file = path.display().to_string();
    let run = senbazuru(&[&["wave", &file], more].concat()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    match run.status.code() {
        Some(0) => Ok(text(run.stdout)),
        Some(2) => Err(text(run.stderr).replace(&file, path.file_name().unwrap().to_str().unwrap())),
        code => panic!("{code:?}: {}", text(run.stderr)),
    }
}

/// Texts of a drawing without the heading of cycles.
fn texts(svg: &str) -> Vec<String> {
    let texts = svg.split("<text ").skip(1).filter(|t| t.contains(" code\">"));
    texts.map(|t| t.split('>').nth(1).unwrap().split('<').next().unwrap().to_owned()).collect()
}

#[test]
fn a_column_shows_what_its_last_edge_takes() {
    let svg = draw(FILE, &["--signals", "clk_i,go_i,sum_o:dec,sum_o:signed@go_i,part[1]"]).unwrap();
    let expected = ["clk_i", "go_i", "sum_o", "0", "7", "255", "x", "sum_o", "0", "7", "-1", "part[1]", "A"];
    // While go_i is low, its sum is not shown: not in the first cycle, not in the last.
    assert_eq!(texts(&svg), expected);
    let cycles: Vec<_> = svg.matches("class=\"f-muted small\">").collect();
    assert_eq!(cycles.len(), 1 + 5);
    assert!(svg.contains("prefers-color-scheme: dark"));
}

#[test]
fn ports_are_drawn_unless_signals_are_named() {
    assert_eq!(texts(&draw(FILE, &["--from", "1", "--to", "1"]).unwrap()), ["clk_i", "go_i", "sum_o", "00"]);
    assert_eq!(texts(&draw(FILE, &["--from", "3"]).unwrap()), ["clk_i", "go_i", "sum_o", "FF", "x"]);
}

#[test]
fn traces_may_begin_late_and_may_have_no_clock() {
    let late = FILE.replace("#5\n", "#1005\n").replace("#10\n", "#1010\n").replace("#15\n", "#1015\n");
    let late = ["20", "25", "30", "35", "40", "45", "50"]
        .iter()
        .fold(late, |text, at| text.replace(&format!("#{at}\n"), &format!("#10{at}\n")));
    let svg = draw(&late, &["--from", "101", "--to", "102"]).unwrap();
    assert_eq!(texts(&svg), ["clk_i", "go_i", "sum_o", "00", "07"]);
    assert!(draw(&late, &[]).unwrap_err().contains("it has the cycles 100 to 104, not 0"));

    let svg = draw(FILE, &["--clock", "none", "--signals", "sum_o"]).unwrap();
    assert!(svg.contains(">step</text>"));
    assert_eq!(texts(&svg), ["sum_o", "00", "07", "FF", "x"]);
}

#[test]
fn refusals() {
    let said = |text: &str, more: &[&str]| draw(text, more).unwrap_err();
    snapbox::assert_data_eq!(
        said(FILE, &["--signals", "sum"]),
        str![[r#"
error: a.vcd: no signal `sum`; did you mean sum_o?

"#]]
    );
    snapbox::assert_data_eq!(
        said(FILE, &["--from", "7"]),
        str![[r#"
error: a.vcd: it has the cycles 0 to 4, not 7

"#]]
    );
    snapbox::assert_data_eq!(
        said(FILE, &["--from", "3", "--to", "1"]),
        str![[r#"
error: a.vcd: cycles from 3 to 1 are none

"#]]
    );
    snapbox::assert_data_eq!(
        said(FILE, &["--clock", "clk"]),
        str![[r#"
error: a.vcd: --clock: no signal `clk`; did you mean clk_i?; `--clock none` draws without one

"#]]
    );
    assert!(said(FILE, &["--to", "1000"]).contains("1001 cycles do not fit into a drawing, 400 do"));
    assert!(said("{ }", &[]).contains("is no VCD, FST or GHW file"));
    let nested = |depth: usize| {
        let (begin, end) = ("$scope module m $end\n".repeat(depth), "$upscope $end\n".repeat(depth));
        FILE.replace("$scope module adder", &format!("{begin}{end}$scope module adder"))
    };
    assert!(said(&nested(10_000), &[]).contains("is no VCD file: line 505: scopes are nested more than 500 deep"));
    assert!(draw(&nested(400), &[]).is_ok());
    assert!(said("$upscope $end\n", &[]).contains("a scope ends that did not begin"));
    assert!(said("$scope module m $end\n", &[]).contains("line 1: the file ends within its header"));
    assert!(said(&FILE.replace("b00000111 #", "b000z?11 #"), &[]).contains("is not made of bits"));
    assert!(said("$enddefinitions $end\n", &[]).contains("it has no signals"));
    senbazuru(&["wave", "no/such.vcd"]).assert().code(2).stderr_eq(str![[r#"
error: cannot read no/such.vcd: No such file or directory (os error 2)

"#]]);
}

/// The registered parameters with the least Verilog, counted as often as it is placed.
fn smallest(entry: &dyn Entry) -> Params {
    let size = |params: &Params| {
        let design = entry.elaborate(params).unwrap();
        let lines = |name: &str| {
            let file = design.verilog().into_iter().find(|f| f.name == format!("{name}.v"));
            file.map_or(0, |f| f.text.lines().count() as u64)
        };
        design.manifest().modules.iter().map(|m| m.instances * lines(&m.name)).sum::<u64>()
    };
    entry.configurations().into_iter().min_by_key(size).unwrap()
}

/// Every block is in `--full`; here one of each family, as each needs a model of its own.
#[test]
fn a_block_of_each_family_traces() {
    let mut families = BTreeMap::new();
    // Of accelerators the parts are quick.
    for entry in Catalogue::standard()
        .find("execution_controller")
        .cloned()
        .into_iter()
        .chain(Catalogue::standard().all().to_vec())
    {
        families.entry(entry.family()).or_insert(entry);
    }
    trace(families.into_values().collect());
}

#[tag(release)]
#[test]
#[ignore = "minutes: a model of each block"]
fn every_block_traces() {
    trace(Catalogue::standard().all().to_vec());
}

fn trace(entries: Vec<Known>) {
    let folder = tempfile::tempdir().unwrap();
    let work = entries.into_iter().map(|entry| (entry.about().name.to_owned(), entry)).collect();
    on_all_cores(work, |entry| {
        let name = entry.about().name;
        let params = smallest(&**entry);
        let file = folder.path().join(format!("{name}.vcd")).display().to_string();
        let mut args: Vec<String> = ["sim", name, "--vectors", "2", "--trace", &file].map(str::to_owned).into();
        args.extend(params.iter().flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={}", plain(value))]));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        senbazuru(&args).assert().code(0);
        let run = senbazuru(&["wave", &file]).assert().code(0);
        let svg = String::from_utf8(run.get_output().stdout.clone()).unwrap();
        for port in &entry.elaborate(&params).unwrap().manifest().ports {
            if !svg.contains(&format!(" code\">{}</text>", port.name)) {
                return Err(format!("{} is not drawn", port.name));
            }
        }
        let moves = svg.contains("wave\" d=\"M") || svg.contains("bus-value");
        if moves { Ok(()) } else { Err("nothing happens in it".into()) }
    });
}

#[test]
fn the_documents_show_a_waveform_of_every_family() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let script = fs::read_to_string(root.join("scripts/drawings")).unwrap();
    let mut pages = String::new();
    for folder in ["docs", "docs/blocks"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "md") {
                pages += &fs::read_to_string(path).unwrap();
            }
        }
    }
    // `wave NAME "BLOCK ..` draws docs/images/waves-NAME.svg.
    let lines = script.lines().filter_map(|line| line.strip_prefix("wave ")?.split_once(" \""));
    let drawings: Vec<(&str, &str)> =
        lines.map(|(name, rest)| (name, rest.split([' ', '"']).next().unwrap())).collect();
    for (name, block) in &drawings {
        Catalogue::standard().find(block).cloned().unwrap();
        assert!(pages.contains(&format!("images/waves-{name}.svg)")), "no page shows waves-{name}.svg");
    }
    for entry in Catalogue::standard().all().to_vec() {
        let family = entry.family();
        let of_family = |block: &str| Catalogue::standard().find(block).cloned().is_ok_and(|e| e.family() == family);
        assert!(
            drawings.iter().any(|(_, block)| of_family(block)),
            "family {family}: add a line for one of its blocks to scripts/drawings, and the drawing to its page"
        );
    }
}

#[tag(full)]
#[test]
#[ignore = "half a minute: draws all of them again"]
fn drawings_are_those_of_the_documents() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let check =
        Tool::new("./scripts/drawings").arg("--check").dir(root).env("SENBAZURU", env!("CARGO_BIN_EXE_senbazuru"));
    let output = check.env("CARGO_TARGET_DIR", env!("CARGO_TARGET_TMPDIR")).run().unwrap();
    assert!(output.success(), "{}", output.log());
}
