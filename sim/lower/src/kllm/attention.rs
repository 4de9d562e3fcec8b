//! Attention of queries in a cache.

use anyhow::ensure;
use host::kllm::MatMulJob;

use super::builder::{Builder, Quantized};
use super::cache::Cache;
use crate::chain::{Floats, Seen};

impl Builder<'_> {
    /// Attention of the queries of the last tokens in a cache; returns the probabilities.
    ///
    /// # Errors
    /// More queries than keys; no room.
    pub fn attend(&mut self, queries: &Quantized, cache: &Cache, seen: Seen, out: &Floats) -> anyhow::Result<Floats> {
        let (keys, constants) = cache.keys();
        ensure!(queries.rows <= keys.channels, "{} queries, {} keys", queries.rows, keys.channels);
        let p = self.b.floats("probabilities", queries.rows, keys.channels)?;
        let product = self.product(queries, &keys, &cache.codebooks.scores, constants)?;
        let descriptor = MatMulJob::new(product, p.at).exact().build(self.caps, &self.b.window)?;
        self.b.then(descriptor)?;
        self.b.rows(&p, &p, |job| seen.softmax(job, [p.rows, p.columns]))?;
        let (values, scales) = cache.values();
        self.weighted_sum(&p, scales, (&values, cache.codebooks.unit), out)?;
        Ok(p)
    }
}
