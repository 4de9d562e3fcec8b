//! A sign of life on standard error for what takes long; nothing at all when that is no terminal.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that appears after two seconds and goes away when it is dropped.
pub struct Progress {
    bar: ProgressBar,
    shown: Option<(Sender<()>, std::thread::JoinHandle<()>)>,
}

impl Progress {
    /// A spinner with a message, or with `steps` above one a bar.
    #[must_use]
    pub fn new(steps: usize, message: impl Into<String>) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::hidden());
        let template = if steps > 1 {
            "{spinner} {pos}/{len} [{wide_bar}] {elapsed}, {eta} left {msg}"
        } else {
            "{spinner} {elapsed} {msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(message.into());
        let (done, finished) = channel();
        let shown = bar.clone();
        let thread = std::thread::spawn(move || {
            // The channel closes when the work ends before the line is worth showing.
            if finished.recv_timeout(Duration::from_secs(2)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(120));
            }
        });
        Self { bar, shown: Some((done, thread)) }
    }

    /// What is being done now.
    pub fn message(&self, text: impl Into<String>) {
        self.bar.set_message(text.into());
    }

    /// A line that stays, above the moving one.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    /// Counts the steps that are done, for those who outlive the line.
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
