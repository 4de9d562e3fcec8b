//! The texts for evaluation, and the text for calibration.

use anyhow::{Result, ensure};

use crate::decoder::Tokenizer;
use crate::schemes::Learning;

/// A text in tokens, cut where a new context begins.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its name.
    pub name: &'static str,
    /// Its windows. The model reads each window on its own.
    pub windows: Vec<Vec<u32>>,
}

/// The committed text: the opening of "Pride and Prejudice", whose activations are among the test data.
///
/// # Errors
/// The tokenizer finds fewer tokens than the text should have.
pub fn committed(tokenizer: &Tokenizer) -> Result<Text> {
    Ok(Text {
        name: "Pride and Prejudice",
        windows: windows(tokenizer, include_str!("../../texts/pride.txt"), 384, 384, 1)?,
    })
}

/// The name of the text of [`opening`].
pub const OPENING: &str = "pride.txt";

/// All tokens of the committed text, in the tokens of any model.
///
/// # Errors
/// A byte of the text that no token stands for.
pub fn opening(tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    tokenizer.prompt(include_str!("../../texts/pride.txt").trim_end())
}

/// A longer text: the beginning of Query 31 of Newton's "Opticks".
///
/// # Errors
/// The tokenizer finds fewer tokens than the text should have.
pub fn longer(tokenizer: &Tokenizer) -> Result<Text> {
    Ok(Text { name: "Opticks", windows: windows(tokenizer, include_str!("../../texts/opticks.txt"), 512, 512, 3)? })
}

/// Windows of the text for calibration, and tokens from one to the next.
const WINDOWS: usize = 5;
const STEP: usize = 136;

/// The text for calibration: Query 28, in windows that overlap. So several tokens are once the first one of a window.
///
/// # Errors
/// The tokenizer finds fewer tokens than the text should have.
pub fn calibration(tokenizer: &Tokenizer) -> Result<Text> {
    Ok(Text {
        name: "calibration",
        windows: windows(tokenizer, include_str!("../../texts/calibration.txt"), 512, STEP, WINDOWS)?,
    })
}

/// The first tokens of the windows of [`calibration`], at most so many of each, in the tokens of any model. There are
/// fewer windows where the text has fewer tokens.
///
/// # Errors
/// A byte of the text that no token stands for.
pub fn beginnings(tokenizer: &Tokenizer, length: usize) -> Result<Vec<Vec<u32>>> {
    Ok(learning(tokenizer, length)?.windows)
}

/// The same as a text to learn from.
///
/// # Errors
/// A byte of the text that no token stands for.
pub fn learning(tokenizer: &Tokenizer, length: usize) -> Result<Learning> {
    let tokens = tokenizer.prompt(include_str!("../../texts/calibration.txt").trim_end())?;
    Learning::beginnings(&tokens, length, STEP, WINDOWS)
}

fn windows(tokenizer: &Tokenizer, text: &str, length: usize, step: usize, count: usize) -> Result<Vec<Vec<u32>>> {
    let tokens = tokenizer.encode(text.trim_end())?;
    let needed = (count - 1) * step + length;
    ensure!(tokens.len() >= needed, "a text of {} tokens, wanted are {needed}", tokens.len());
    Ok(tokens.windows(length).step_by(step).take(count).map(<[u32]>::to_vec).collect())
}
