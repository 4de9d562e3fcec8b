//! Sweeps on this machine: files, repeated runs, and errors that stop them or do not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::{SMALL_MESHES as MESH, in_folder, senbazuru, sweep_command};
use rusqlite::Connection;
use senbazuru::sweep::Results;
use serde_json::Value;
use sim::process::ProcessError;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(sweep: &str) -> Self {
        Self { folder: in_folder(&[("mesh.toml", sweep)]) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the sweep to its end.
    fn run(&self, more: &[&str]) -> (Option<i32>, String, String) {
        let tool = sweep_command(&self.path("mesh.toml"), &self.path("out"), &self.path("store"), more);
        let output = tool.run().unwrap();
        (output.code, output.stdout, output.stderr)
    }

    /// Every stored result with the time of its last change.
    fn store(&self) -> BTreeMap<PathBuf, SystemTime> {
        let results =
            files_below(&self.path("store")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "json"));
        results.map(|path| (path.clone(), fs::metadata(&path).unwrap().modified().unwrap())).collect()
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn every_form_of_the_results_says_the_same() {
    let place = Place::new(MESH);
    let (code, out, err) = place.run(&[]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.starts_with("mesh: 4 points, 4 passed, 2 left out\n"), "{out}");
    let read = |name: &str| fs::read_to_string(place.path("out").join(name)).unwrap();
    let lines: Vec<Value> = read("results.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let of = |name: &str| lines.iter().map(|l| l[name].as_i64().unwrap()).collect::<Vec<_>>();
    assert_eq!((of("rows"), of("columns")), (vec![1, 1, 2, 3], vec![1, 2, 1, 1]));
    assert_eq!(of("accumulator_width"), [7, 7, 8, 9]);
    let flip_flops = of("flip_flops");
    assert!(flip_flops[0] < flip_flops[2] && flip_flops[2] < flip_flops[3], "{flip_flops:?}");

    let mut csv = csv::Reader::from_reader(fs::File::open(place.path("out/results.csv")).unwrap());
    let headers = csv.headers().unwrap().clone();
    for (record, line) in csv.records().zip(&lines) {
        for (name, cell) in headers.iter().zip(record.unwrap().iter()) {
            let expected = match &line[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(cell, expected, "{name}");
        }
    }

    let database = Connection::open(place.path("out/results.sqlite")).unwrap();
    let mut query = database.prepare("SELECT rows, and_nodes, levels, top FROM result ORDER BY id").unwrap();
    let rows = query
        .query_map([], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?, r.get::<_, i64>(2)?, r.get::<_, String>(3)?)));
    for (row, line) in rows.unwrap().zip(&lines) {
        let (rows, nodes, levels, top) = row.unwrap();
        assert_eq!(
            (rows, nodes, levels),
            (line["rows"].as_i64().unwrap(), line["and_nodes"].as_i64().unwrap(), line["levels"].as_i64().unwrap())
        );
        assert!(place.path("out/verilog").join(&top).join(format!("{top}.v")).is_file());
    }
    let tools: i64 =
        database.query_row("SELECT count(*) FROM tool WHERE version LIKE 'Yosys %'", [], |r| r.get(0)).unwrap();
    assert_eq!(tools, 1);
}

#[test]
fn a_sweep_without_a_library_may_say_so() {
    let place = Place::new(&MESH.replace("stages", "options = { liberty = \"none\" }\nstages"));
    let (code, out, err) = place.run(&[]);
    assert_eq!(code, Some(0), "{out}{err}");
    let results = Results::read(&place.path("out")).unwrap();
    assert!(results.points.iter().all(|p| p.value("gates").is_some() && p.value("area").is_none()));
}

#[test]
fn a_rerun_does_only_what_changed() {
    let place = Place::new(MESH);
    assert_eq!(place.run(&[]).0, Some(0));
    let first = place.store();
    assert_eq!(first.len(), 8);
    assert_eq!(place.run(&[]).0, Some(0));
    assert_eq!(place.store(), first);
    // One more column: one more point (1 x 3), two more results.
    fs::write(place.path("mesh.toml"), MESH.replace("[1, 2]", "[1, 2, 3]")).unwrap();
    let (code, out, _) = place.run(&[]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("mesh: 5 points"), "{out}");
    let second = place.store();
    assert_eq!(second.len(), 10);
    assert!(first.iter().all(|(path, time)| second[path] == *time));
    // Another option is another result of that stage only.
    fs::write(place.path("mesh.toml"), MESH.replace("stages", "options = { hierarchical = true }\nstages")).unwrap();
    assert_eq!(place.run(&[]).0, Some(0));
    assert_eq!(place.store().len(), 14);
}

/// A quick look stands beside the whole sweep, not in its place, and its page says how it was made.
#[test]
fn few_values_and_all_values_are_kept_apart() {
    let place = Place::new(&MESH.replace("[derived]", "[small]\nrows = [1]\n[derived]"));
    let run = |more: &[&str]| {
        let run = senbazuru(&[&["sweep", "mesh.toml"], more].concat()).current_dir(place.folder.path()).assert();
        let output = run.get_output();
        (output.status.code(), String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned())
    };
    let points = |dir: &str| Results::read(&place.path(dir)).unwrap().points.len();
    assert_eq!(run(&[]).0, Some(0));
    assert_eq!(run(&["--small"]).0, Some(0));
    assert_eq!((points("target/sweeps/mesh"), points("target/sweeps/mesh-small")), (4, 2));
    let (code, text) = run(&["--small", "-o", "target/sweeps/mesh"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("target/sweeps/mesh holds the results of a whole sweep: with --small, name another"),
        "{text}"
    );
    assert_eq!(points("target/sweeps/mesh"), 4);
    assert_eq!(run(&["--small", "--skip-illegal", "-o", "my look"]).0, Some(0));
    for (dir, command) in [
        ("target/sweeps/mesh", "senbazuru sweep mesh.toml<"),
        ("target/sweeps/mesh-small", "senbazuru sweep mesh.toml --small<"),
        ("my look", "senbazuru sweep mesh.toml --small --skip-illegal --output 'my look'<"),
    ] {
        senbazuru(&["report", dir]).current_dir(place.folder.path()).assert().success();
        let page = fs::read_to_string(place.path(dir).join("report.html")).unwrap();
        let again = page.split_once("Run again</dt>").unwrap().1.split_once("</dd>").unwrap().0;
        assert!(again.contains(command), "{again}");
    }
}

#[test]
fn verilog_of_points_that_are_gone_goes_and_nothing_else() {
    let place = Place::new(MESH);
    assert_eq!(place.run(&[]).0, Some(0));
    let folder = |top: &str| place.path("out/verilog").join(top);
    let (gone, noted, stays) = ("mac_mesh_r3_c1_w3_a9", "mac_mesh_r2_c1_w3_a8", "mac_mesh_r1_c1_w3_a7");
    fs::write(folder(noted).join("notes.txt"), "mine").unwrap();
    fs::write(folder(stays).join("mine.v"), "module mine; endmodule\n").unwrap();
    fs::write(place.path("mesh.toml"), MESH.replace("to = 3", "to = 1")).unwrap();
    assert_eq!(place.run(&[]).0, Some(0));
    assert!(!folder(gone).exists());
    assert_eq!(fs::read_dir(folder(noted)).unwrap().count(), 1);
    assert!(folder(stays).join("mine.v").exists() && folder(stays).join(format!("{stays}.v")).exists());
}

/// Files and folders that a dead writer has left below a folder: their names begin with a dot.
fn hidden(folder: &Path, file: &Path) -> bool {
    let below = file.strip_prefix(folder).unwrap();
    below.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
}

/// The sweep and all that it started die at some moment. Stored results are whole, and the next run ends the work.
#[test]
fn killed_at_any_moment_nothing_is_half_written() {
    let place = Place::new(&MESH.replace("rows * columns <= 3", "rows > 0").replace("to = 3", "to = 4"));
    let mut stored = 0;
    for milliseconds in [150, 400, 700, 1100, 1600] {
        let tool = sweep_command(&place.path("mesh.toml"), &place.path("out"), &place.path("store"), &[]);
        match tool.timeout(Duration::from_millis(milliseconds)).run() {
            Err(ProcessError::Timeout { .. }) => {}
            other => assert!(other.unwrap().success()),
        }
        let store = place.store();
        for path in store.keys() {
            let result: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            assert_eq!(result["status"], "passed");
        }
        assert!(store.len() >= stored, "results were lost");
        stored = store.len();
        // The output comes file by file, each file whole: first the Verilog, then the results.
        let out = place.path("out");
        for file in files_below(&out).iter().filter(|file| !hidden(&out, file)) {
            let text = fs::read(file).unwrap();
            let extension = file.extension().and_then(|e| e.to_str());
            let whole = match extension {
                Some("json") => serde_json::from_slice::<Value>(&text).is_ok(),
                Some("v") => text.ends_with(b"endmodule\n"),
                _ => !text.is_empty(),
            };
            assert!(whole, "half of {}", file.display());
        }
    }
    let (code, out, _) = place.run(&[]);
    assert_eq!((code, out.lines().next()), (Some(0), Some("mesh: 8 points, 8 passed")));
    assert_eq!(place.store().len(), 16);
}

#[test]
fn a_failing_point_stops_no_other_and_is_the_exit_code() {
    // There are no properties beyond N = 64.
    let place = Place::new(
        "block = 'orizuru'\nstages = ['gen', 'prove']\noptions = { depth = 2 }\n[fixed]\nradix = 4\nlanes = 4\n\
         \"tree.levels_per_cycle\" = 2\nformat = 'uint2'\n[axes]\nn = [4, 128, 3]\n[derived]\nk_max = 'n'\nk_min = 'n'\n",
    );
    let (code, out, err) = place.run(&[]);
    assert_eq!(code, Some(1), "{out}{err}");
    let failed = "failed: n = 128, ";
    assert!(out.starts_with("mesh: 3 points, 2 passed, 1 failed\n") && out.contains(failed), "{out}");
    assert!(err.lines().any(|l| l.starts_with(failed)), "{err}");
    let csv = fs::read_to_string(place.path("out/results.csv")).unwrap();
    assert_eq!(csv.lines().count(), 4);
}

#[test]
fn illegal_combinations_come_before_everything_and_are_skipped_on_demand() {
    let place = Place::new(&MESH.replace("2 * operand_width + rows", "8 - rows"));
    let (code, out, err) = place.run(&[]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("1 of 4 combinations are illegal:\n"), "{err}");
    assert!(err.contains("parameter `accumulator_width` is 5, allowed: 2 x operand_width = 6 to 128"), "{err}");
    assert!(place.store().is_empty());
    let (code, out, _) = place.run(&["--skip-illegal"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("1 illegal"), "{out}");
}

#[test]
fn one_command_a_line() {
    let place = Place::new(MESH);
    let (code, out, _) = place.run(&["--engine", "print"]);
    assert_eq!(code, Some(0));
    let store = place.path("store");
    let lines: Vec<_> =
        out.lines().map(|l| l.strip_suffix(&format!(" --store {}", store.display())).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(
        lines[1],
        "senbazuru point mac_mesh --set rows=1 --set columns=2 --set operand_width=3 --set accumulator_width=7 --stages gen,synth"
    );
    // The sweep takes the results of such a line from the store.
    let words: Vec<_> = lines[1].split(' ').skip(1).chain(["--store", store.to_str().unwrap()]).collect();
    senbazuru(&words).assert().success();
    assert_eq!(place.run(&["--engine", "print"]).1.lines().count(), 3);
}

/// The sweeps that come with the toolkit, except the ones in gen/tests/commands/fpga.rs.
fn shipped() -> Vec<PathBuf> {
    let sweeps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sweeps");
    let mut files: Vec<_> = fs::read_dir(&sweeps).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(!files.is_empty());
    files
}

/// With all their values: parameters are legal, and curves ask for numbers that the stages will give.
#[test]
fn every_shipped_sweep_can_be_planned() {
    let folder = tempfile::tempdir().unwrap();
    for file in shipped() {
        let more = ["--engine", "print"];
        let run = sweep_command(&file, &folder.path().join("out"), &folder.path().join("store"), &more).run().unwrap();
        assert!(run.success() && run.stdout.lines().count() > 1, "{}:\n{}", file.display(), run.log());
    }
}

/// With their few values for a quick look.
#[test]
fn shipped_sweeps_work() {
    let folder = tempfile::tempdir().unwrap();
    for file in seeds::some(&shipped(), 4) {
        let output = folder.path().join(file.file_stem().unwrap());
        let run = sweep_command(file, &output, &folder.path().join("store"), &["--small"]).run().unwrap();
        assert!(run.success(), "{}:\n{}", file.display(), run.log());
        assert!(Results::read(&output).unwrap().points.len() > 1, "{} has one point", file.display());
    }
}

#[test]
fn jobs_that_leave_no_result() {
    // A machine with other tools would not make the results that were planned.
    let run = senbazuru(&["point", "mac_mesh", "--stages", "gen", "--keys", "gen=0123", "--store", "unused"])
        .assert()
        .code(2);
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(text.contains("differ from the machine that planned the sweep"), "{text}");
}

#[test]
fn documents_are_filled_with_results() {
    let place = Place::new(MESH);
    assert_eq!(place.run(&[]).0, Some(0));
    fs::create_dir(place.path("facts")).unwrap();
    fs::write(place.path("facts/error.json"), r#"{ "int4": 0.125 }"#).unwrap();
    let render = |template: &str| {
        fs::write(place.path("page.md"), template).unwrap();
        let run = senbazuru(&["render", "page.md", "--results", "."]).current_dir(place.folder.path()).assert();
        let output = run.get_output();
        (output.status.code(), String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned())
    };
    let (code, text) = render(
        "{% set p = point('out', rows=3) %}\n{{ p.columns }} {{ (p.flip_flops / p.flip_flops) | percent }} \
         {{ 12345 | thousands }} {{ facts.error.int4 | digits(2) }}\n\n{{ table('out', ['rows', 'accumulator_width'], columns=1) }}",
    );
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(
        text,
        "1 100.0 % 12,345 0.12\n\n| rows | accumulator_width |\n| ---: | ---: |\n| 1 | 7 |\n| 2 | 8 |\n| 3 | 9 |\n"
    );
    for (template, part) in [
        ("{{ point('out', columns=1).rows }}", "3 points of sweep `out` fit the given columns"),
        ("\n{{ point('out', lines=1) }}", "line 2: "),
        ("{{ point('none', rows=1) }}", "`senbazuru sweep sweeps/none.toml` makes it"),
        ("{{ table('out', ['rows', 'watts']) }}", "no number or parameter `watts`"),
        ("{{ facts.error.int8 }}", "undefined"),
        ("{{ 1.5 | digits(70000) }}", "line 1: "),
        ("{{ 1.5 | digits(70000) }}", "70000 digits after the point, at most 30"),
        ("{{ 1.5 | percent(70000) }}", "70000 digits after the point, at most 30"),
    ] {
        let (code, text) = render(template);
        assert!(code == Some(2) && text.contains(part), "{template}: {text}");
    }
}

/// A page keeps its own words; only the text between the marks comes from the template.
#[test]
fn parts_of_a_document_are_filled() {
    let place = Place::new(MESH);
    let (template, page) = (place.path("figures.jinja"), place.path("page.md"));
    let run = |more: &[&str]| {
        let args = ["render", "figures.jinja", "--results", ".", "--output", "page.md", "--parts"];
        let run = senbazuru(&[&args[..], more].concat()).current_dir(place.folder.path()).assert();
        let output = run.get_output();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    fs::write(&template, "<!-- sum -->\n{{ 1 + 1 }}\n<!-- /sum -->\n").unwrap();
    assert_eq!(run(&[]).0, Some(2), "there is no page");
    fs::write(&page, "A sum:\n\n<!-- sum -->\n3\n<!-- /sum -->\n").unwrap();
    let (code, text) = run(&["--check"]);
    assert!(code == Some(1) && text.contains("page.md:4 differs"), "{text}");
    assert_eq!(run(&[]), (Some(0), String::new()));
    assert_eq!(fs::read_to_string(&page).unwrap(), "A sum:\n\n<!-- sum -->\n2\n<!-- /sum -->\n");
    assert_eq!(run(&["--check"]).0, Some(0));
    fs::write(&page, "Nothing.\n").unwrap();
    let (code, text) = run(&[]);
    assert!(code == Some(2) && text.contains("figures.jinja into page.md: the page has no part `sum`"), "{text}");
    assert_eq!(fs::read_to_string(&page).unwrap(), "Nothing.\n");
}

/// A value in a file is taken as it is, or refused with its line: no value becomes another one.
#[test]
fn values_that_are_none_and_circles_are_refused() {
    for (section, told) in [
        ("[axes]\nrows = [1, nan]\n", "axis `rows`: `nan` is no value; a finite number is wanted"),
        ("[axes]\nrows = [1, -inf]\n", "axis `rows`: `-inf` is no value; a finite number is wanted"),
        (
            "[fixed]\nrows = inf\n[axes]\ncolumns = [1]\n",
            "parameter `rows`: `inf` is no value; a finite number is wanted",
        ),
        ("[derived]\nrows = 'rows + 1'\n[axes]\noperand_width = [3]\n", "`rows` is derived from itself"),
        (
            "[derived]\nrows = 'columns'\ncolumns = 'rows'\n[axes]\noperand_width = [3]\n",
            "`rows` is derived from `columns`, which is derived later; put `columns` before it",
        ),
        (
            "[axes]\nrows = { powers_of_two = [16, 'x', 4096] }\n",
            "axis `rows`: `powers_of_two` holds \"x\", wanted two integers",
        ),
    ] {
        let place = Place::new(&format!("block = 'mac_mesh'\nstages = ['gen']\n{section}"));
        let (code, out, err) = place.run(&[]);
        assert_eq!(code, Some(2), "{section}: {out}{err}");
        assert!(err.contains("mesh.toml:4: ") && err.contains(told), "{section}: {err}");
    }
    // Parameters of a part, however they are written.
    for (written, whole) in [
        ("array.rows", false),
        ("array['rows']", true),
        ("array[\"ro\" ~ \"ws\"]", true),
        ("(array).rows", false),
        ("(array if true else array).rows", true),
        ("array|attr('rows')", true),
        ("(array|items|list)[0][1]", true),
    ] {
        for (target, told) in [
            ("array.rows", "`array.rows` is derived from itself"),
            (
                "max_beats",
                "`max_beats` is derived from `array.rows`, which is derived later; put `array.rows` before it",
            ),
        ] {
            let later = if target == "max_beats" { "'array.rows' = '4'\n" } else { "" };
            let text = format!(
                "block = 'tender_top'\nstages = ['gen']\n[derived]\n'{target}' = \"\"\"2 * {written}\"\"\"\n{later}[axes]\nstrip = [32]\n"
            );
            let (code, out, err) = Place::new(&text).run(&[]);
            assert_eq!(code, Some(2), "{text}: {out}{err}");
            assert!(err.contains("mesh.toml:4: ") && err.contains(told), "{text}: {err}");
            assert_eq!(err.contains("`array` is read as a whole"), whole, "{text}: {err}");
        }
    }
    for text in ["1e308 * 10 * rows", "-1e308 * 10 * rows", "1e308 * 10 - 1e308 * 10"] {
        let sweep =
            format!("block = 'mac_mesh'\nstages = ['gen']\n[derived]\ncolumns = '{text}'\n[axes]\nrows = [1]\n");
        let place = Place::new(&sweep);
        let (code, out, err) = place.run(&[]);
        assert_eq!(code, Some(2), "{out}{err}");
        assert!(err.contains(&format!("mesh.toml: `{text}` is ")) && err.contains("a finite number"), "{err}");
    }
    let deep = format!(
        "block = 'mac_mesh'\nstages = ['gen']\nwhere = ['{}true']\n[axes]\nrows = [1]\n",
        "not ".repeat(100_000)
    );
    let (code, _, err) = Place::new(&deep).run(&[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("1000 are the most"), "{err}");
}
