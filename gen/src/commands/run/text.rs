//! A text that is being written, and how it is shown.

use std::io::IsTerminal;
use std::time::Instant;

use models::decoder::Tokenizer;

use super::args::Args;
use super::failures::failed;
use super::prompt::Prompt;
use crate::error::Result;
use crate::present::numbers::{decimal, significant};
use crate::present::progress::Progress;
use crate::present::report;

/// A text in a terminal would meet the moving line: it is shown in that line, and printed at the end.
pub(super) fn to_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// The next tokens of a text, which has a number.
pub(super) type Next = (usize, Vec<u32>);

/// A language model that has read some tokens of texts.
pub(super) trait Reader {
    /// Reads more tokens of some texts and returns the likeliest next token of each. `done` hears how far it is.
    fn read(&mut self, texts: &[Next], done: &mut dyn FnMut(Part)) -> anyhow::Result<Vec<u32>>;
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
    /// The same for all prompts.
    prompts: (usize, f64),
}

impl Took {
    pub fn each(&self, amount: f64) -> f64 {
        amount / self.tokens as f64
    }

    /// By wall-clock time.
    pub fn speed(&self) -> String {
        let each = self.each(self.seconds);
        format!("{} s a token, {} tokens/s", significant(each, 2), significant(each.recip(), 3))
    }

    /// The line with the speeds of reading a prompt and of going on.
    pub fn speeds(&self) -> String {
        let (tokens, seconds) = self.prompts;
        let reads = format!("  speed       {:.1} tokens/s in a prompt", tokens as f64 / seconds);
        match self.tokens - tokens {
            0 => reads,
            others => format!("{reads}, {:.1} after it", others as f64 / (self.seconds - seconds)),
        }
    }
}

pub(super) struct Texts<'a> {
    pub args: &'a Args,
    pub tokenizer: &'a Tokenizer,
    pub prompts: &'a [Prompt],
    pub progress: &'a Progress,
    /// By text.
    written: Vec<Vec<u32>>,
}

impl<'a> Texts<'a> {
    pub fn new(args: &'a Args, tokenizer: &'a Tokenizer, prompts: &'a [Prompt], progress: &'a Progress) -> Self {
        Self { args, tokenizer, prompts, progress, written: vec![Vec::new(); prompts.len()] }
    }

    fn text(&self, number: usize) -> String {
        let written = self.tokenizer.decode_part(&self.written[number]).unwrap_or_default();
        format!("{}{written}", self.prompts[number].text)
    }

    /// All texts up to their last whole characters, an empty line between two.
    pub fn all(&self) -> String {
        let whole = |number| self.text(number).trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned();
        (0..self.prompts.len()).map(whole).collect::<Vec<_>>().join("\n\n")
    }

    /// Tokens of all prompts.
    pub fn prompted(&self) -> usize {
        self.prompts.iter().map(|prompt| prompt.tokens.len()).sum()
    }

    /// The line that says how many tokens there are.
    pub fn counted(&self) -> String {
        let written: usize = self.written.iter().map(Vec::len).sum();
        let texts = if self.prompts.len() > 1 { format!(", in {} texts", self.prompts.len()) } else { String::new() };
        format!("  tokens      {} read, {written} written{texts}", self.prompted())
    }

    /// One text is shown as it grows.
    fn is_shown(&self) -> bool {
        !to_terminal() && self.prompts.len() == 1
    }

    /// Reads the prompts and writes tokens.
    pub fn write(&mut self, on: &mut dyn Reader) -> Result<Took> {
        let start = Instant::now();
        if self.is_shown() {
            report::print(&self.prompts[0].text)?;
        }
        let (mut shown, mut read, mut prompts) = (0, 0, None);
        let mut next: Vec<Next> = self.prompts.iter().map(|prompt| prompt.tokens.clone()).enumerate().collect();
        while !next.is_empty() {
            let (progress, text) = (self.progress, self.text(next[0].0));
            let mut done = |Part { token, what, done, of, tokens }: Part| {
                let seconds = significant(start.elapsed().as_secs_f64() / (read as f64 + tokens), 2);
                let token = read + token + 1;
                progress.message(format!("token {token}, {what} {done} of {of}, {seconds} s a token: {text}"));
            };
            let found = on.read(&next, &mut done).map_err(failed)?;
            read += next.iter().map(|(_, tokens)| tokens.len()).sum::<usize>();
            prompts.get_or_insert((read, start.elapsed().as_secs_f64()));
            let mut further = Vec::new();
            for ((number, _), token) in next.iter().zip(found) {
                if self.tokenizer.is_end(token) {
                    continue;
                }
                let written = &mut self.written[*number];
                written.push(token);
                if (written.len() as u64) < self.args.tokens {
                    further.push((*number, vec![token]));
                }
            }
            shown = self.show(shown)?;
            next = further;
        }
        Ok(Took { tokens: read, seconds: start.elapsed().as_secs_f64(), prompts: prompts.unwrap_or_default() })
    }

    /// Prints the new part of the text, up to the last whole character.
    fn show(&self, shown: usize) -> Result<usize> {
        if !self.is_shown() {
            return Ok(shown);
        }
        let text = self.tokenizer.decode_part(&self.written[0]).map_err(failed)?;
        let whole = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
        report::print(whole.get(shown..).unwrap_or_default())?;
        Ok(whole.len().max(shown))
    }
}

/// A number with groups of digits.
pub(super) fn count(number: u64) -> String {
    decimal(number as f64, 0)
}
