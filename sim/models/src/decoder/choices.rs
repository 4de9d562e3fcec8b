//! Multiple choice by likelihood: of several ways to go on after a text, which one does a model find most likely?
//!
//! ```
//! use models::decoder::choices::Question;
//!
//! let line = r#"{"context": "Water is", "choices": [" wet", " dry"], "answer": 0}"#;
//! let question = Question::of_line(line)?;
//! assert_eq!((question.choices.len(), question.answer), (2, 0));
//! # Ok::<(), anyhow::Error>(())
//! ```

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::arithmetic::Arithmetic;
use super::model::Model;
use super::perplexity::Window;
use super::tokenizer::Tokenizer;

/// A text, ways to go on, and the right one.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What the model reads first.
    pub context: String,
    /// What may follow, two or more, each with its own space at the beginning.
    pub choices: Vec<String>,
    /// The number of the right one, from 0.
    pub answer: usize,
}

/// How likely a choice is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likelihood {
    /// Sum of the surprises of its tokens, in nats: `-ln p(choice | context)`.
    pub surprise: f64,
    /// Its tokens.
    pub tokens: usize,
    /// Its bytes.
    pub bytes: usize,
}

impl Question {
    /// A line of a file: an object with `context`, `choices` and `answer`.
    ///
    /// # Errors
    /// The line is no such object, there are fewer than two choices, one is empty, or the answer is none of them.
    pub fn of_line(line: &str) -> Result<Self> {
        let question: Self = serde_json::from_str(line)?;
        let count = question.choices.len();
        ensure!(count > 1, "wanted are two choices or more, found: {count}");
        let empty = question.choices.iter().position(String::is_empty);
        ensure!(empty.is_none(), "choice {} is empty", empty.unwrap_or_default());
        ensure!(question.answer < count, "the answer is choice {}; there are {count}, from 0", question.answer);
        Ok(question)
    }

    /// All questions of a file, a line each; empty lines are left out.
    ///
    /// # Errors
    /// The file cannot be read, has no question, or a line is none: the message has its number.
    pub fn read(path: &Path) -> Result<Vec<Self>> {
        let place = || path.display().to_string();
        let bytes = sim::files::read_regular(path).with_context(place)?;
        let text = String::from_utf8(bytes).with_context(place)?;
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let of = |(number, line)| Self::of_line(line).with_context(|| format!("{}: line {number}", place()));
        let questions = lines.map(of).collect::<Result<Vec<_>>>()?;
        ensure!(!questions.is_empty(), "{}: no questions", place());
        Ok(questions)
    }

    /// The text of each choice: its tokens after those of the context. White space at the end of the context belongs to
    /// the choice, as words begin with it.
    ///
    /// # Errors
    /// A text has no tokens, or the errors of [`Tokenizer::encode`].
    pub fn texts(&self, tokenizer: &Tokenizer) -> Result<Vec<ChoiceText>> {
        let context = self.context.trim_end();
        let before = tokenizer.prompt(context)?.len();
        ensure!(before > 0, "the context has no tokens, and the model none to begin with");
        let of = |choice: &String| -> Result<ChoiceText> {
            let tail = format!("{}{choice}", &self.context[context.len()..]);
            let tokens = tokenizer.prompt(&format!("{context}{tail}"))?;
            ensure!(tokens.len() > before, "{choice:?} has no tokens of its own after {context:?}");
            Ok(ChoiceText { scored: tokens.len() - before, tokens, bytes: choice.len() })
        };
        self.choices.iter().map(of).collect()
    }

    /// How likely each choice is after the context.
    ///
    /// # Errors
    /// The errors of [`Question::texts`] and [`Model::forward`].
    pub fn likelihoods(
        &self,
        (model, tokenizer): (&Model, &Tokenizer),
        arithmetic: &mut dyn Arithmetic,
    ) -> Result<Vec<Likelihood>> {
        let mut of = |text: ChoiceText| -> Result<Likelihood> {
            let window = Window { tokens: 0..text.tokens.len(), scored: text.scored };
            Ok(text.likelihood(&window.surprises(model, &text.tokens, arithmetic)?))
        };
        self.texts(tokenizer)?.into_iter().map(&mut of).collect()
    }
}

/// A choice after its context, in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceText {
    /// Tokens of context and choice.
    pub tokens: Vec<u32>,
    /// Its last tokens, which are the choice.
    pub scored: usize,
    /// Bytes of the choice.
    pub bytes: usize,
}

impl ChoiceText {
    /// How likely it is, from the surprises of its last tokens.
    #[must_use]
    pub fn likelihood(&self, surprises: &[f64]) -> Likelihood {
        Likelihood { surprise: surprises.iter().sum(), tokens: surprises.len(), bytes: self.bytes }
    }
}

/// The choice that is most likely; with `by_byte` for its length. Of equal ones the first.
#[must_use]
pub fn best(choices: &[Likelihood], by_byte: bool) -> Option<usize> {
    let cost = |choice: &Likelihood| if by_byte { choice.surprise / choice.bytes as f64 } else { choice.surprise };
    choices.iter().map(cost).enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_refused() {
        let cases = [
            ("{", "EOF"),
            (r#"{"context": "a", "choices": ["b"], "answer": 0}"#, "wanted are two choices or more, found: 1"),
            (r#"{"context": "a", "choices": ["b", ""], "answer": 0}"#, "choice 1 is empty"),
            (r#"{"context": "a", "choices": ["b", "c"], "answer": 2}"#, "the answer is choice 2; there are 2, from 0"),
            (r#"{"context": "a", "choices": ["b", "c"], "answer": -1}"#, "invalid value"),
            (r#"{"context": "a", "choices": ["b", "c"]}"#, "missing field `answer`"),
            (r#"{"context": "a", "choices": ["b", "c"], "answer": 0, "odd": 1}"#, "unknown field `odd`"),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        let good = r#"{"context": "a", "choices": ["b", "c"], "answer": 1}"#;
        for (line, part) in cases {
            std::fs::write(&path, format!("{good}\n\n{line}\n")).unwrap();
            let error = format!("{:#}", Question::read(&path).unwrap_err());
            assert!(error.contains(part) && error.contains("x.jsonl: line 3"), "wanted: {part}\nfound: {error}");
        }
        std::fs::write(&path, format!("{good}\n\n{good}")).unwrap();
        assert_eq!(Question::read(&path).unwrap().len(), 2);
        std::fs::write(&path, format!("\u{feff}{good}\n")).unwrap();
        assert_eq!(Question::read(&path).unwrap().len(), 1);
        std::fs::write(&path, "\n").unwrap();
        assert!(Question::read(&path).unwrap_err().to_string().contains("x.jsonl: no questions"));
    }

    #[test]
    fn the_best_by_sum_and_by_byte() {
        let of = |surprise, bytes| Likelihood { surprise, tokens: 1, bytes };
        let choices = [of(3.0, 3), of(2.0, 1), of(2.0, 1)];
        assert_eq!((best(&choices, false), best(&choices, true), best(&[], true)), (Some(1), Some(0), None));
    }
}
