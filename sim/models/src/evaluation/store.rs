//! Results of an evaluation in a file, a line for each passage. An interrupted evaluation goes on from them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::journal::{Journal, Problem, number};
use crate::schemes::{Amount, Found, Tally};

/// Results by scheme and passage.
#[derive(Debug)]
pub struct Store {
    journal: Journal,
    known: BTreeMap<(String, usize), Found>,
}

impl Store {
    /// Opens a file, or creates it. `problem` names model, passages and what is learnt from: all that results depend on
    /// besides the scheme.
    ///
    /// # Errors
    /// The errors of [`Journal::open`]; or a line is no result.
    pub fn open(path: &Path, problem: &Problem) -> Result<Self> {
        let (journal, lines) = Journal::open(path, problem)?;
        let mut known = BTreeMap::new();
        for (place, line) in lines {
            let (key, found) = entry(&line)
                .with_context(|| format!("{place}: wanted are `scheme`, `passage`, `surprises` and `figures`"))?;
            known.insert(key, found);
        }
        Ok(Self { journal, known })
    }

    /// What a scheme has found in a passage, if it is known.
    #[must_use]
    pub fn get(&self, scheme: &str, passage: usize) -> Option<&Found> {
        self.known.get(&(scheme.to_owned(), passage))
    }

    /// Keeps what a scheme has found in a passage.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, scheme: &str, passage: usize, found: &Found) -> Result<()> {
        // As `number` reads it.
        let text = |x: f64| x.to_string();
        let surprises: Vec<String> = found.surprises.iter().map(|&x| text(x)).collect();
        let figure = |tally: &Tally| match tally.amount {
            Amount::Most(x) => json!([tally.name, "most", text(x)]),
            Amount::Ratio { part, whole, times } => {
                json!([tally.name, "ratio", text(part), text(whole), text(times)])
            }
        };
        let figures: Vec<Value> = found.tallies.iter().map(figure).collect();
        self.journal.add(&json!({
            "scheme": scheme, "passage": passage, "surprises": surprises, "figures": figures,
        }))?;
        self.known.insert((scheme.to_owned(), passage), found.clone());
        Ok(())
    }

    /// Number of stored results.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

fn entry(line: &Value) -> Option<((String, usize), Found)> {
    let figure = |value: &Value| -> Option<Tally> {
        let parts = value.as_array()?;
        let amount = match (parts.get(1)?.as_str()?, parts.len()) {
            ("most", 3) => Amount::Most(number(&parts[2])?),
            ("ratio", 5) => {
                Amount::Ratio { part: number(&parts[2])?, whole: number(&parts[3])?, times: number(&parts[4])? }
            }
            _ => return None,
        };
        Some(Tally { name: parts[0].as_str()?.to_owned(), amount })
    };
    let surprises = line["surprises"].as_array()?.iter().map(number).collect::<Option<_>>()?;
    let tallies = line["figures"].as_array()?.iter().map(figure).collect::<Option<_>>()?;
    let passage = usize::try_from(line["passage"].as_u64()?).ok()?;
    Some(((line["scheme"].as_str()?.to_owned(), passage), Found { surprises, tallies }))
}
