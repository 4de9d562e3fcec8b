//! Child programs end with this process, however it ends.
//!
//! A destructor does not run when a process is killed. So each program runs in a process group of its own. A small
//! shell outside of all groups, the watcher, knows the running groups. It reads from a pipe whose other end only this
//! process holds. When this process ends, for whatever reason, the watcher reads the end of the file and kills the
//! groups. It may not know yet a program that was just started. Such a program gets the system's signal at the death of
//! its parent.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal};

/// Reads `+ GROUP` and `- GROUP`. Outlives the signals that end this process.
const WATCHER: &str = r#"
trap '' HUP INT QUIT TERM
groups=' '
while read -r what group; do
  case $what in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"#;

static PIPE: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// A running program that ends with this process.
pub(super) struct Guarded(pub Child);

impl Guarded {
    /// Starts `command` in a process group of its own.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        let me = rustix::process::getpid();
        command.process_group(0);
        let tie = move || {
            // The signal comes when the *thread* that started the child ends: `Tool::run` waits on the same thread.
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            if rustix::process::getppid() == Some(me) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
        };
        // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
        unsafe { command.pre_exec(tie) };
        let child = command.spawn()?;
        tell('+', &child);
        Ok(Self(child))
    }

    /// Kills the program and all that it started.
    pub fn kill(&mut self) {
        if let Some(group) = group(&self.0) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.kill();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        tell('-', &self.0);
    }
}

fn group(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Tells the watcher, and starts one if there is none. Without a watcher the direct children still end with this
/// process.
fn tell(what: char, child: &Child) {
    let mut pipe = PIPE.lock().unwrap_or_else(PoisonError::into_inner);
    let line = format!("{what} {}\n", child.id());
    for _ in 0..2 {
        if pipe.is_none() {
            *pipe = start();
        }
        match pipe.as_mut().map(|p| p.write_all(line.as_bytes())) {
            // Someone killed the watcher.
            Some(Err(_)) => *pipe = None,
            _ => return,
        }
    }
}

fn start() -> Option<ChildStdin> {
    #[expect(clippy::disallowed_methods, reason = "this module starts processes")]
    let mut command = Command::new("/bin/sh");
    command.args(["-c", WATCHER]).current_dir("/").env_clear().process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok()?.stdin.take()
}
