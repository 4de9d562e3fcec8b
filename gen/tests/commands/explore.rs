//! `senbazuru explore` on small models, and on the real one.

use std::fs;
use std::path::{Path, PathBuf};

use test_tag::tag;

use crate::support::senbazuru;

fn oracle(name: &str) -> String {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/models/tests/oracle"));
    folder.join(name).to_str().unwrap().to_owned()
}

/// Exit code, output and error of a small search in a folder.
fn small(folder: &Path, model: &str, more: &[&str]) -> (i32, String, String) {
    let model = oracle(model);
    let search = ["explore", "titanus", "--model", &model, "--population", "4", "--generations", "1"];
    let output = senbazuru(&[&search[..], more].concat()).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A store is of a model and its weights: two models of equal shapes do not share one.
#[test]
fn a_store_of_another_model() {
    let dir = tempfile::tempdir().unwrap();
    let search = |model: &str| small(dir.path(), model, &["--tokens", "16", "--store", "deep/store"]);
    let first = search("opt");
    assert_eq!((first.0, first.2.as_str()), (0, ""));
    assert_eq!(search("opt"), first);
    let (code, out, errors) = search("opt-gelu");
    assert!(code == 2 && out.is_empty() && errors.contains("name another file"), "{errors}");
    let path = dir.path().join("deep/store");
    let damaged = fs::read_to_string(&path).unwrap().replacen("\"worth\":[\"", "\"worth\":[\"-", 1);
    fs::write(&path, damaged).unwrap();
    let (code, _, errors) = search("opt");
    assert!(code == 2 && errors.contains("line 2: a setting and two numbers from 0 on are expected"), "{errors}");
}

/// A text of the user, or the one in the program; by default no more of it than the model's context.
#[test]
fn texts() {
    let dir = tempfile::tempdir().unwrap();
    let page = oracle("page.txt");
    let (code, default, errors) = small(dir.path(), "gpt2", &[]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(default.contains("\n8 settings of 32 tokens; "), "{default}");
    let (code, out, errors) = small(dir.path(), "gpt2", &["--text", &page, "--tokens", "24"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(out.contains("\n8 settings of 24 tokens; ") && out != default, "{out}");
    fs::write(dir.path().join("short"), "").unwrap();
    for (more, part) in [
        (&["--tokens", "33"][..], "--tokens is 33, allowed: 2 to 32; pride.txt has "),
        (&["--tokens", "1"], "--tokens is 1, allowed: 2 to 32; "),
        (&["--text", "short"], ", wanted are 2 or more"),
        (&["--text", "none"], "none"),
    ] {
        let (code, out, errors) = small(dir.path(), "gpt2", more);
        assert!(code == 2 && out.is_empty() && errors.contains(part), "{more:?}: {errors}");
    }
}

/// Places that cannot be written are refused before the search, and before the weights are read.
#[test]
fn places_are_checked_first() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("mine")).unwrap();
    fs::write(dir.path().join("mine/notes"), "mine").unwrap();
    let of_found = ["--calibration", "none", "--widths", "0.5", "-o", "mine"];
    for (more, part) in [
        (&of_found[..], "mine: has something else than a calibration in it; name another folder"),
        (&["--csv", "mine"], "cannot write mine: it is a folder; name a file"),
        (&["--svg", "mine/notes/x.svg"], "cannot write mine/notes/x.svg"),
    ] {
        let (code, out, errors) = small(dir.path(), "none", more);
        assert!(code == 2 && out.is_empty() && errors.contains(part), "{more:?}: {errors}");
    }
}

/// A search that is stopped goes on, with the same result; a store of another text is refused.
#[tag(full)]
#[test]
#[ignore = "needs the weights: seconds on an idle machine, minutes beside others"]
fn a_search_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let explore_tokens = |tokens: &str, more: &[&str]| {
        let search =
            ["explore", "titanus", "--population", "4", "--generations", "1", "--store", "store", "--tokens", tokens];
        let arguments: Vec<&str> = search.iter().chain(more).copied().collect();
        senbazuru(&arguments).current_dir(dir.path()).output().unwrap()
    };
    let explore = |more: &[&str]| explore_tokens("24", more);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let first = explore(&["--csv", "first.csv", "--svg", "front.svg", "--random"]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let kept = fs::read_to_string(dir.path().join("store")).unwrap();
    // The header, int8, four settings that both searches begin with, and four of each.
    assert_eq!(kept.lines().count(), 2 + 12, "{kept}");
    assert!(fs::read_to_string(dir.path().join("front.svg")).unwrap().contains("NSGA-II"));

    let lines: Vec<&str> = kept.split_inclusive('\n').collect();
    let (last, whole) = lines.split_last().unwrap();
    fs::write(dir.path().join("store"), whole[..9].concat() + &last[..last.len() / 2]).unwrap();
    let second = explore(&["--csv", "second.csv", "--random"]);
    assert!(second.status.success(), "{}", text(&second.stderr));
    assert_eq!(text(&first.stdout), text(&second.stdout));
    let csv = |name| fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(csv("first.csv"), csv("second.csv"));
    assert_eq!(csv("first.csv").lines().next().unwrap().split(',').count(), 2 + 2 * 30);

    let other = explore_tokens("23", &[]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("name another file"), "{}", text(&other.stderr));
}
