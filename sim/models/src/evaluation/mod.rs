//! Perplexity of a text and multiple choice, scheme by scheme: what `senbazuru eval` computes. Passages are read side
//! by side, and each result is kept at once, so a stopped evaluation goes on.

mod store;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use anyhow::{Context, Result, ensure};

pub use store::Store;

use crate::WrongRequest;
use crate::decoder::choices::{ChoiceText, Likelihood, Question, best};
use crate::decoder::perplexity::{Windows, perplexity};
use crate::decoder::{Model, Tokenizer};
use crate::schemes::{Found, Passage, Reader, Tally};

/// What is read: the same passages for every scheme.
#[derive(Clone, Debug, Default)]
pub struct Material {
    passages: Vec<Owned>,
    /// Passages of the text; the others are choices.
    of_text: usize,
    /// Choices of each question, and which is right.
    questions: Vec<(Vec<ChoiceText>, usize)>,
}

#[derive(Clone, Debug)]
struct Owned {
    tokens: Vec<u32>,
    scored: usize,
    prompt: usize,
}

impl Material {
    /// A text in windows. So many tokens of a window count as its prompt, or half of them, for schemes that treat a
    /// prompt in another way.
    ///
    /// # Errors
    /// There are fewer than two tokens.
    pub fn add_text(&mut self, tokens: &[u32], windows: Windows, prompt: Option<usize>) -> Result<()> {
        ensure!(self.passages.is_empty(), "there is a text already");
        for window in windows.of(tokens.len())? {
            let tokens = tokens[window.tokens].to_vec();
            let prompt = prompt.map_or(tokens.len() / 2, |prompt| prompt.min(tokens.len()));
            self.passages.push(Owned { scored: window.scored, prompt, tokens });
        }
        self.of_text = self.passages.len();
        Ok(())
    }

    /// Questions. The context is the prompt.
    ///
    /// # Errors
    /// The errors of [`Question::texts`]; or a text is longer than the model's context.
    pub fn add_questions(&mut self, questions: &[Question], (model, tokenizer): (&Model, &Tokenizer)) -> Result<()> {
        let most = model.config().context;
        for (number, question) in (1..).zip(questions) {
            let place = || format!("question {number}");
            let texts = question.texts(tokenizer).with_context(place)?;
            for text in &texts {
                let (length, prompt) = (text.tokens.len(), text.tokens.len() - text.scored);
                ensure!(length <= most, "{}: a text of {length} tokens; the model's context is {most}", place());
                self.passages.push(Owned { tokens: text.tokens.clone(), scored: text.scored, prompt });
            }
            self.questions.push((texts, question.answer));
        }
        Ok(())
    }

    /// Passages: windows of the text, then choices of all questions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.passages.len()
    }

    /// Whether there is nothing to read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.passages.is_empty()
    }

    /// Windows of the text, and tokens of the text that count.
    #[must_use]
    pub fn text(&self) -> [usize; 2] {
        let of_text = &self.passages[..self.of_text];
        [of_text.len(), of_text.iter().map(|passage| passage.scored).sum()]
    }

    /// Tokens of the longest passage.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.passages.iter().map(|passage| passage.tokens.len()).max().unwrap_or(0)
    }

    /// Tokens of the longest prompt.
    #[must_use]
    pub fn longest_prompt(&self) -> usize {
        self.passages.iter().map(|passage| passage.prompt).max().unwrap_or_default()
    }

    /// A name of all passages: it differs where a token does.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for passage in &self.passages {
            for number in [passage.scored, passage.prompt, passage.tokens.len()] {
                hasher.update(&(number as u64).to_le_bytes());
            }
            for token in &passage.tokens {
                hasher.update(&token.to_le_bytes());
            }
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    fn passage(&self, number: usize) -> Passage<'_> {
        let Owned { tokens, scored, prompt } = &self.passages[number];
        Passage { tokens, scored: *scored, prompt: *prompt, number }
    }
}

/// A scheme to measure.
pub struct Task<'a> {
    /// Its name in the store: the same for schemes that compute the same.
    pub key: String,
    /// Makes it ready to read. Called when its first passage is due, and not if all are known.
    pub prepare: Box<dyn Fn() -> Result<Box<dyn Reader + 'a>> + Send + Sync + 'a>,
}

/// What was measured of a scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Surprise of each token of the text that counts, in nats; empty without a text.
    pub surprises: Vec<f64>,
    /// Further figures, over all passages.
    pub tallies: Vec<Tally>,
    /// Questions that were answered right, by the likelihood of choices and by their likelihood a byte.
    pub right: [usize; 2],
    /// All questions.
    pub questions: usize,
}

impl Outcome {
    /// Perplexity of the text, if there is one.
    #[must_use]
    pub fn perplexity(&self) -> Option<f64> {
        (!self.surprises.is_empty()).then(|| perplexity(&self.surprises))
    }

    /// Half of the interval around the perplexity, as a factor of it, that has the mean surprise of nineteen of twenty
    /// texts like this one: 1.96 standard errors of the mean of the tokens' surprises.
    #[must_use]
    pub fn uncertainty(&self) -> f64 {
        let n = self.surprises.len() as f64;
        let mean = self.surprises.iter().sum::<f64>() / n;
        let variance = self.surprises.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        (1.96 * (variance / n).sqrt()).exp() - 1.0
    }

    fn of(material: &Material, found: &[Found]) -> Self {
        let (text, choices) = found.split_at(material.of_text);
        let mut tallies = Vec::new();
        found.iter().for_each(|found| Tally::join(&mut tallies, &found.tallies));
        let (mut right, mut choices) = ([0; 2], choices.iter());
        for (texts, answer) in &material.questions {
            let likelihoods: Vec<Likelihood> =
                texts.iter().zip(&mut choices).map(|(text, found)| text.likelihood(&found.surprises)).collect();
            for (right, by_byte) in right.iter_mut().zip([false, true]) {
                *right += usize::from(best(&likelihoods, by_byte) == Some(*answer));
            }
        }
        let surprises = text.iter().flat_map(|found| &found.surprises).copied().collect();
        Self { surprises, tallies, right, questions: material.questions.len() }
    }
}

/// How far an evaluation is.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// The scheme whose passage was read.
    pub task: usize,
    /// Tokens of this passage.
    pub tokens: usize,
}

/// A scheme in work.
struct Slot<'a> {
    reader: Mutex<Option<Arc<dyn Reader + 'a>>>,
    /// Passages that are not read yet. The last one lets the reader go.
    left: Mutex<usize>,
}

/// Reads all passages with all schemes, `threads` of them side by side. What the store has is not read again. `begin`
/// hears first how many tokens are left to read; then `done` hears of each passage.
///
/// # Errors
/// A scheme cannot be prepared or cannot read a passage, or what it finds is no surprise; a result of the store cannot be
/// one of its passage; the store cannot be written. The message names the scheme.
pub fn evaluate(
    material: &Material,
    tasks: &[Task<'_>],
    mut store: Option<&mut Store>,
    threads: NonZeroUsize,
    begin: &mut dyn FnMut(usize),
    done: &mut dyn FnMut(Done),
) -> Result<Vec<Outcome>> {
    let count = material.len();
    let mut found: Vec<Vec<Option<Found>>> = vec![vec![None; count]; tasks.len()];
    let mut queue = VecDeque::new();
    let mut left = vec![0; tasks.len()];
    for (task, of) in tasks.iter().enumerate() {
        for (passage, place) in found[task].iter_mut().enumerate() {
            match store.as_ref().and_then(|store| store.get(&of.key, passage)) {
                Some(known) => {
                    let told = || format!("the store, scheme `{}`, passage {passage}", of.key);
                    let known = known.check(material.passage(passage).scored).map(|()| known.clone());
                    *place =
                        Some(known.map_err(|e| WrongRequest(format!("{e:#}; name another file"))).with_context(told)?);
                }
                None => {
                    queue.push_back((task, passage));
                    left[task] += 1;
                }
            }
        }
    }
    begin(queue.iter().map(|&(_, passage)| material.passage(passage).tokens.len()).sum());
    let slots: Vec<Slot<'_>> =
        left.into_iter().map(|left| Slot { reader: Mutex::default(), left: Mutex::new(left) }).collect();
    let workers = threads.get().min(queue.len());
    let queue = Mutex::new(queue);
    let work = |task: usize, passage: usize| -> Result<Found> {
        let reader = slots[task].reader(&tasks[task])?;
        let passage = material.passage(passage);
        let read = reader.read(&passage)?;
        read.check(passage.scored)?;
        drop(reader);
        slots[task].finish();
        Ok(read)
    };
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..workers {
            let (sender, work, queue) = (sender.clone(), &work, &queue);
            scope.spawn(move || {
                while let Some((task, passage)) = next(queue) {
                    if sender.send((task, passage, work(task, passage))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (task, passage, read) in results {
            let read = read.with_context(|| format!("scheme `{}`, passage {passage}", tasks[task].key))?;
            if let Some(store) = &mut store {
                store.add(&tasks[task].key, passage, &read)?;
            }
            found[task][passage] = Some(read);
            done(Done { task, tokens: material.passage(passage).tokens.len() });
        }
        anyhow::Ok(())
    })?;
    let whole = |found: Vec<Option<Found>>| found.into_iter().collect::<Option<Vec<_>>>();
    let outcome = |found| Ok(Outcome::of(material, &whole(found).context("a passage was not read")?));
    found.into_iter().map(outcome).collect()
}

fn next(queue: &Mutex<VecDeque<(usize, usize)>>) -> Option<(usize, usize)> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

impl<'a> Slot<'a> {
    fn reader(&self, task: &Task<'a>) -> Result<Arc<dyn Reader + 'a>> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        match reader.as_ref() {
            Some(known) => Ok(known.clone()),
            None => {
                let new: Arc<dyn Reader + 'a> = (task.prepare)()?.into();
                *reader = Some(new.clone());
                Ok(new)
            }
        }
    }

    fn finish(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        if *left == 0 {
            *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

#[cfg(test)]
mod tests;
