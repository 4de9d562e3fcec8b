//! The Python package: built, installed, tested, and its notebook executed.

use std::path::{Path, PathBuf};

use sim::process::Tool;
use test_tag::tag;

/// Runs a program of the environment that `scripts/setup full` makes.
fn run(program: &str, args: &[&str], folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let path = root.join("target/notebook/bin").join(program);
    assert!(path.is_file(), "{} is missing: `./scripts/setup full` makes it", path.display());
    // pip finds maturin there.
    let words = std::env::var_os("PATH").unwrap_or_default();
    let all = [root.join("target/notebook/bin")].into_iter().chain(std::env::split_paths(&words));
    let environment: [(&str, PathBuf); 3] = [
        ("CARGO_TARGET_DIR", root.join("target/python-package")),
        ("MPLCONFIGDIR", root.join("target/notebook")),
        ("PATH", std::env::join_paths(all).unwrap().into()),
    ];
    let mut tool = Tool::new(path.to_str().unwrap()).args(args).dir(folder);
    for (name, value) in environment {
        tool = tool.env(name, value);
    }
    let done = tool.run().unwrap();
    assert!(done.success(), "{program} {args:?}: {}", done.log());
}

#[tag(full)]
#[test]
#[ignore = "compiles the toolkit once more"]
fn the_package_works_and_its_notebook_runs() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let build = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--force-reinstall"];
    // The profile of the tests compiles in a third of the time.
    run("pip", &[&build[..], &["--config-settings=build-args=--locked --profile dev", "."]].concat(), &package);
    run("python", &["-m", "unittest", "discover", "-s", "tests"], &package);
    let execute = "import nbclient, nbformat; \
        nbclient.NotebookClient(nbformat.read('tables.ipynb', as_version=4), timeout=3600).execute()";
    run("python", &["-c", execute], &package.join("notebooks"));
}
