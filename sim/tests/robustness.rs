//! Builds that are killed, raced, damaged, or lack a tool or disk. Each runs in a child process: this test binary with one
//! ignored test.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use sim::process::{Output, ProcessError, Tool};
use sim::{BuildOptions, Cache, Design, Model};
use test_tag::tag;

const PASS: &str = "module pass(input wire a_i, output wire b_o); assign b_o = a_i; endmodule";

/// Not a test of its own: what the children run. The cache comes from the environment.
#[tag(part)]
#[test]
#[ignore = "started by the other tests in a process of its own"]
fn child() {
    match Model::build(&Design::from_verilog("pass", PASS), &BuildOptions::default()) {
        Ok(model) => println!("built {}", model.library_path().display()),
        Err(error) => {
            let missing = error.tool_missing().map(|m| m.tool.as_str());
            println!("missing {missing:?}\nverdict {}\nerror {error}", error.is_verdict());
        }
    }
}

/// Not a test of its own: starts a tool that starts another, and tells both by their numbers.
#[tag(part)]
#[test]
#[ignore = "started by the other tests in a process of its own"]
fn child_with_grandchildren() {
    let file = std::env::var("NUMBERS").unwrap();
    let script = "sleep 1000 & echo $$ $! > \"$0.new\" && mv \"$0.new\" \"$0\"; wait";
    let _ = Tool::new("sh").args(["-c", script, &file]).run();
}

fn me() -> String {
    std::env::current_exe().unwrap().to_string_lossy().into_owned()
}

fn child_tool(cache: &Path) -> Tool {
    let args = ["--exact", "child::part::test", "--ignored", "--nocapture"];
    Tool::new(me()).args(args).env("SENBAZURU_CACHE", cache)
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
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

/// A program that is killed as the system kills when memory runs out.
fn victim(folder: &Path, name: &str, before: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{before}\nkill -9 $$\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn path_with(folder: &Path) -> String {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}

/// The text of the error with which a tool must die.
fn died(tool: &Tool) -> String {
    let error = tool.run().unwrap_err();
    assert!(matches!(error, ProcessError::Died { .. }), "{error}");
    let text = error.to_string();
    assert!(!sim::Error::from(error).is_verdict());
    text
}

#[test]
fn death_is_told_from_failure() {
    let sh = |script: &str| Tool::new("sh").args(["-c", script]);
    assert_eq!(sh("echo no; exit 1").run().unwrap().code, Some(1));
    let text = died(&sh("echo working; kill -9 $$"));
    assert!(text.contains("killed by signal 9 (SIGKILL)") && text.ends_with("its last output:\nworking"), "{text}");
    assert!(died(&sh("kill -SEGV $$")).contains("signal 11 (SIGSEGV)"));
    // A shell that survives its child.
    assert!(died(&sh("sh -c 'kill -9 $$'; exit $?")).contains("signal 9"));
    let text = died(&sh("cat /bin/sh > /dev/full"));
    assert!(text.contains("exit code 1") && text.contains("No space left on device"), "{text}");
}

/// What kills a tool often strikes a program that the tool started; the tool itself then ends with an ordinary code.
#[test]
fn death_of_a_tools_own_tool_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path();
    fs::write(bin.join("a.cc"), "int main() {}\n").unwrap();
    fs::write(bin.join("a.v"), "module a(input wire a_i, b_i, output wire c_o); assign c_o = a_i & b_i; endmodule\n")
        .unwrap();
    for name in ["cc1plus", "verilator_bin", "yosys-abc", "berkeley-abc"] {
        victim(bin, name, "");
    }
    // The solver takes its orders first.
    victim(bin, "z3", "read a; read b; read c");

    let compiler = Tool::new("g++").args(["-c", "a.cc"]).dir(bin).env("COMPILER_PATH", bin);
    assert!(died(&compiler).contains("Killed signal terminated program cc1plus"));
    let verilator = Tool::new("verilator").args(["--lint-only", "a.v"]).dir(bin);
    assert!(died(&verilator.env("VERILATOR_BIN", bin.join("verilator_bin"))).contains("Verilator threw signal 9"));
    let script = "read_verilog a.v; synth";
    let yosys = Tool::new("yosys").args(["-q", "-p", script]).dir(bin);
    assert!(died(&yosys.env("PATH", path_with(bin))).contains("return code 137"));

    let property =
        "module p(input wire clk, a); reg q; always @(posedge clk) q <= a; assert property (q | !q); endmodule\n";
    fs::write(bin.join("p.sv"), property).unwrap();
    let script = "read_verilog -formal -sv p.sv; prep; async2sync; write_smt2 -wires p.smt2";
    assert!(Tool::new("yosys").args(["-q", "-p", script]).dir(bin).run().unwrap().success());
    let solver = Tool::new("yosys-smtbmc").args(["-s", "z3", "-t", "2", "p.smt2"]).dir(bin);
    let text = died(&solver.clone().env("PATH", path_with(bin)));
    // Which one is a matter of moments.
    let signs = ["BrokenPipeError", "Unexpected EOF", "assert self.p_running"];
    assert!(signs.iter().any(|sign| text.contains(sign)), "{text}");
    assert!(solver.run().unwrap().success());
}

/// A cache with Verilator's runtime in it, which takes most of the time of a first build, and with no model.
fn warm_cache() -> tempfile::TempDir {
    static WARM: OnceLock<tempfile::TempDir> = OnceLock::new();
    let warm = WARM.get_or_init(|| {
        let cache = tempfile::tempdir().unwrap();
        build_in(cache.path());
        cache
    });
    let cache = tempfile::tempdir().unwrap();
    let copy = Tool::new("cp").arg("-r").args([warm.path().join("runtime"), cache.path().into()]).run().unwrap();
    assert!(copy.success(), "{}", copy.log());
    cache
}

fn build_in(cache: &Path) -> Model {
    let options = BuildOptions { cache: Cache::At(cache.into()), ..BuildOptions::default() };
    Model::build(&Design::from_verilog("pass", PASS), &options).unwrap()
}

/// A killed compiler says nothing of the design, and the next build succeeds.
#[test]
fn killed_compiler_is_no_verdict() {
    let (cache, bin) = (warm_cache(), tempfile::tempdir().unwrap());
    let real = Tool::new("sh").args(["-c", "command -v g++"]).run().unwrap().stdout;
    victim(bin.path(), "g++", &format!("[ $1 = --version ] && exec {} --version", real.trim()));
    let text = child_tool(cache.path()).env("PATH", path_with(bin.path())).run().unwrap().stdout;
    assert!(text.contains("verdict false") && text.contains("signal 9 (SIGKILL)"), "{text}");
    build_in(cache.path());
}

/// Writes fail as on a full disk, at different points of the build; Verilator and others do not notice at once.
#[test]
fn full_disk_is_no_verdict() {
    let cache = warm_cache();
    for blocks in [0, 1, 2, 4, 8, 16] {
        let script =
            format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" --exact child::part::test --ignored --nocapture");
        let run = Tool::new("sh").args(["-c", &script, &me()]).env("SENBAZURU_CACHE", cache.path()).run();
        let text = run.map_or_else(|e| e.to_string(), |o| o.stdout);
        assert!(text.contains("verdict false") || text.contains("File too large"), "{blocks}: {text}");
        assert_eq!(count(&cache.path().join("models")), 0);
    }
    build_in(cache.path());
}

#[test]
fn damaged_model_is_built_again() {
    let cache = warm_cache();
    let library = build_in(cache.path()).library_path().to_owned();
    let whole = fs::read(&library).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damage in [&whole[..whole.len() / 2], &[], &flipped] {
        // A new file: the old one may still be mapped.
        fs::remove_file(&library).unwrap();
        fs::write(&library, damage).unwrap();
        let text = child_tool(cache.path()).run().unwrap().stdout;
        assert!(text.contains("built "), "{text}");
        assert_eq!(fs::read(&library).unwrap(), whole);
    }
}

/// The cache may be deleted while someone builds: an error about the file, and no verdict.
#[test]
fn vanished_cache_is_no_verdict() {
    let (cache, bin) = (warm_cache(), tempfile::tempdir().unwrap());
    let real = Tool::new("sh").args(["-c", "command -v verilator"]).run().unwrap().stdout;
    let (folder, real) = (cache.path().to_owned(), real.trim().to_owned());
    let script = format!("[ $1 = --cc ] && {{ rm -rf {}; exit 0; }}\nexec {real} \"$@\"", folder.display());
    victim(bin.path(), "verilator", &script);
    let text = child_tool(&folder).env("PATH", path_with(bin.path())).run().unwrap().stdout;
    assert!(text.contains("verdict false") && text.contains("No such file"), "{text}");
    drop(build_in(&folder));
}

/// `kill -9` of a process ends what it had started, and what that had started; the next process sweeps its folders.
#[test]
fn children_die_with_their_parent_and_leave_nothing() {
    for signal in ["KILL", "TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let temporary = folder.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        let script = "
            \"$0\" --exact child_with_grandchildren::part::test --ignored --nocapture &
            parent=$!
            until [ -e \"$NUMBERS\" ]; do sleep 0.02; done
            kill -s \"$1\" $parent
            lives() { [ -e /proc/$1 ] && ! grep -q ') Z' /proc/$1/stat; }
            for _ in $(seq 200); do
                alive=0
                for number in $parent $(cat \"$NUMBERS\"); do lives $number && alive=1; done
                [ $alive = 0 ] && exit 0
                sleep 0.05
            done
            kill -9 $(cat \"$NUMBERS\")
            exit 3";
        let run = Tool::new("sh")
            .args(["-c", script, &me(), signal])
            .env("NUMBERS", folder.path().join("numbers"))
            .env("TMPDIR", &temporary)
            .run()
            .unwrap();
        assert_eq!(run.code, Some(0), "{signal}: survivors\n{}", run.log());
        assert!(count(&temporary) > 0, "{signal}: nothing was left to sweep");
        assert!(child_tool(&folder.path().join("cache")).env("TMPDIR", &temporary).run().unwrap().success());
        assert_eq!(count(&temporary), 0, "{signal}");
    }
}
