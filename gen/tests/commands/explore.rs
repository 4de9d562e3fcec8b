//! `senbazuru explore` on small models and blocks, and on the real one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use snapbox::cmd::cargo_bin;
use test_tag::tag;

use crate::support::{said, senbazuru};

/// The folder of the project.
fn project(name: &str) -> String {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(name).to_str().unwrap().to_owned()
}

fn oracle(name: &str) -> String {
    project(&format!("sim/models/tests/oracle/{name}"))
}

/// Exit code, output and error of a search in a folder.
fn explore(folder: &Path, file: &str, more: &[&str]) -> (i32, String, String) {
    let output = senbazuru(&[&["explore", file][..], more].concat()).current_dir(folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text, said(&output.stderr))
}

/// The same with a file of this text.
fn with(folder: &Path, text: &str, more: &[&str]) -> (i32, String, String) {
    fs::write(folder.join("search.toml"), text).unwrap();
    explore(folder, "search.toml", more)
}

const TITANUS: &str = "sweeps/explore/titanus.toml";

fn small<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let few = ["--tokens", "16", "--population", "4", "--generations", "2", "--store", "store"];
    [&["--model", model][..], &few, more].concat()
}

/// Results in a store.
fn stored(store: &Path) -> usize {
    let Ok(entries) = fs::read_dir(store) else { return 0 };
    let one = |path: PathBuf| {
        if path.is_dir() { stored(&path) } else { usize::from(path.extension().is_some_and(|e| e == "json")) }
    };
    entries.map(|entry| one(entry.unwrap().path())).sum()
}

/// A search that is killed goes on, and ends as one that was not. Another model has results of its own.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "`sim::process` waits for a program; this one is killed when it has results"
)]
fn a_killed_search_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (file, opt, other) = (project(TITANUS), oracle("opt"), oracle("opt-gelu"));
    let run = |model: &str, store: &str, csv: &str| {
        let few = ["--tokens", "16", "--population", "4", "--generations", "2", "--threads", "1"];
        explore(dir.path(), &file, &[&["--model", model, "--store", store, "--csv", csv][..], &few].concat())
    };
    let whole = run(&opt, "whole", "whole.csv");
    assert_eq!((whole.0, whole.2.as_str()), (0, ""));
    let all = stored(&dir.path().join("whole"));
    assert!(all >= 12, "{all} results");
    // Figures of schemes are no stage of a block.
    assert_eq!(stored(&dir.path().join("whole/eval")), all);
    for wanted in [1, all / 2] {
        let store = dir.path().join(format!("killed-{wanted}"));
        let mut child = std::process::Command::new(cargo_bin!("senbazuru"))
            .args(["explore", &file, "--model", &opt, "--tokens", "16", "--population", "4", "--generations", "2"])
            .args(["--threads", "1", "--store"])
            .arg(&store)
            .current_dir(dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while stored(&store) < wanted && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(300), "no result");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let kept = stored(&store);
        assert!(kept >= wanted, "{kept} results are kept");
        assert_eq!(run(&opt, store.to_str().unwrap(), "killed.csv"), whole);
        let csv = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(csv("killed.csv"), csv("whole.csv"));
        assert_eq!(stored(&store), all);
    }
    let others = run(&other, "whole", "other.csv");
    assert!(others.0 == 0 && others.1 != whole.1, "{}", others.2);
    assert!(stored(&dir.path().join("whole")) > all);
}

/// Each shipped file is a search; its tables have all objectives, and its CSV a column for each value.
#[test]
fn shipped_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut files: Vec<PathBuf> =
        fs::read_dir(project("sweeps/explore")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 3);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let file = file.to_str().unwrap();
        let few = ["--population", "4", "--generations", "1", "--store", "store", "--csv", "front.csv"];
        let model = oracle("llama-3");
        let of_model = ["--model", &model, "--tokens", "16", "--random", "--svg", "front.svg"];
        let more = if text.contains("\nscheme = ") { &of_model[..] } else { &[] };
        let (code, out, errors) = explore(dir.path(), file, &[&few[..], more].concat());
        assert_eq!((code, errors.as_str()), (0, ""), "{file}: {out}");
        assert!(out.contains("\n8 settings, seed 1\n"), "{out}");
        assert_eq!(out.contains("\nhypervolume up to 1.01 of the worst"), !more.is_empty(), "{out}");
        let csv = fs::read_to_string(dir.path().join("front.csv")).unwrap();
        let heads: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        assert!(csv.lines().count() > 1 && heads.len() > 3, "{csv}");
    }
    assert!(fs::read_to_string(dir.path().join("front.svg")).unwrap().contains("NSGA-II"));
}

/// A block whose numbers are known: three objectives over its parameters, of which each setting of the front is best in
/// one way. The whole space is small, so the front is the one by hand. `where` leaves settings out.
const MESH: &str = r#"
title = "a mesh"
block = "mac_mesh"
stages = ["gen"]
objectives = ["(rows - 3) ** 2 + columns", "columns * columns", "10 - rows"]
where = ["rows != 5"]
[search]
population = 20
generations = 20
[fixed]
operand_width = 2
accumulator_width = 12
[axes]
rows = { from = 1, to = 6 }
columns = [1, 2, 3]
"#;

#[test]
fn a_front_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, errors) = with(dir.path(), MESH, &["--store", "store", "--csv", "front.csv"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(out.contains("\n420 settings, seed 1\n"), "{out}");
    let csv = fs::read_to_string(dir.path().join("front.csv")).unwrap();
    let wanted = "(rows - 3) ** 2 + columns,columns * columns,10 - rows,rows,columns\n\
                  1,1,7,3,1\n2,1,6,4,1\n10,1,4,6,1\n";
    assert_eq!(csv, wanted);
    // A search is a function of its seed.
    let few = ["--store", "store", "--generations", "0", "--population", "2"];
    let seed = |seed: &str| with(dir.path(), MESH, &[&few[..], &["--seed", seed]].concat());
    assert_eq!(seed("1"), seed("1"));
    let all: std::collections::BTreeSet<String> = ["1", "2", "3", "4"].map(|s| seed(s).1).into();
    assert!(all.len() > 1);
    // Nothing is possible: the first setting's reason.
    let none = MESH.replace("rows != 5", "rows > 6");
    let (code, _, errors) = with(dir.path(), &none, &few);
    assert_eq!(
        (code, errors.as_str()),
        (1, "error: no setting of 2 is possible: a condition of `where` does not hold\n")
    );
    let refused = MESH.replace("accumulator_width = 12", "accumulator_width = 1");
    let (code, _, errors) = with(dir.path(), &refused, &few);
    assert!(
        code == 1 && errors.contains("no setting of 2 is possible: ") && errors.contains("accumulator_width"),
        "{errors}"
    );
}

/// What is wrong is told with file, line, key and what is wanted, before the weights are read.
#[test]
fn wrong_files() {
    let dir = tempfile::tempdir().unwrap();
    let titanus = fs::read_to_string(project(TITANUS)).unwrap();
    let tender = fs::read_to_string(project("sweeps/explore/tender_top.toml"))
        .unwrap()
        .replace("../compare", &project("sweeps/compare"));
    for (text, from, to, told) in [
        (&titanus, "titanus:levels", "titan:levels", "search.toml:4: there is no scheme `titan`; schemes are: float, "),
        (
            &titanus,
            "levels=no",
            "level=no",
            "search.toml:4: scheme `titanus`: there is no option `level`; options are: ",
        ),
        (
            &titanus,
            "\"titanus.keys\"",
            "\"titanus.key\"",
            ": scheme `titanus` has no option `key`; options are: pruned, ",
        ),
        (
            &titanus,
            "\"titanus.keys\"",
            "\"kelle.keys\"",
            ": `kelle.keys` is of no scheme here; wanted is SCHEME.OPTION",
        ),
        (&titanus, "to = 8,", "to = 9,", ": scheme `titanus`: `keys` is \"9\", allowed: 2 to 8"),
        (
            &titanus,
            "from = 0, to = 32",
            "from = 33, to = 32",
            ": axis `titanus.key_threshold`: from 33 to 32 in steps of 1 is empty",
        ),
        (
            &titanus,
            "layers = true",
            "layers = 1",
            ": axis `titanus.key_threshold`: `layers` is 1, wanted is true or false",
        ),
        (
            &titanus,
            "\"titanus.key_threshold\" = {",
            "\"titanus.pruned\" = {",
            "options of `titanus` with a value for each layer: keys, values, ",
        ),
        (&titanus, "\"perplexity\", ", "", "`keep` is `perplexity`, wanted is an objective: bytes_an_element"),
        (&titanus, "\"bytes_an_element\"]", "\"perplexity\"]", "the objective `perplexity` is there twice"),
        (
            &titanus,
            "objectives = [\"perplexity\", \"bytes_an_element\"]",
            "objectives = []",
            "`objectives` is empty, wanted are numbers",
        ),
        (&titanus, "\"bytes_an_element\"]", "\"bytes an element\"]", "`bytes an element`: syntax error"),
        (&titanus, "share = 0.05", "share = -1", "`share` is -1, allowed: 0 or more"),
        (&titanus, "population = 24", "population = 1", "search.toml:10: `population` is 1, allowed: 2 to 1000"),
        (&titanus, "generations", "generation", "unknown field `generation`"),
        (&titanus, "[text]", "[txt]", "unknown field `txt`"),
        (&titanus, "scheme = \"titanus:levels=no\"", "", "neither `scheme` nor `block`: nothing to search"),
        (&tender, "tender_top\"\nst", "tender_to\"\nst", "unknown block `tender_to`"),
        (&tender, "\"array.rows\" = {", "\"array.row\" = {", "tender_top has no parameter `array.row`"),
        (
            &tender,
            "\"time_cycles\"",
            "\"perplexity\"",
            "objective `perplexity`: nothing has the number `perplexity`; it needs a `scheme`",
        ),
        (&tender, "\"work.bandwidth\" = 16\n", "", "nothing has the number `time_cycles`; it needs `work.bandwidth`"),
        (&tender, "energy/tender.toml", "energy/none.toml", "energy/none.toml"),
        (
            &tender,
            "\"work.energy\"",
            "# \"work.energy\"",
            "nothing has the number `energy_pj`; it needs `work.energy`, a file of energies",
        ),
        (&tender, "\"cycles\"]", "\"gen\"]", "is of the work of the stage `cycles`, which is not in `stages`"),
        (
            &tender,
            "\"work.context\" = 1024",
            "\"work.bits\" = 4",
            "`work.bits` is in two of [fixed], [axes] and [derived]",
        ),
        (&tender, "\"energy_pj\"]", "\"energy_pj +\"]", "syntax error"),
    ] {
        assert!(text.contains(from), "{from}");
        let (code, out, errors) = with(dir.path(), &text.replacen(from, to, 1), &["--model", "none"]);
        assert!(code == 2 && out.is_empty() && errors.contains(told), "{from} -> {to}: {errors}");
        assert!(errors.contains("search.toml"), "{errors}");
    }
    // A figure that no scheme has is known after the first text.
    let model = oracle("gpt2");
    let odd = titanus.replace("\"bytes_an_element\"", "\"tokens_kept\"");
    let (code, _, errors) = with(dir.path(), &odd, &small(&model, &[]));
    assert!(
        code == 2 && errors.contains("search.toml:5: objective `tokens_kept`: ") && errors.contains("figures are: "),
        "{errors}"
    );
    let (code, _, errors) = explore(dir.path(), "none.toml", &[]);
    assert!(code == 2 && errors.contains("none.toml"), "{errors}");
}

/// A text of the user, or the one in the program; by default no more of it than the model's context.
#[test]
fn texts() {
    let dir = tempfile::tempdir().unwrap();
    let (page, model, file) = (oracle("page.txt"), oracle("gpt2"), project(TITANUS));
    let of = |more: &[&str]| {
        let few = ["--population", "2", "--generations", "0", "--store", "store", "--model", &model];
        explore(dir.path(), &file, &[&few[..], more].concat())
    };
    let (code, default, errors) = of(&["--tokens", "24"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let (code, out, errors) = of(&["--text", &page, "--tokens", "24"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_ne!(out, default);
    fs::write(dir.path().join("short"), "").unwrap();
    for (more, part) in [
        (&["--tokens", "33"][..], "`tokens` is 33, allowed: 2 to 32; pride.txt has "),
        (&["--tokens", "1"], "`tokens` is 1, allowed: 2 to 32; "),
        (&["--text", "short"], ", wanted are 2 or more"),
        (&["--text", "none", "--tokens", "24"], "none"),
        (&["--population", "1"], "the argument '--population <N>' cannot be used multiple times"),
    ] {
        let (code, out, errors) = of(more);
        assert!(code == 2 && out.is_empty() && errors.contains(part), "{more:?}: {errors}");
    }
}

/// Places that cannot be written are refused before the search, and before the weights are read.
#[test]
fn places_are_checked_first() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("mine")).unwrap();
    fs::write(dir.path().join("mine/notes"), "mine").unwrap();
    let file = project(TITANUS);
    for (more, part) in [
        (
            &["--calibration", "none", "-o", "mine"][..],
            "mine: has something else than a calibration in it; name another folder",
        ),
        (&["--csv", "mine"], "cannot write mine: it is a folder; name a file"),
        (&["--svg", "mine/notes/x.svg"], "cannot write mine/notes/x.svg"),
    ] {
        let (code, out, errors) = explore(dir.path(), &file, &[&["--model", "none"][..], more].concat());
        assert!(code == 2 && out.is_empty() && errors.contains(part), "{more:?}: {errors}");
    }
    fs::write(dir.path().join("search.toml"), MESH.replace(", \"columns * columns\", \"10 - rows\"", "")).unwrap();
    let (code, _, errors) = explore(dir.path(), "search.toml", &["--svg", "x.svg"]);
    assert_eq!((code, errors.as_str()), (2, "error: --svg draws two objectives, search.toml has one\n"));
    let (code, _, errors) = explore(dir.path(), "search.toml", &["--calibration", "x", "-o", "y"]);
    assert_eq!((code, errors.as_str()), (2, "error: -o needs a section [narrow] in search.toml\n"));
    let (code, _, errors) = explore(dir.path(), "search.toml", &["--calibration", "x"]);
    assert_eq!((code, errors.as_str()), (2, "error: --calibration is of a `scheme`, and search.toml has none\n"));
}

/// A short search on the real model: its front is that of the search for Titanus alone that was there before.
#[tag(full)]
#[test]
#[ignore = "needs the weights: a minute on an idle machine"]
fn the_search_of_titanus() {
    let dir = tempfile::tempdir().unwrap();
    let few = ["--tokens", "24", "--population", "4", "--generations", "1", "--store", "store", "--csv", "front.csv"];
    let text = fs::read_to_string(project(TITANUS)).unwrap();
    let (first, _) = text.split_once("[narrow]").unwrap();
    let (code, out, errors) = with(dir.path(), first, &few);
    assert_eq!((code, errors.as_str()), (0, ""), "{out}");
    let csv = fs::read_to_string(dir.path().join("front.csv")).unwrap();
    assert_eq!(csv.lines().next().unwrap().split(',').count(), 2 + 2 * 30);
    let first: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(first, WANTED, "{csv}");
}

/// Perplexities of the front, as `explore titanus` of commit 7fe77714 found it with the same seed.
const WANTED: [&str; 4] = ["17.774873717610056", "23.17600128402717", "29.063863222044347", "61.29900602093231"];
