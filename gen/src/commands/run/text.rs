//! A text that is being written, and how it is shown.

use std::io::IsTerminal;
use std::time::Instant;

use models::decoder::Tokenizer;

use super::{Args, failed};
use crate::error::Result;
use crate::present::progress::Progress;
use crate::present::report;

/// A text in a terminal would meet the moving line: it is shown in that line, and printed at the end.
pub(super) fn to_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// A language model that has read some tokens.
pub(super) trait Reader {
    /// Reads more tokens and returns the likeliest next token. `done` hears how far it is.
    fn read(&mut self, tokens: &[u32], done: &mut dyn FnMut(Part)) -> anyhow::Result<u32>;
}

/// Progress on some tokens.
pub(super) struct Part {
    /// The token at work; the last one where several pass together.
    pub token: usize,
    /// The unit of progress.
    pub what: &'static str,
    pub done: usize,
    pub of: usize,
    /// Tokens that are done by now.
    pub tokens: f64,
}

/// The cost of a text.
pub(super) struct Took {
    /// Tokens that were read.
    pub tokens: usize,
    pub seconds: f64,
}

impl Took {
    pub fn each(&self, amount: f64) -> f64 {
        amount / self.tokens as f64
    }

    /// By wall-clock time.
    pub fn speed(&self) -> String {
        let each = self.each(self.seconds);
        format!("{each:.1} s a token, {:.3} tokens/s", each.recip())
    }
}

pub(super) struct Text<'a> {
    pub args: &'a Args,
    pub tokenizer: &'a Tokenizer,
    pub prompt: &'a [u32],
    pub progress: &'a Progress,
    written: Vec<u32>,
}

impl<'a> Text<'a> {
    pub fn new(args: &'a Args, tokenizer: &'a Tokenizer, prompt: &'a [u32], progress: &'a Progress) -> Self {
        Self { args, tokenizer, prompt, progress, written: Vec::new() }
    }

    pub fn text(&self) -> String {
        let written = self.tokenizer.decode_part(&self.written).unwrap_or_default();
        format!("{}{written}", self.args.prompt)
    }

    /// The line that says how many tokens there are.
    pub fn counted(&self) -> String {
        format!("  tokens      {} read, {} written", self.prompt.len(), self.written.len())
    }

    /// Reads the prompt and writes tokens.
    pub fn write(&mut self, on: &mut dyn Reader) -> Result<Took> {
        let start = Instant::now();
        if !to_terminal() {
            report::print(&self.args.prompt)?;
        }
        let (mut shown, mut read, mut tokens) = (0, 0, self.prompt.to_vec());
        loop {
            let (progress, text) = (self.progress, self.text());
            let mut done = |Part { token, what, done, of, tokens }: Part| {
                let seconds = start.elapsed().as_secs_f64() / (read as f64 + tokens);
                let token = read + token + 1;
                progress.message(format!("token {token}, {what} {done} of {of}, {seconds:.1} s a token: {text}"));
            };
            let next = on.read(&tokens, &mut done).map_err(failed)?;
            read += tokens.len();
            if self.tokenizer.is_end(next) {
                break;
            }
            self.written.push(next);
            shown = self.show(shown)?;
            if self.written.len() as u64 == self.args.tokens {
                break;
            }
            tokens = vec![next];
        }
        Ok(Took { tokens: read, seconds: start.elapsed().as_secs_f64() })
    }

    /// Prints the new part of the text, up to the last whole character.
    fn show(&self, shown: usize) -> Result<usize> {
        if to_terminal() {
            return Ok(shown);
        }
        let text = self.tokenizer.decode_part(&self.written).map_err(failed)?;
        let whole = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
        report::print(whole.get(shown..).unwrap_or_default())?;
        Ok(whole.len().max(shown))
    }
}
