//! The language model, the text that schemes read, and the text that they learn from.

use std::path::{Path, PathBuf};

use models::decoder::perplexity::Windows;
use models::decoder::{Model, Precision, Tokenizer};
use models::default_model::texts;
use models::evaluation::Material;
use models::schemes::Learning;
use serde::Deserialize;

use crate::commands::{Source, failed, file_name, refused, tokens};
use crate::error::{Failure, Result};
use crate::present::numbers::counted;
use crate::present::progress::Progress;

/// Tokens that are read where nobody says how many.
const TOKENS: usize = 96;
/// Windows of the text that schemes learn from: how many, their tokens, and tokens from one to the next.
const LEARNING: [usize; 3] = [5, 512, 136];

/// As the file has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawText {
    model: Option<PathBuf>,
    file: Option<PathBuf>,
    tokens: Option<usize>,
    prompt: Option<usize>,
    learn: Option<PathBuf>,
}

impl RawText {
    /// Paths are relative to the file.
    pub fn beside(self, path: &Path) -> Text {
        let beside = |name: PathBuf| path.parent().unwrap_or(Path::new("")).join(name);
        let [model, file, learn] = [self.model, self.file, self.learn].map(|path| path.map(beside));
        Text { model, file, tokens: self.tokens, prompt: self.prompt, learn }
    }
}

/// What schemes read.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Model; none: SmolLM2-135M.
    pub model: Option<PathBuf>,
    /// Text; none: the opening of "Pride and Prejudice".
    pub file: Option<PathBuf>,
    /// Its first tokens.
    pub tokens: Option<usize>,
    /// Tokens of them that come at once; none: half of them.
    pub prompt: Option<usize>,
    /// Text that schemes learn from; none: the one in the program.
    pub learn: Option<PathBuf>,
}

/// A model with its texts.
#[derive(Debug)]
pub struct Language {
    /// The model.
    pub model: Model,
    /// The text that is read.
    pub material: Material,
    /// The text to learn from.
    pub learning: Learning,
    /// The name of the text.
    pub name: String,
    /// Its tokens, as far as it is read.
    pub tokens: Vec<u32>,
    /// Names of the weights, of what is read and of what is learnt from: what figures depend on besides schemes.
    pub(super) fingerprints: [String; 3],
}

impl Text {
    /// Reads everything.
    ///
    /// # Errors
    /// A file that is not there or damaged; tokens out of range.
    pub fn read(&self) -> Result<Language> {
        let Source { tokenizer, read, name } = Source::of(self.model.as_deref(), Precision::Half)?;
        let progress = Progress::new(1, format!("reading the weights of {name}"));
        let model = read()?;
        drop(progress);
        let context = model.config().context;
        let (name, tokens) = self.tokens(&tokenizer, context)?;
        let mut material = Material::default();
        let prompt = self.prompt.map(|prompt| {
            let most = tokens.len();
            let told = format!("`prompt` is {prompt}, allowed: 1 to {most}, the tokens that are read");
            if (1..=most).contains(&prompt) { Ok(prompt) } else { Err(Failure::Usage(told)) }
        });
        let windows = Windows::new(tokens.len(), tokens.len()).map_err(refused)?;
        material.add_text(&tokens, windows, prompt.transpose()?).map_err(refused)?;
        let [count, length, step] = LEARNING;
        let length = length.min(context);
        let learning = match &self.learn {
            Some(path) => Learning::beginnings(&self::tokens(path, &tokenizer)?, length, step, count)
                .map_err(|e| Failure::Usage(format!("{}: {e:#}", path.display())))?,
            None => texts::learning(&tokenizer, length).map_err(failed)?,
        };
        // Hashing all weights takes a second.
        let fingerprints = [model.fingerprint(), material.fingerprint(), learning.fingerprint()];
        Ok(Language { model, material, learning, name, tokens, fingerprints })
    }

    /// The name of the text, and its tokens as far as it is read.
    fn tokens(&self, tokenizer: &Tokenizer, context: usize) -> Result<(String, Vec<u32>)> {
        let (name, mut all) = match &self.file {
            Some(path) => (file_name(path), tokens(path, tokenizer)?),
            None => (texts::OPENING.to_owned(), texts::opening(tokenizer).map_err(refused)?),
        };
        let (has, most) = (all.len(), context.min(all.len()));
        if most < 2 {
            return Err(Failure::Usage(format!("the text {name} has {}, wanted are 2 or more", counted(has, "token"))));
        }
        let count = self.tokens.unwrap_or_else(|| TOKENS.min(most));
        if !(2..=most).contains(&count) {
            let why = format!("{name} has {has}, the model's context is {context}");
            return Err(Failure::Usage(format!("`tokens` is {count}, allowed: 2 to {most}; {why}")));
        }
        all.truncate(count);
        Ok((name, all))
    }
}
