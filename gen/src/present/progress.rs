//! A sign of life on standard error for long work: a moving line in a terminal, elsewhere a line a minute.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time between two lines where nobody can see a line move.
const MINUTE: Duration = Duration::from_secs(60);

/// A line that appears after two seconds and goes away when it is dropped.
pub struct Progress {
    bar: ProgressBar,
    shown: Option<(Sender<()>, std::thread::JoinHandle<()>)>,
}

impl Progress {
    /// A spinner with a message, or with `steps` above one counted steps of it. A narrow terminal cuts the message.
    #[must_use]
    pub fn new(steps: usize, message: impl Into<String>) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::hidden());
        let template = if steps > 1 {
            "{spinner} {elapsed}, {eta} left: {pos} of {len} {wide_msg}"
        } else {
            "{spinner} {elapsed} {wide_msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(message.into());
        let (done, finished) = channel();
        let shown = bar.clone();
        let thread = std::thread::spawn(move || {
            if !std::io::stderr().is_terminal() {
                lines(&shown, &finished, MINUTE, std::io::stderr());
            } else if finished.recv_timeout(Duration::from_secs(2)) == Err(RecvTimeoutError::Timeout) {
                // The channel closes when the work ends before the line is worth showing.
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(120));
            }
        });
        Self { bar, shown: Some((done, thread)) }
    }

    /// The work that is being done now.
    pub fn message(&self, text: impl Into<String>) {
        self.bar.set_message(text.into());
    }

    /// A line that stays, above the moving one.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| crate::error::tell(text));
    }

    /// Counts the steps that are done, for threads that outlive the line.
    pub(crate) fn counter(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// One step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.shown.take() {
            drop(done);
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

/// Writes where the work is, once every `interval`, until `finished` closes.
fn lines(bar: &ProgressBar, finished: &Receiver<()>, interval: Duration, mut to: impl Write) {
    while finished.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        let (seconds, done) = (bar.elapsed().as_secs(), bar.position());
        let steps = bar.length().filter(|n| *n > 1);
        let left = steps.filter(|_| done > 0).map(|n| seconds * n.saturating_sub(done) / done);
        let left = left.map(|left| format!(", {} left", minutes(left))).unwrap_or_default();
        let steps = steps.map(|n| format!("{done} of {n} done, ")).unwrap_or_default();
        // Whoever closed standard error does not want to know.
        let _ = writeln!(to, "{steps}{}{left}: {}", minutes(seconds), bar.message());
    }
}

fn minutes(seconds: u64) -> String {
    format!("{}:{:02} min", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_every_interval_until_the_end() {
        let bar = ProgressBar::with_draw_target(Some(7), ProgressDrawTarget::hidden());
        bar.set_message("synthesising x");
        bar.inc(3);
        let (done, finished) = channel();
        /// Ends the work after the third line.
        struct Lines(Vec<u8>, Option<Sender<()>>);
        impl Write for &mut Lines {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.extend(bytes);
                if self.0.iter().filter(|b| **b == b'\n').count() == 3 {
                    self.1 = None;
                }
                Ok(bytes.len())
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut written = Lines(Vec::new(), Some(done));
        lines(&bar, &finished, Duration::from_millis(1), &mut written);
        let text = String::from_utf8(written.0).unwrap();
        assert_eq!(text, "3 of 7 done, 0:00 min, 0:00 min left: synthesising x\n".repeat(3));
    }
}
