//! A sweep that is interrupted: what it says, and what it leaves.

mod support;

use std::fs;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sim::process::{Output, Tool};
use support::{in_folder, program, sweep_command};

const SWEEP: &str =
    "block = 'mac_mesh'\nstages = ['synth']\n[fixed]\ncolumns = 1\noperand_width = 3\n[axes]\nrows = [1, 2, 3]\n";

/// A sweep whose first point takes a moment and whose second takes for ever.
struct Running {
    folder: tempfile::TempDir,
    sweep: JoinHandle<Output>,
}

impl Running {
    fn start() -> Self {
        let folder = in_folder(&[("s.toml", SWEEP)]);
        let path = |name: &str| folder.path().join(name);
        // The second point says that it is there, by its number, and waits.
        let yosys = Tool::new("which").arg("yosys").run().unwrap().stdout.trim().to_owned();
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *-V*) exec {yosys} \"$@\" ;; esac\nif grep -q 2x1 *.v; then echo $$ >'{}.new'; \
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
        let _ = Tool::new("kill").arg(waiting).run();
    }
}
