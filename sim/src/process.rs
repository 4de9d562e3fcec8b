//! The one place in the workspace that starts processes.
//!
//! A [`Tool`] is an external program with its arguments, working folder, environment, standard input and time limit.
//! Running it captures both output streams. A program that is not installed is the typed error [`ToolMissing`], which
//! names the Debian package that provides it, so that every caller reports it alike.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A program that a step needs is not installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{tool}` is not installed or not on PATH: install the Debian package `{package}`")]
pub struct ToolMissing {
    /// Program name as it was looked up.
    pub tool: String,
    /// Debian package that provides it.
    pub package: String,
}

impl ToolMissing {
    /// The error for `tool`, with its package filled in.
    pub fn new(tool: &str) -> Self {
        Self { tool: tool.to_owned(), package: package_of(tool).to_owned() }
    }
}

/// Why a program gave no [`Output`].
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program is not installed.
    #[error(transparent)]
    Missing(#[from] ToolMissing),
    /// The program ran longer than its limit and was killed with all that it had started.
    #[error("`{command}` was stopped after its time limit of {limit:?}; its last output:\n{log}")]
    Timeout {
        /// Command line.
        command: String,
        /// The limit that was set.
        limit: Duration,
        /// Output up to the kill, standard output first.
        log: String,
    },
    /// The operating system refused to start it or to pass data.
    #[error("`{command}` in {}: {source}", dir.display())]
    Io {
        /// Command line.
        command: String,
        /// Working folder.
        dir: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

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
    pub fn run(&self) -> Result<Output, ProcessError> {
        let start = Instant::now();
        let mut child = self.spawn()?;
        let pipes = Pipes::start(&mut child, self.stdin.clone());
        let finished = match self.limit {
            None => true,
            Some(limit) => pipes.wait_closed(start + limit) && wait_until(&mut child, start + limit),
        };
        if !finished {
            kill_group(&mut child);
        }
        let status = child.wait().map_err(|e| self.io_error(e))?;
        let (stdout, stderr) = pipes.join();
        if !finished {
            let log = join_logs(&stdout, &stderr);
            return Err(ProcessError::Timeout {
                command: self.command_line(),
                limit: self.limit.unwrap_or_default(),
                log,
            });
        }
        Ok(Output { code: status.code(), stdout, stderr, elapsed: start.elapsed() })
    }

    fn spawn(&self) -> Result<Child, ProcessError> {
        if let Some(dir) = &self.dir
            && !dir.is_dir()
        {
            return Err(self.io_error(io::Error::new(io::ErrorKind::NotFound, "working folder does not exist")));
        }
        #[expect(clippy::disallowed_methods, reason = "this module is the one place that starts processes")]
        let mut command = Command::new(&self.program);
        command.args(&self.args).envs(self.env.iter().map(|(k, v)| (k, v)));
        command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        // A group of its own lets a time limit reach grandchildren (g++ under make). Without a limit the child stays in
        // our group, so that Ctrl-C in a terminal stops it with us.
        if self.limit.is_some() {
            command.process_group(0);
        }
        command.spawn().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => ToolMissing::new(&self.program).into(),
            _ => self.io_error(e),
        })
    }

    fn io_error(&self, source: io::Error) -> ProcessError {
        let dir = self.dir.clone().unwrap_or_else(|| Path::new(".").to_owned());
        ProcessError::Io { command: self.command_line(), dir, source }
    }
}

/// What a finished program left.
#[derive(Clone, Debug)]
pub struct Output {
    /// Exit code; `None` when a signal ended it.
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

/// Debian package that provides `tool`; the tool's own name when it is not one of ours.
pub fn package_of(tool: &str) -> &str {
    let name = Path::new(tool).file_name().and_then(OsStr::to_str).unwrap_or(tool);
    match name {
        "verilator" | "verilator_coverage" => "verilator",
        "yosys" | "yosys-smtbmc" | "yosys-abc" | "yosys-config" => "yosys",
        "iverilog" | "vvp" => "iverilog",
        "sta" => "opensta",
        "ar" | "ld" => "binutils",
        "srun" | "sbatch" | "squeue" | "scontrol" => "slurm-client",
        _ => name,
    }
}

fn join_logs(stdout: &str, stderr: &str) -> String {
    let parts: Vec<&str> = [stdout.trim(), stderr.trim()].into_iter().filter(|s| !s.is_empty()).collect();
    parts.join("\n")
}

/// Threads that move data through a child's pipes, so that neither side blocks on a full pipe.
struct Pipes {
    stdout: std::thread::JoinHandle<Vec<u8>>,
    stderr: std::thread::JoinHandle<Vec<u8>>,
    closed: mpsc::Receiver<()>,
}

impl Pipes {
    fn start(child: &mut Child, input: Option<Vec<u8>>) -> Self {
        let (sender, closed) = mpsc::channel();
        if let (Some(mut pipe), Some(data)) = (child.stdin.take(), input) {
            // A program that ends without reading its input closes the pipe; that is its right, not an error.
            std::thread::spawn(move || drop(pipe.write_all(&data)));
        }
        let stdout = drain(child.stdout.take(), sender.clone());
        let stderr = drain(child.stderr.take(), sender);
        Self { stdout, stderr, closed }
    }

    fn wait_closed(&self, deadline: Instant) -> bool {
        (0..2).all(|_| self.closed.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok())
    }

    fn join(self) -> (String, String) {
        let text =
            |bytes: std::thread::Result<Vec<u8>>| String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        (text(self.stdout.join()), text(self.stderr.join()))
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>, done: mpsc::Sender<()>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A read error ends the capture; what came before it is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = done.send(());
        bytes
    })
}

fn wait_until(child: &mut Child, deadline: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(_)) | Err(_) => return true,
            Ok(None) if Instant::now() >= deadline => return false,
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn kill_group(child: &mut Child) {
    if let Ok(id) = i32::try_from(child.id())
        && let Some(group) = rustix::process::Pid::from_raw(id)
    {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
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
