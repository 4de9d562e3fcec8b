//! `senbazuru explore` on the real model.

use std::fs;
use test_tag::tag;

use crate::support::senbazuru;

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
