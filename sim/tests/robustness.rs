//! Builds that are killed, raced or lack a tool. Each runs in a child process: this test binary with one ignored test.

use std::path::Path;
use std::time::Duration;

use sim::process::{Output, ProcessError, Tool};
use sim::{BuildOptions, Cache, Design, Model};

const PASS: &str = "module pass(input wire a_i, output wire b_o); assign b_o = a_i; endmodule";

/// Not a test of its own: what the children run. The cache comes from the environment.
#[test]
#[ignore = "started by the other tests in a process of its own"]
fn child() {
    match Model::build(&Design::from_verilog("pass", PASS), &BuildOptions::default()) {
        Ok(model) => println!("built {}", model.library_path().display()),
        Err(error) => println!("missing {:?}\nerror {error}", error.tool_missing().map(|m| m.tool.as_str())),
    }
}

fn child_tool(cache: &Path) -> Tool {
    let me = std::env::current_exe().unwrap();
    let args = ["--exact", "child", "--ignored", "--nocapture"];
    Tool::new(me.to_string_lossy()).args(args).env("SENBAZURU_CACHE", cache)
}

fn count(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn killed_build_leaves_a_usable_cache() {
    let cache = tempfile::tempdir().unwrap();
    // A cold build compiles the runtime first, which takes several seconds; the time limit sends SIGKILL before. On a busy
    // machine the first limits may strike before the build has begun.
    let in_the_middle = [500, 1000, 2000, 4000].into_iter().any(|limit| {
        let killed = child_tool(cache.path()).timeout(Duration::from_millis(limit)).run();
        assert!(matches!(killed, Err(ProcessError::Timeout { .. })), "{killed:?}");
        count(&cache.path().join("tmp")) > 0
    });
    assert!(in_the_middle, "no kill came in the middle of a build");
    assert_eq!(count(&cache.path().join("models")), 0);

    let options = BuildOptions { cache: Cache::At(cache.path().into()), ..BuildOptions::default() };
    let model = Model::build(&Design::from_verilog("pass", PASS), &options).unwrap();
    let mut sim = model.instance().unwrap();
    let (a, b) = (sim.input("a_i").unwrap(), sim.output("b_o").unwrap());
    sim.poke_u64(a, 1);
    sim.settle().unwrap();
    assert_eq!(sim.peek_u64(b), 1);
}

#[test]
fn processes_share_one_build() {
    let cache = tempfile::tempdir().unwrap();
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let start = || scope.spawn(|| child_tool(cache.path()).run().unwrap());
        let children = [start(), start(), start()];
        children.into_iter().map(|c| c.join().unwrap()).collect()
    });
    let built = |o: &Output| o.stdout.lines().find(|l| l.contains("built ")).map(str::to_owned);
    assert!(outputs.iter().all(|o| built(o).is_some() && built(o) == built(&outputs[0])), "{outputs:?}");
    assert_eq!((count(&cache.path().join("models")), count(&cache.path().join("runtime"))), (1, 1));
    assert_eq!(count(&cache.path().join("tmp")), 0);
}

#[test]
fn missing_tools_are_named_with_their_package() {
    let cache = tempfile::tempdir().unwrap();
    let text = child_tool(cache.path()).env("PATH", "").run().unwrap().stdout;
    assert!(text.contains("missing Some(\"verilator\")"), "{text}");
    assert!(text.contains("install the Debian package `verilator`"), "{text}");

    // Verilator is there, the compiler is not.
    let bin = tempfile::tempdir().unwrap();
    let found = Tool::new("sh").args(["-c", "command -v verilator"]).run().unwrap();
    std::os::unix::fs::symlink(found.stdout.trim(), bin.path().join("verilator")).unwrap();
    let text = child_tool(cache.path()).env("PATH", bin.path()).run().unwrap().stdout;
    assert!(text.contains("missing Some(\"g++\")"), "{text}");
}
