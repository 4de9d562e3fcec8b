//! Texts to go on with.

use lower::needs::{Asked, Room};
use models::decoder::Config;

/// A text to go on with.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    pub text: String,
    pub tokens: Vec<u32>,
}

pub(super) fn longest(prompts: &[Prompt]) -> usize {
    prompts.iter().map(|prompt| prompt.tokens.len()).max().unwrap_or_default()
}

/// What is asked of an accelerator.
pub(super) fn asked<'a>(config: &'a Config, room: Room, prompts: &[Prompt]) -> Asked<'a> {
    Asked { config, room, prompt: longest(prompts) }
}
