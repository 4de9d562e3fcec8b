//! Keys and values: how a cache stores them, and which tokens stay in it. This is the part of an [`Arithmetic`] that
//! goes with any products.

use std::borrow::Cow;

use anyhow::{Result, ensure};
use golden::kelle::aerp::softmax;
use golden::tender::granularity::{Granularity, round_trip};

use super::arithmetic::{Arithmetic, Group, causal_softmax};
use super::matrix::Matrix;

/// A cache of keys and values. Each operation is exact unless it is replaced. With the other operations of a decoder in
/// floats it is an [`Arithmetic`].
pub trait KeyValues {
    /// Keys and values as queries read them back.
    ///
    /// # Errors
    /// The cache cannot store them.
    fn store<'a>(&mut self, cached: Cached<'a>) -> Result<Cached<'a>> {
        Ok(cached)
    }

    /// Attention of the heads that share a key head, a matrix a head, to the tokens that the cache still has.
    ///
    /// # Errors
    /// The cache cannot compute it.
    fn attend(&mut self, cached: &Cached<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        Ok(queries.iter().map(|q| cached.attention(q)).collect())
    }
}

impl<K: KeyValues + ?Sized> Arithmetic for K {
    fn attention(&mut self, group: Group<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        let cached = self.store(Cached::exact(group))?;
        self.attend(&cached, queries)
    }
}

/// Keys, or values, of a head.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// By position, as they are stored.
    pub stored: Cow<'a, Matrix>,
    /// Recent tokens that are not stored in that form yet.
    pub recent: Option<Recent<'a>>,
}

/// Tokens in another form than the stored ones.
#[derive(Clone, Debug)]
pub struct Recent<'a> {
    /// By position.
    pub rows: Cow<'a, Matrix>,
    /// For each query the first position that it reads here.
    pub from: Vec<usize>,
}

impl<'a> Side<'a> {
    /// All tokens in one form.
    #[must_use]
    pub fn all(stored: Cow<'a, Matrix>) -> Self {
        Self { stored, recent: None }
    }

    /// The row of a token as a query reads it.
    ///
    /// # Panics
    /// When there is no such query or token.
    #[must_use]
    pub fn row(&self, query: usize, token: usize) -> &[f64] {
        match &self.recent {
            Some(recent) if token >= recent.from[query] => recent.rows.row(token),
            _ => self.stored.row(token),
        }
    }

    /// Products of each query and each row.
    ///
    /// # Panics
    /// When the sizes do not fit.
    #[must_use]
    pub fn scores(&self, queries: &Matrix) -> Matrix {
        let mut scores = queries.times_transposed(&self.stored);
        if let Some(recent) = &self.recent {
            let others = queries.times_transposed(&recent.rows);
            for ((row, other), &from) in scores.iter_mut().zip(others.iter()).zip(&recent.from) {
                row[from..].copy_from_slice(&other[from..]);
            }
        }
        scores
    }

    /// Weights, a row a query, times the rows.
    ///
    /// # Panics
    /// When the sizes do not fit.
    #[must_use]
    pub fn mix(&self, weights: &Matrix) -> Matrix {
        let Some(recent) = &self.recent else { return weights.times(&self.stored) };
        let (mut old, mut new) = (weights.clone(), weights.clone());
        for ((old, new), &from) in old.iter_mut().zip(new.iter_mut()).zip(&recent.from) {
            old[from..].fill(0.0);
            new[..from].fill(0.0);
        }
        let mut sum = old.times(&self.stored);
        sum.values.iter_mut().zip(new.times(&recent.rows).values).for_each(|(sum, x)| *sum += x);
        sum
    }
}

/// Keys and values of a head as queries read them.
#[derive(Clone, Debug)]
pub struct Cached<'a> {
    /// The head, with exact keys and values.
    pub group: Group<'a>,
    /// Keys.
    pub keys: Side<'a>,
    /// Values.
    pub values: Side<'a>,
}

impl<'a> Cached<'a> {
    /// Keys and values as they are.
    #[must_use]
    pub fn exact(group: Group<'a>) -> Self {
        let [keys, values] = [group.keys, group.values].map(|x| Side::all(Cow::Borrowed(x)));
        Self { group, keys, values }
    }

    /// The same with other keys and values for all queries.
    #[must_use]
    pub fn replaced(self, [keys, values]: [Matrix; 2]) -> Self {
        let [keys, values] = [keys, values].map(|x| Side::all(Cow::Owned(x)));
        Self { keys, values, ..self }
    }

    /// Attention to all tokens up to a query's own.
    #[must_use]
    pub fn attention(&self, queries: &Matrix) -> Matrix {
        self.values.mix(&causal_softmax(self.group, self.keys.scores(queries)))
    }

    /// Refuses a part of a text: caches that change with each token need all of it.
    ///
    /// # Errors
    /// There are tokens before the first query.
    pub fn is_whole(&self) -> Result<()> {
        let past = self.group.past;
        ensure!(past == 0, "this cache is run over a whole text, not after {past} tokens");
        Ok(())
    }
}

/// The tokens that a query head still has.
pub trait Keeper {
    /// Positions in the text, the oldest first.
    fn tokens(&self) -> Vec<usize>;

    /// A query has read these tokens and its own: scaled products with them, and attention. Its own token may enter now,
    /// and another one leave.
    ///
    /// # Errors
    /// There is no room.
    fn read(&mut self, query: usize, products: &[f64], attention: &[f64]) -> Result<()>;
}

/// Attention of a query head to the tokens that it still has, and to each query's own.
///
/// # Errors
/// There is no room for a token.
pub fn attend_kept(cached: &Cached<'_>, queries: &Matrix, keeper: &mut dyn Keeper) -> Result<Matrix> {
    let width = cached.group.width();
    let scale = (width as f64).sqrt();
    let scores = cached.keys.scores(queries);
    let mut result = Matrix::zeros(0, width);
    for query in 0..queries.rows() {
        let mut seen = keeper.tokens();
        seen.push(query);
        let products: Vec<f64> = seen.iter().map(|&token| scores.row(query)[token] / scale).collect();
        let attention = softmax(&products);
        let mut output = vec![0.0; width];
        for (weight, &token) in attention.iter().zip(&seen) {
            output.iter_mut().zip(cached.values.row(query, token)).for_each(|(sum, v)| *sum += weight * v);
        }
        result.values.extend(output);
        keeper.read(query, &products, &attention)?;
    }
    Ok(result)
}

/// Two caches, the second behind the first: how keys and values are stored, and which tokens stay.
pub(crate) struct Behind<'a> {
    pub(crate) first: &'a mut dyn KeyValues,
    pub(crate) second: &'a mut dyn KeyValues,
}

impl KeyValues for Behind<'_> {
    fn store<'a>(&mut self, cached: Cached<'a>) -> Result<Cached<'a>> {
        let cached = self.first.store(cached)?;
        self.second.store(cached)
    }

    fn attend(&mut self, cached: &Cached<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        self.second.attend(cached, queries)
    }
}

/// Keys and values in symmetric integers, a scale a token of a head (round to nearest).
#[derive(Clone, Copy, Debug)]
pub struct RoundedCache {
    /// Bits of an element, 2 to 8.
    pub bits: u32,
}

impl KeyValues for RoundedCache {
    fn store<'a>(&mut self, cached: Cached<'a>) -> Result<Cached<'a>> {
        let rounded = |side: &Side<'_>| {
            let rows: Vec<Vec<f64>> = side.stored.iter().map(<[f64]>::to_vec).collect();
            Matrix::from_rows(&round_trip(&rows, self.bits, Granularity::Row))
        };
        let both = [rounded(&cached.keys)?, rounded(&cached.values)?];
        Ok(cached.replaced(both))
    }
}
