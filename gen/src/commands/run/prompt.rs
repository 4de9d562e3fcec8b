//! Texts to go on with.

use lower::needs::{Asked, Room};
use models::decoder::{Config, Tokenizer};

use crate::error::{Failure, Result};

/// A text to go on with.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Prompt {
    pub text: String,
    pub tokens: Vec<u32>,
}

/// Texts that are not empty.
pub(in crate::commands) fn texts<'a>(all: impl IntoIterator<Item = &'a String>) -> Result<Vec<&'a String>> {
    let all: Vec<&String> = all.into_iter().collect();
    if all.iter().any(|text| text.is_empty()) {
        return Err(Failure::Usage("the prompt is empty; give the text to go on with".into()));
    }
    Ok(all)
}

impl Prompt {
    /// The tokens of a text, which is not empty.
    pub fn new(text: &str, tokenizer: &Tokenizer) -> Result<Self> {
        let tokens = tokenizer.prompt(text).map_err(|e| Failure::Usage(format!("the prompt: {e:#}")))?;
        if tokens.is_empty() {
            return Err(Failure::Usage(format!("the prompt {text:?} has no token; give another text")));
        }
        Ok(Self { text: text.to_owned(), tokens })
    }
}

pub(super) fn longest(prompts: &[Prompt]) -> usize {
    prompts.iter().map(|prompt| prompt.tokens.len()).max().unwrap_or_default()
}

/// What is asked of an accelerator.
pub(super) fn asked<'a>(config: &'a Config, room: Room, prompts: &[Prompt]) -> Asked<'a> {
    Asked { config, room, prompt: longest(prompts) }
}
