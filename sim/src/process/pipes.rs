//! Threads that move data through a child's pipes, so that neither side blocks on a full pipe.

use std::io::{Read, Write};
use std::process::Child;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Instant;

pub(super) struct Pipes {
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
    closed: mpsc::Receiver<()>,
}

impl Pipes {
    pub fn start(child: &mut Child, input: Option<Vec<u8>>) -> Self {
        let (sender, closed) = mpsc::channel();
        if let (Some(mut pipe), Some(data)) = (child.stdin.take(), input) {
            // A program may end without reading its input, and then closes the pipe. This is not an error.
            std::thread::spawn(move || drop(pipe.write_all(&data)));
        }
        let stdout = drain(child.stdout.take(), sender.clone());
        let stderr = drain(child.stderr.take(), sender);
        Self { stdout, stderr, closed }
    }

    pub fn wait_closed(&self, deadline: Instant) -> bool {
        (0..2).all(|_| self.closed.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok())
    }

    pub fn join(self) -> (String, String) {
        let text =
            |bytes: std::thread::Result<Vec<u8>>| String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        (text(self.stdout.join()), text(self.stderr.join()))
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>, done: mpsc::Sender<()>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A read error ends the capture. The output before it is still shown.
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = done.send(());
        bytes
    })
}
