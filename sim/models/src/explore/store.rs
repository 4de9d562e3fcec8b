//! Results of a search in a file, a line for each setting. An interrupted search goes on from them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::point::{Genes, Objectives};
use crate::journal::{Journal, Problem, number};
use crate::schemes::is_surprise;

/// Settings and their worth.
#[derive(Debug)]
pub struct Store {
    journal: Journal,
    known: BTreeMap<Genes, Objectives>,
}

impl Store {
    /// Opens a file, or creates it. `problem` names the search. A file of another problem is refused, and so is a file
    /// that another program has open.
    ///
    /// A last line without an end is dropped: a program was stopped while it wrote the line.
    ///
    /// # Errors
    /// Names file and line.
    pub fn open(path: &Path, problem: &Problem) -> Result<Self> {
        let (journal, lines) = Journal::open(path, problem)?;
        let mut known = BTreeMap::new();
        for (place, line) in lines {
            let (genes, objectives) =
                entry(&line).with_context(|| format!("{place}: a setting and two numbers from 0 on are expected"))?;
            known.insert(genes, objectives);
        }
        Ok(Self { journal, known })
    }

    /// The worth of a setting, if it was computed.
    #[must_use]
    pub fn get(&self, genes: &Genes) -> Option<Objectives> {
        self.known.get(genes).copied()
    }

    /// Stores the worth of a setting.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, genes: &Genes, objectives: Objectives) -> Result<()> {
        // As `number` reads it.
        self.journal.add(&json!({ "setting": genes, "worth": objectives.map(|x| x.to_string()) }))?;
        self.known.insert(genes.clone(), objectives);
        Ok(())
    }

    /// Number of stored settings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether no setting is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

fn entry(line: &Value) -> Option<(Genes, Objectives)> {
    let genes = line["setting"].as_array()?.iter().map(|gene| gene.as_u64()?.try_into().ok());
    let number = |value: &Value| number(value).filter(|&x| is_surprise(x));
    match &line["worth"].as_array()?[..] {
        [a, b] => Some((genes.collect::<Option<_>>()?, [number(a)?, number(b)?])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(of: &str) -> Problem {
        [("of".to_owned(), of.to_owned())].into()
    }

    #[test]
    fn goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let mut store = Store::open(&path, &problem("a")).unwrap();
        assert!(store.is_empty());
        store.add(&vec![1, 2], [49.119_856_819_398_684, 3.0]).unwrap();
        store.add(&vec![], [f64::INFINITY, -0.0]).unwrap();
        drop(store);
        // Stopped in the middle of a line.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"setting\": [7")).unwrap();
        let mut store = Store::open(&path, &problem("a")).unwrap();
        assert_eq!(
            (store.len(), store.get(&vec![1, 2]), store.get(&vec![7])),
            (2, Some([49.119_856_819_398_684, 3.0]), None)
        );
        assert_eq!(store.get(&vec![]), Some([f64::INFINITY, -0.0]));
        store.add(&vec![7], [1.0, 1.0]).unwrap();
        let error = Store::open(&path, &problem("a")).unwrap_err().to_string();
        assert!(error.contains("in use by another program"), "{error}");
        drop(store);
        assert_eq!(Store::open(&path, &problem("a")).unwrap().get(&vec![7]), Some([1.0, 1.0]));
    }

    #[test]
    fn refusals() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        drop(Store::open(&path, &problem("a")).unwrap());
        let error = Store::open(&path, &problem("b")).unwrap_err().to_string();
        assert!(error.contains("`of` is a, here it is b; name another file"), "{error}");
        std::fs::write(&path, "{\"problem\": {\"of\": \"a\"}}\n{\"setting\": [-1], \"worth\": [\"1\", \"2\"]}\n")
            .unwrap();
        let error = Store::open(&path, &problem("a")).unwrap_err().to_string();
        assert!(error.contains("line 2: a setting and two numbers from 0 on"), "{error}");
        for worth in ["NaN", "-5", "1e400"] {
            let line = format!("{{\"setting\": [1], \"worth\": [\"{worth}\", \"2\"]}}");
            std::fs::write(&path, format!("{{\"problem\": {{\"of\": \"a\"}}}}\n{line}\n")).unwrap();
            assert!(
                Store::open(&path, &problem("a")).unwrap_err().to_string().contains("line 2: a setting"),
                "{worth}"
            );
        }
        assert!(Store::open(dir.path(), &problem("a")).unwrap_err().to_string().contains("cannot write"));
    }
}
