//! Checks of every block of the catalogue, with every parameter set that it is registered with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use test_tag::tag;

use crate::support::on_all_cores;
use senbazuru::catalogue::{Catalogue, Entry, Known, Params};
use senbazuru::flows::lint::{Check, Sources, distinct_modules, lint_without_yosys, yosys_lint};
use senbazuru::output::{Bundle, Earlier, Layout};
use senbazuru::params::show;
use sim::process::Tool;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs `check` on all blocks and parameter sets.
fn every(check: impl Fn(&dyn Entry, &Params) -> Result<(), String> + Sync) {
    let catalogue = Catalogue::standard().all().to_vec();
    on_all_cores(configurations(&catalogue).collect(), |(entry, params)| check(*entry, params));
}

/// All blocks with all parameter sets, with names for messages.
fn configurations(catalogue: &[Known]) -> impl Iterator<Item = (String, (&dyn Entry, Params))> {
    let named = |entry: &dyn Entry, params: &Params| format!("{} with {}", entry.about().name, show(params));
    catalogue.iter().flat_map(move |entry| {
        let entry = &**entry;
        entry.configurations().into_iter().map(move |params| (named(entry, &params), (entry, params)))
    })
}

#[test]
fn blocks_say_what_they_are() {
    let mut names = BTreeSet::new();
    for entry in Catalogue::standard().all().to_vec() {
        let about = entry.about();
        let name = about.name;
        assert!(names.insert(name), "two blocks are called {name}");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
        assert!(!about.summary.is_empty() && !about.contract.is_empty(), "{name}");
        assert!(root().join(entry.source()).is_file(), "{name}: no file {}", entry.source());
        let folder = match entry.family() {
            "accelerators" => "hdl/src/accelerators/".to_owned(),
            family => format!("hdl/src/blocks/{family}/"),
        };
        let right = entry.source().starts_with(&folder) || is_in_one_place(entry.source());
        assert!(right, "{name}: {} is not in {folder}", entry.source());
    }
}

/// Blocks with hardware, golden model and bench in one file, and accelerators with all of theirs in one folder, as a
/// user's crate has them.
fn is_in_one_place(source: &str) -> bool {
    ["gen/src/standard/", "gen/src/accelerators/"].iter().any(|folder| source.starts_with(folder))
}

/// What docs/adding-a-block.md promises: a block in one file touches five other files. Texts that a writer chose to write
/// about it (pages, changes) do not count.
#[test]
fn a_block_in_one_file_touches_six_files() {
    let mut counted = 0;
    for entry in Catalogue::standard().all().to_vec() {
        let (name, family, source) = (entry.about().name, entry.family(), entry.source());
        if !source.starts_with("gen/src/standard/") {
            continue;
        }
        let design = entry.elaborate(&entry.defaults()).unwrap();
        let expected = BTreeSet::from([
            source.to_owned(),
            "gen/src/standard.rs".to_owned(),
            "docs/catalogue.md".to_owned(),
            format!("verilog-out/modules/{}.v", design.top_name()),
            format!("verilog-out/{family}/{name}.json"),
            format!("verilog-out/{family}/{name}.f"),
        ]);
        let list = Tool::new("git").args(["ls-files", "-z"]).dir(root()).run().unwrap_or_else(|e| panic!("{e}"));
        // Pages, users of the block, and what else belongs to its file.
        let parts = source.replace(".rs", "/");
        let others = ["CHANGELOG.md", "docs/blocks/", "docs/guide/", "examples/", &parts];
        let written = |file: &str| others.iter().any(|other| file.starts_with(other));
        let names = |file: &str| {
            let own = Path::new(file).file_stem().is_some_and(|stem| stem == name);
            let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
            let words =
                |text: &str, word: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word);
            own || words(&text, name) || words(&text, design.top_name())
        };
        let example = "docs/adding-a-block.md";
        let touched: BTreeSet<String> = list
            .stdout
            .split('\0')
            .filter(|f| !f.is_empty() && !written(f) && *f != example)
            .filter(|file| names(file))
            .map(str::to_owned)
            .collect();
        assert_eq!(touched, expected, "{name}");
        counted += 1;
    }
    assert!(counted > 0);
}

/// The pattern of a block that others contain: a file of the same name for hardware, golden model, bench and test, the
/// last as a module of its family's tests. A folder may stand for the beginning of a name: `float/add.rs` is `float_add`.
/// The parts of a family of units share a bench and a test, `parts.rs`, which name their types.
#[test]
fn files_of_every_block_are_where_the_pattern_says() {
    let mut wrong = String::new();
    for entry in Catalogue::standard().all().to_vec() {
        if is_in_one_place(entry.source()) {
            continue;
        }
        let name = entry.about().name;
        // The parts of an accelerator have a folder in `hdl`.
        let system = entry.source().strip_prefix("hdl/src/accelerators/");
        let system = system.map(|file| format!("accelerators/{}", file.rsplit('/').next().unwrap_or(file)));
        let file = system.as_deref().unwrap_or_else(|| entry.source().strip_prefix("hdl/src/blocks/").unwrap());
        let path = Path::new(file).with_extension("");
        let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
        let [folders @ .., own] = &parts[..] else { panic!("{file}") };
        let shared = ["testbenches/src", "testbenches/tests"].map(|folder| {
            let path = root().join(folder).join(folders.join("/")).join("parts.rs");
            std::fs::read_to_string(path).unwrap_or_default()
        });
        if shared.iter().all(|text| text.contains(&type_name(name))) {
            continue;
        }
        if *own != name && folders.last().is_none_or(|folder| format!("{folder}_{own}") != name) {
            wrong += &format!("{name} is in hdl/src/blocks/{file}\n");
        }
        // An accelerator is the module of its folder: `accelerators/kelle.rs` is `kelle_top`.
        let whole = entry.source().strip_prefix("hdl/src/accelerators/").and_then(|file| file.split('/').next());
        let whole = whole.filter(|_| entry.is_accelerator()).map(|folder| format!("accelerators/{folder}.rs"));
        for folder in ["sim/golden/src", "testbenches/src", "testbenches/tests"] {
            let is_there = |file: &str| root().join(folder).join(file).is_file();
            if !is_there(file) && !whole.as_deref().is_some_and(is_there) {
                wrong += &format!("{name}: no file {folder}/{file}\n");
            }
        }
        // A file of tests that no `mod` names would not be run.
        for (depth, module) in parts.iter().enumerate().skip(1) {
            let main = if depth == 1 { "main.rs" } else { "mod.rs" };
            let parent = root().join("testbenches/tests").join(parts[..depth].join("/")).join(main);
            let text = std::fs::read_to_string(&parent).unwrap_or_default();
            if !text.lines().any(|line| line == format!("mod {module};")) {
                wrong += &format!("{name}: no `mod {module};` in {}\n", parent.display());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The name of a block's type: `row_adder` is `RowAdder`.
fn type_name(block: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    block.split('_').map(word).collect()
}

#[test]
fn parameters_are_documented_in_order() {
    for entry in Catalogue::standard().all().to_vec() {
        let defaults = entry.defaults();
        let fields: Vec<_> = defaults.keys().map(String::as_str).collect();
        let parameters = entry.parameters();
        let documented: Vec<_> = parameters.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(fields, documented, "{}", entry.about().name);
        assert!(parameters.iter().all(|p| !p.allowed.is_empty() && !p.meaning.is_empty()));
        // A parameter set listed twice would hide one that was meant to be different.
        let sets: Vec<_> = entry.configurations().iter().map(show).collect();
        let different: BTreeSet<_> = sets.iter().collect();
        assert_eq!(different.len(), sets.len(), "{}: {sets:#?}", entry.about().name);
    }
}

#[test]
fn every_port_has_a_meaning() {
    every(|entry, params| {
        let manifest = entry.elaborate(params).map_err(|e| e.to_string())?.manifest();
        let silent: Vec<_> = manifest.ports.iter().filter(|p| p.meaning.is_empty()).map(|p| p.name.clone()).collect();
        if silent.is_empty() { Ok(()) } else { Err(format!("no meaning: {}", silent.join(", "))) }
    });
}

/// Regular structures are loops, so that a module can be read.
#[test]
fn modules_are_short_and_have_no_series() {
    let mut wrong = String::new();
    for file in std::fs::read_dir(root().join("verilog-out/modules")).unwrap().map(|f| f.unwrap().path()) {
        let text = std::fs::read_to_string(&file).unwrap();
        // The head and the lists of ports, nets and connections are as long as interfaces are; the formal section is for
        // tools.
        let mut formal = false;
        let logic = text.lines().skip_while(|line| *line != ");").filter(|line| {
            let (begins, ends) = (line.starts_with("`ifdef FORMAL"), *line == "`endif");
            formal = (formal || begins) && !ends;
            let net = line.trim_start().starts_with("wire ") && !line.contains('=');
            !formal && !net && !line.trim_start().starts_with('.')
        });
        let shape = |line: &str| line.split(|c: char| c.is_ascii_digit()).filter(|s| !s.is_empty()).collect::<String>();
        let shapes: Vec<String> = logic.map(shape).collect();
        // The entries of a table of constants are alike: `7'd12: table = 21'd345;`.
        let entry = |shape: &str| shape.trim().starts_with("'d: ") && shape.ends_with("= 'd;");
        let longest = shapes.chunk_by(|a, b| a == b && !a.trim().is_empty() && !entry(a)).map(<[String]>::len).max();
        assert!(!shapes.is_empty(), "{}", file.display());
        if shapes.len() > 400 || longest > Some(8) {
            wrong += &format!("{}: {} lines, {longest:?} alike in a row\n", file.display(), shapes.len());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn elaboration_is_deterministic() {
    let catalogue = Catalogue::standard().all().to_vec();
    let all = configurations(&catalogue).collect::<Vec<_>>();
    let some = seeds::some(&all, all.len() / 6).into_iter().cloned().collect();
    on_all_cores(some, |(entry, params): &(&dyn Entry, Params)| {
        let files = || {
            let mut bundle = Bundle::new(Layout::Flat);
            let design = entry.elaborate(params).map_err(|e| e.to_string())?;
            bundle.add(entry.family(), entry.about().name, &design).map_err(|e| e.to_string())?;
            Ok::<_, String>(bundle.files().clone())
        };
        let (first, second) = (files()?, files()?);
        if first == second { Ok(()) } else { Err("two elaborations differ".into()) }
    });
}

/// A full run gives Verilator and Icarus the first configuration of each block and half of the others. Yosys gets the
/// designs that `gen` writes by default. An ordinary run takes a sixteenth of that, since the rest takes longer than
/// all of this.
#[test]
fn verilog_is_clean_in_all_tools() {
    let catalogue = Catalogue::standard().all().to_vec();
    clean_without_yosys(&catalogue, is_of_a_full_run);
    clean_in_yosys(&defaults(&catalogue), |module| !is_slow(module));
}

fn defaults(catalogue: &[Known]) -> Vec<Sources> {
    let designs = catalogue.iter().map(|entry| entry.elaborate(&entry.defaults()).unwrap());
    designs.map(|design| Sources::from(&design)).collect()
}

fn of_all_configurations(catalogue: &[Known]) -> Vec<Sources> {
    let designs = configurations(catalogue).map(|(_, (entry, params))| entry.elaborate(&params).unwrap());
    designs.map(|design| Sources::from(&design)).collect()
}

/// How the names of modules begin on which Yosys spends most of its time.
const SLOW: [&str; 12] = [
    "channel_monitor_l32",
    "computing_engine_v4_u16",
    "dcim_cells_i256",
    "dcim_linear_x8_i256",
    "dcim_macro_x8_i256",
    "dequantization_unit_l32",
    "index_distribution_counter_a4_b4_n16_k4096",
    "mac_mesh_r16_c16",
    "non_zero_quantizer_l32",
    "orizuru_n4096",
    "pe_lane_c16",
    "pe_lane_c8",
];

fn is_slow(module: &str) -> bool {
    SLOW.iter().any(|slow| module.starts_with(slow))
}

/// The first configuration of accelerators, which is the smallest. Of other blocks also each second one, except
/// configurations that take minutes.
fn is_of_a_full_run(name: &str, entry: &dyn Entry, params: &Params) -> bool {
    let top = entry.is_accelerator();
    let number = entry.configurations().iter().position(|one| one == params);
    number == Some(0) || (number.is_some_and(|k| k % 2 == 1) && !top && !name.starts_with("orizuru with n = 4096"))
}

/// Designs that [`verilog_is_clean_in_all_tools`] does not show Verilator and Icarus.
#[tag(release)]
#[test]
#[ignore = "minutes: accelerators, Orizuru of 273 units, and half of all others"]
fn verilog_is_clean_without_yosys() {
    clean_without_yosys(Catalogue::standard().all(), |name, entry, params| !is_of_a_full_run(name, entry, params));
}

/// Designs that it does not show Yosys.
#[tag(release)]
#[test]
#[ignore = "many minutes: Yosys on all configurations"]
fn modules_of_all_configurations_are_clean_in_yosys() {
    let catalogue = Catalogue::standard().all().to_vec();
    let seen = distinct_modules(&defaults(&catalogue)).unwrap();
    let seen: BTreeSet<&str> = seen.iter().map(|module| module.name()).collect();
    clean_in_yosys(&of_all_configurations(&catalogue), |module| is_slow(module) || !seen.contains(module));
}

fn clean_without_yosys(catalogue: &[Known], wanted: impl Fn(&str, &dyn Entry, &Params) -> bool) {
    let wanted: Vec<_> =
        configurations(catalogue).filter(|(name, (entry, params))| wanted(name, *entry, params)).collect();
    assert!(!wanted.is_empty());
    let some = seeds::some(&wanted, wanted.len().div_ceil(16)).into_iter().cloned().collect();
    on_all_cores(some, |(entry, params): &(&dyn Entry, Params)| {
        let sources = Sources::from(&entry.elaborate(params).map_err(|e| e.to_string())?);
        let checks = lint_without_yosys(&sources).map_err(|e| e.to_string())?;
        assert!(checks.len() >= 2);
        clean(&checks)
    });
}

/// Designs have modules in common, and Yosys needs to see each only once.
fn clean_in_yosys(designs: &[Sources], wanted: impl Fn(&str) -> bool) {
    let mut modules = distinct_modules(designs).unwrap();
    modules.retain(|module| wanted(module.name()));
    assert!(!modules.is_empty());
    let some = seeds::some(&modules, modules.len().div_ceil(16));
    on_all_cores(some.into_iter().map(|module| (module.file.name.clone(), module)).collect(), |module| {
        let checks = yosys_lint(module).map_err(|e| e.to_string())?;
        assert!(!checks.is_empty());
        clean(&checks)
    });
}

fn clean(checks: &[Check]) -> Result<(), String> {
    let messages: Vec<_> = checks.iter().flat_map(|c| c.messages.iter().map(|m| format!("{}: {m}", c.tool))).collect();
    if messages.is_empty() { Ok(()) } else { Err(messages.join("\n")) }
}

/// All blocks with their default parameters.
fn library() -> Bundle {
    let mut bundle = Bundle::new(Layout::Library);
    for entry in Catalogue::standard().all().to_vec() {
        bundle.add(entry.family(), entry.about().name, &entry.elaborate(&entry.defaults()).unwrap()).unwrap();
    }
    bundle
}

#[test]
fn committed_verilog_is_fresh() {
    let (folder, bundle) = (root().join("verilog-out"), library());
    let mut stale = bundle.compare(&folder).unwrap();
    let earlier = Earlier::find(&folder, &bundle).unwrap();
    stale.extend(earlier.stale.iter().chain(&earlier.foreign).map(|p| format!("{} is too much", p.display())));
    assert!(stale.is_empty(), "run `senbazuru gen --all` and look at the changes:\n{}", stale.join("\n"));
}

/// All blocks in one design: no two modules of one name, each file list (in an ordinary run some of them) complete and in order by
/// itself.
#[test]
fn blocks_can_be_used_together() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = library();
    bundle.write(folder.path(), &Earlier::default()).unwrap();
    let modules = bundle.files().keys().filter(|p| p.extension().is_some_and(|e| e == "v"));
    let mut all = Tool::new("iverilog").args(["-g2005", "-Wall", "-t", "null"]).dir(folder.path()).args(modules);
    let designs = bundle.designs();
    for design in designs {
        all = all.args(["-s", &design.top]);
    }
    let some = seeds::some(designs, designs.len() / 16);
    let both = "index_matmul_column";
    for design in designs.iter().filter(|design| design.block == both || some.iter().any(|one| one.top == design.top)) {
        let list = design.files.iter().find(|p| p.extension().is_some_and(|e| e == "f")).unwrap();
        let place = folder.path().join(list.parent().unwrap());
        // As docs/commands.md says: Icarus takes the names from where it runs, Verilator's -F from where the list is.
        let (name, path) = (list.file_name().unwrap(), folder.path().join(list));
        let icarus = Tool::new("iverilog").args(["-g2005", "-t", "null", "-s", &design.top, "-c"]).arg(name).dir(place);
        let verilator = Tool::new("verilator").args(["--lint-only", "--top-module", &design.top, "-F"]).arg(path);
        let tools = if design.block == both { vec![icarus, verilator] } else { vec![icarus] };
        for tool in tools {
            let output = tool.run().unwrap();
            assert!(output.success() && output.log().is_empty(), "{}:\n{}", tool.command_line(), output.log());
        }
    }
    let output = all.run().unwrap();
    assert!(output.success() && output.log().is_empty(), "{}", output.log());
}
