//! Pages answer as they say: the chapters of the guide from the first line to the last, and the commands of other pages.

use crate::support::pages::{Reader, in_repository};
use crate::support::{in_folder, outside};
use test_tag::tag;

fn chapter(name: &str) {
    let folder = in_folder(&[]);
    let reader = Reader::of(&format!("docs/guide/{name}.md"), folder.path()).follow();
    assert!(reader.commands >= 5 && reader.files >= 2, "{} commands, {} files", reader.commands, reader.files);
}

#[test]
fn first_verilog() {
    chapter("01-first-verilog");
}

#[test]
fn simulate_and_look() {
    chapter("02-simulate-and-look");
}

const OWN_BLOCK: &str = "docs/guide/03-your-own-block.md";

/// All edits, without commands that compile the crate or read its Verilog.
#[test]
fn your_own_block_is_edited() {
    let folder = in_folder(&[]);
    let reader = Reader::of(OWN_BLOCK, folder.path()).without(&["cargo ", "grep "]).follow();
    assert!(reader.files >= 6, "{} files", reader.files);
}

#[tag(full)]
#[test]
#[ignore = "minutes: compiles the toolkit for another crate"]
fn your_own_block() {
    let folder = in_folder(&[]);
    let reader = Reader::of(OWN_BLOCK, folder.path()).env(outside()).follow();
    assert!(reader.commands >= 8, "{} commands", reader.commands);
}

#[test]
fn sweep_and_report() {
    chapter("04-sweep-and-report");
}

#[test]
fn in_your_soc() {
    chapter("05-in-your-soc");
}

/// The reader's copies of a model and of two texts are links.
#[test]
fn your_own_model() {
    let folder = in_folder(&[]);
    let copies =
        [("tests/oracle/llama-tied", "model"), ("texts/calibration.txt", "learn.txt"), ("texts/pride.txt", "text.txt")];
    for (from, to) in copies {
        std::os::unix::fs::symlink(in_repository("sim/models").join(from), folder.path().join(to)).unwrap();
    }
    let reader = Reader::of("docs/guide/06-your-own-model.md", folder.path()).follow();
    assert!(reader.commands >= 8 && reader.files >= 2, "{} commands, {} files", reader.commands, reader.files);
}

/// The reader's copy of a table of energies is a link.
#[test]
fn compare() {
    let folder = in_folder(&[]);
    let energies = in_repository("sweeps/compare/energy/kelle.toml");
    std::os::unix::fs::symlink(energies, folder.path().join("energy.toml")).unwrap();
    let reader = Reader::of("docs/guide/07-compare.md", folder.path()).follow();
    assert!(reader.commands >= 4 && reader.files >= 2, "{} commands, {} files", reader.commands, reader.files);
}

const OWN_ACCELERATOR: &str = "docs/guide/08-your-own-accelerator.md";

/// A folder with the reader's folder `guide`, next to a link in place of his clone.
fn next_to_clone() -> tempfile::TempDir {
    let home = in_folder(&[("guide/.gitignore", "")]);
    std::os::unix::fs::symlink(in_repository(""), home.path().join("senbazuru")).unwrap();
    home
}

/// All code that the page shows, without commands that compile the crate or work on its Verilog.
#[test]
fn your_own_accelerator_is_as_shown() {
    let home = next_to_clone();
    let reader = Reader::of(OWN_ACCELERATOR, &home.path().join("guide"));
    let reader = reader.without(&["cargo ", "grep ", "sed "]).follow();
    assert!(reader.commands >= 3 && reader.files >= 6, "{} commands, {} files", reader.commands, reader.files);
}

#[tag(full)]
#[test]
#[ignore = "minutes: compiles the toolkit for another crate"]
fn your_own_accelerator() {
    let home = next_to_clone();
    let reader = Reader::of(OWN_ACCELERATOR, &home.path().join("guide")).env(outside()).follow();
    assert!(reader.commands >= 9, "{} commands", reader.commands);
}

/// The page reads models and texts of the repository.
#[test]
fn calibrations() {
    let folder = in_folder(&[]);
    std::os::unix::fs::symlink(in_repository("sim"), folder.path().join("sim")).unwrap();
    let reader = Reader::of("docs/calibration.md", folder.path()).follow();
    assert_eq!(reader.commands, 2);
}

/// The commands of other pages, except commands that take hours or need more than the tools.
#[test]
fn commands_answer_as_shown() {
    let folder = in_folder(&[]);
    let pages = ["docs/commands.md", "docs/adding-a-block.md", "docs/cosim.md", "docs/rust-hdl.md", "docs/sweeps.md"];
    let readers = pages.map(|page| Reader::of(page, folder.path()).without(&["cargo ", "./scripts/"]).follow());
    let commands: usize = readers.iter().map(|reader| reader.commands).sum();
    let files: usize = readers.iter().map(|reader| reader.files).sum();
    assert!(commands >= 2 && files >= 4, "{commands} commands, {files} files");
}
