//! The one place in the workspace that starts processes.
//!
//! A [`Tool`] is an external program with its arguments, working folder, environment, standard input and time limit.
//! Running it captures both output streams. A program that is not installed gives the error [`ToolMissing`], which
//! names the Debian package that provides it. So every caller reports it alike.

mod direct;
mod error;
mod guard;
mod pipes;

pub use error::{Death, ProcessError, ToolMissing, package_of};

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::files;
use guard::Guarded;
use pipes::Pipes;

/// An external program, ready to run. Build it with the chained methods, then call [`Tool::run`].
#[derive(Clone, Debug)]
pub struct Tool {
    program: String,
    args: Vec<OsString>,
    dir: Option<PathBuf>,
    env: Vec<(String, OsString)>,
    stdin: Option<Vec<u8>>,
    limit: Option<Duration>,
}

impl Tool {
    /// A program found on PATH (or given as a path), with no arguments yet.
    pub fn new(program: impl Into<String>) -> Self {
        Self { program: program.into(), args: Vec::new(), dir: None, env: Vec::new(), stdin: None, limit: None }
    }

    /// Appends one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Appends several arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Runs in `dir` instead of the current folder.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Sets one environment variable; the rest is inherited.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Feeds `data` to standard input, which is otherwise empty.
    #[must_use]
    pub fn stdin(mut self, data: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(data.into());
        self
    }

    /// Kills the program and everything it started after `limit`.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The command line, for messages.
    pub fn command_line(&self) -> String {
        let mut text = self.program.clone();
        for arg in &self.args {
            text.push(' ');
            text.push_str(&arg.to_string_lossy());
        }
        text
    }

    /// Runs to the end and captures the output. A non-zero exit status is not an error here: see [`Output::success`].
    ///
    /// # Errors
    /// [`ProcessError::Died`] when a signal ended the program. Also when its output says that it stopped for lack of
    /// memory or disk, or because a program that it started died. There is no verdict then.
    pub fn run(&self) -> Result<Output, ProcessError> {
        let start = Instant::now();
        // Temporary files of a killed program go away with our temporary folder.
        let scratch = files::scratch().map_err(|e| self.io_error(e))?;
        let mut child = self.spawn(scratch.path())?;
        let pipes = Pipes::start(&mut child.0, self.stdin.clone());
        let finished = match self.limit {
            None => true,
            Some(limit) => pipes.wait_closed(start + limit) && wait_until(&mut child, start + limit),
        };
        if !finished {
            child.kill();
        }
        let status = child.0.wait().map_err(|e| self.io_error(e))?;
        let (stdout, stderr) = pipes.join();
        let (command, log) = (|| self.command_line(), || join_logs(&stdout, &stderr));
        if !finished {
            let limit = self.limit.unwrap_or_default();
            return Err(ProcessError::Timeout { command: command(), limit, log: log() });
        }
        let death = match (status.signal(), status.code()) {
            (Some(signal), _) => Some(Death::Signal(signal)),
            (None, Some(code)) if code != 0 => Death::of(code, &log()),
            _ => None,
        };
        if let Some(death) = death {
            return Err(ProcessError::Died { command: command(), death, log: log() });
        }
        Ok(Output { code: status.code(), stdout, stderr, elapsed: start.elapsed() })
    }

    fn spawn(&self, scratch: &Path) -> Result<Guarded, ProcessError> {
        if let Some(dir) = &self.dir
            && !dir.is_dir()
        {
            return Err(self.io_error(io::Error::new(io::ErrorKind::NotFound, "working folder does not exist")));
        }
        let direct = (self.program == "verilator").then(|| direct::verilator(&self.env)).flatten();
        #[expect(clippy::disallowed_methods, reason = "this module is the one place that starts processes")]
        let mut command = Command::new(if direct.is_some() { "/bin/sh" } else { &self.program });
        if let Some(program) = direct {
            command.args(direct::START).arg(program);
        }
        command.env("TMPDIR", scratch);
        command.args(&self.args).envs(self.env.iter().map(|(k, v)| (k, v)));
        command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        Guarded::spawn(command).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => ToolMissing::new(&self.program).into(),
            _ => self.io_error(e),
        })
    }

    fn io_error(&self, source: io::Error) -> ProcessError {
        let dir = self.dir.clone().unwrap_or_else(|| Path::new(".").to_owned());
        ProcessError::Io { command: self.command_line(), dir, source }
    }
}

/// The result of a finished program.
#[derive(Clone, Debug)]
pub struct Output {
    /// Exit code. It always exists: for a program that a signal ended there is [`ProcessError::Died`].
    pub code: Option<i32>,
    /// Standard output; invalid UTF-8 replaced.
    pub stdout: String,
    /// Standard error; invalid UTF-8 replaced.
    pub stderr: String,
    /// Wall time from start to end.
    pub elapsed: Duration,
}

impl Output {
    /// Exit code zero.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// Standard output, then standard error, without surrounding blank lines.
    pub fn log(&self) -> String {
        join_logs(&self.stdout, &self.stderr)
    }
}

fn join_logs(stdout: &str, stderr: &str) -> String {
    let parts: Vec<&str> = [stdout.trim(), stderr.trim()].into_iter().filter(|s| !s.is_empty()).collect();
    parts.join("\n")
}

fn wait_until(child: &mut Guarded, deadline: Instant) -> bool {
    loop {
        match child.0.try_wait() {
            Ok(Some(_)) | Err(_) => return true,
            Ok(None) if Instant::now() >= deadline => return false,
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Nanoseconds that this thread has run, without the time in which others had its processor; 0 if the system does not
/// say.
#[must_use]
pub fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_both_streams_input_and_status() {
        let out = Tool::new("sh").args(["-c", "cat; echo bad >&2; exit 3"]).stdin("in").run().unwrap();
        assert_eq!((out.code, out.stdout.as_str(), out.stderr.as_str()), (Some(3), "in", "bad\n"));
        assert_eq!(out.log(), "in\nbad");
    }

    #[test]
    fn large_output_and_unread_input_do_not_block() {
        let out = Tool::new("sh").args(["-c", "head -c 300000 /dev/zero"]).stdin(vec![b'x'; 300_000]).run().unwrap();
        assert_eq!(out.stdout.len(), 300_000);
    }

    #[test]
    fn missing_tool_names_its_package() {
        let error = Tool::new("yosys-smtbmc").env("PATH", "").run().unwrap_err();
        let ProcessError::Missing(missing) = error else { panic!("{error}") };
        assert_eq!(missing, ToolMissing { tool: "yosys-smtbmc".into(), package: "yosys".into() });
    }

    #[test]
    fn missing_folder_is_not_a_missing_tool() {
        let error = Tool::new("sh").dir("no/such/folder").run().unwrap_err();
        assert!(matches!(error, ProcessError::Io { .. }), "{error}");
    }

    #[test]
    fn time_limit_kills_grandchildren_too() {
        let start = Instant::now();
        let script = "echo begun; sleep 30 & wait";
        let error = Tool::new("sh").args(["-c", script]).timeout(Duration::from_millis(200)).run().unwrap_err();
        // The grandchild holds the output pipe: had it survived, the capture would last the full 30 s.
        assert!(start.elapsed() < Duration::from_secs(10));
        let ProcessError::Timeout { log, .. } = error else { panic!("{error}") };
        assert_eq!(log, "begun");
    }
}
