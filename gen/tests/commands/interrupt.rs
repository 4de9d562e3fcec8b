//! A sweep that is interrupted: its message, and the results that it leaves.

use std::fs;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::support::{in_folder, program, sweep_command};
use sim::process::{Output, Tool};
use tempfile::TempDir;

const SWEEP: &str =
    "block = 'mac_mesh'\nstages = ['synth']\n[fixed]\ncolumns = 1\noperand_width = 3\n[axes]\nrows = [1, 2, 3]\n";

/// A sweep whose first point takes a moment and whose second takes for ever.
struct Running {
    folder: TempDir,
    sweep: JoinHandle<Output>,
}

impl Running {
    fn start() -> Self {
        let folder = in_folder(&[("s.toml", SWEEP)]);
        let path = |name: &str| folder.path().join(name);
        // The second point says that it is there, by its number, and waits.
        let yosys = Tool::new("which").arg("yosys").run().unwrap().stdout.trim().to_owned();
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *-V*) exec {yosys} \"$@\" ;; esac\nif grep -q r2_c1 *.v; then echo $$ >'{}.new'; \
             mv '{0}.new' '{0}'; exec sleep 100; fi\nexec {yosys} \"$@\"\n",
            path("waits").display()
        );
        program(&path("bin/yosys"), &script);
        let search = format!("{}:{}", path("bin").display(), std::env::var("PATH").unwrap());
        let sweep = sweep_command(&path("s.toml"), &path("out"), &path("store"), &["--jobs", "1"]);
        let script =
            format!("{} & echo $! >'{}'; wait $!; echo code $?", sweep.command_line(), path("sweep").display());
        let sweep = Tool::new("sh").args(["-c", &script]).env("PATH", search);
        let running = Self { sweep: std::thread::spawn(move || sweep.run().unwrap()), folder };
        let start = Instant::now();
        while !running.path("waits").exists() {
            assert!(start.elapsed() < Duration::from_secs(60), "the second point does not begin");
            assert!(!running.sweep.is_finished(), "{}", running.sweep.join().unwrap().log());
            std::thread::sleep(Duration::from_millis(20));
        }
        running
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn number(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap().trim().to_owned()
    }

    /// Sends a signal to the sweep, to nothing that it started.
    fn signal(&self, name: &str) {
        assert!(Tool::new("kill").args(["-s", name, &self.number("sweep")]).run().unwrap().success());
    }
}

#[test]
fn an_interrupted_sweep_says_how_far_it_came() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let running = Running::start();
        running.signal(signal);
        let waiting = running.number("waits");
        let Running { folder, sweep } = running;
        let output = sweep.join().unwrap();
        assert_eq!(output.stdout, format!("code {code}\n"), "{}", output.log());
        let said = "s: interrupted, 1 of 3 points done; run again to go on\n";
        assert!(output.stderr.ends_with(said), "{}", output.stderr);
        assert!(!folder.path().join("out").exists());
        gone(&folder, &waiting);
    }
}

/// However a sweep dies, its points and their processes die with it. The next run has the machine for itself, and does
/// the missing points.
#[test]
fn a_killed_sweep_leaves_no_point_behind() {
    let running = Running::start();
    running.signal("KILL");
    let waiting = running.number("waits");
    let Running { folder, sweep } = running;
    assert_eq!(sweep.join().unwrap().stdout, "code 137\n");
    gone(&folder, &waiting);
    let [sweep, out, store] = ["s.toml", "out", "store"].map(|name| folder.path().join(name));
    let again = sweep_command(&sweep, &out, &store, &[]).run().unwrap();
    assert!(again.success() && again.stdout.starts_with("s: 3 points, 3 passed\n"), "{}", again.log());
}

/// Waits until the process `number` is no more, nor any point of the sweep in `folder`.
fn gone(folder: &TempDir, number: &str) {
    let start = Instant::now();
    let store = folder.path().join("store").display().to_string();
    loop {
        // A process that has ended, but that nobody has asked for its exit code, has no command line.
        let commands = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
            let words = fs::read(entry.path().join("cmdline")).ok().filter(|words| !words.is_empty())?;
            Some((entry.file_name(), String::from_utf8_lossy(&words).replace('\0', " ")))
        });
        let left: Vec<_> = commands.filter(|(n, words)| n == number || words.contains(&store)).collect();
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "still there: {left:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
