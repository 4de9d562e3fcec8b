//! The state of the core between operations: weights, constants, the cache except its blocks, and the context.

use std::collections::VecDeque;
use std::ops::Range;

use crate::accelerators::pieces::Loaded;
use crate::common::shell::job_link::Token;

use super::operation::Load;
use super::shape::Shape;
use super::stream::Stream;

/// Scale (fp32) and bias of a result.
pub(super) type Constant = (u32, i32);

/// Keys and values of one head: tokens of channels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) keys: Vec<Vec<i8>>,
    pub(super) values: Vec<Vec<i8>>,
}

impl Context {
    /// The same context with more tokens after these.
    pub(super) fn then(mut self, more: Self) -> Self {
        self.keys.extend(more.keys);
        self.values.extend(more.values);
        self
    }
}

/// The known weights of an output of the store. Most stores have more room than a layer has weights, and matrices above
/// each other leave gaps, so unknown weights take no memory.
#[derive(Clone, Debug, Default)]
struct Column {
    /// Inputs whose weights are known, as ascending ranges that do not touch.
    known: Vec<Range<u32>>,
    /// Their weights, one range after the other.
    weights: Vec<i8>,
}

impl Column {
    /// Adds weights after all others.
    fn push(&mut self, input: usize, weights: &[i8]) {
        if weights.is_empty() {
            return;
        }
        let (from, to) = (input as u32, (input + weights.len()) as u32);
        match self.known.last_mut() {
            Some(last) if last.end == from => last.end = to,
            _ => self.known.push(from..to),
        }
        self.weights.extend(weights);
    }

    /// The same as [`push`](Self::push) for the weights of inputs that lie in a range, too.
    fn push_some(&mut self, of: &Self, range: Range<usize>) {
        let mut first = 0;
        for known in &of.known {
            let (start, end) = (known.start as usize, known.end as usize);
            let (from, to) = (start.max(range.start), end.min(range.end));
            if from < to {
                self.push(from, &of.weights[first + from - start..first + to - start]);
            }
            first += end - start;
        }
    }

    /// Replaces the weights of some inputs; `None` for unknown ones.
    fn replace(&mut self, first: usize, weights: &[Option<i8>]) {
        let most = self.weights.len() + weights.iter().flatten().count();
        let mut new = Self { known: Vec::with_capacity(1), weights: Vec::with_capacity(most) };
        new.push_some(self, 0..first);
        for (input, weight) in (first..).zip(weights) {
            if let Some(weight) = weight {
                new.push(input, &[*weight]);
            }
        }
        new.push_some(self, first + weights.len()..usize::MAX);
        new.weights.shrink_to_fit();
        *self = new;
    }

    /// The weights of some inputs, if all are known.
    fn known(&self, inputs: Range<usize>) -> Option<&[i8]> {
        let mut first = 0;
        for known in &self.known {
            let (start, end) = (known.start as usize, known.end as usize);
            if start <= inputs.start && inputs.end <= end {
                return Some(&self.weights[first + inputs.start - start..first + inputs.end - start]);
            }
            first += end - start;
        }
        None
    }
}

/// All of the state. `None` stands for unknown.
#[derive(Clone, Debug)]
pub(super) struct State {
    shape: Shape,
    /// By output of the whole store.
    weights: Vec<Column>,
    constants: Vec<Option<Constant>>,
    /// The number of tokens of the cache and of its prefill, and its streams, if they are known.
    cached: u32,
    prefill: u32,
    streams: Option<[Stream; 2]>,
    /// The same for the context.
    tokens: u32,
    context: Option<Context>,
    /// Tokens from the core before that wait, and tokens that were given.
    pub(super) waiting: VecDeque<Token>,
    pub(super) given: Vec<Token>,
}

impl State {
    pub(super) fn new(shape: &Shape) -> Self {
        Self {
            shape: *shape,
            weights: vec![Column::default(); (shape.columns * shape.outputs) as usize],
            constants: vec![None; shape.constants as usize],
            cached: 0,
            prefill: 0,
            streams: None,
            tokens: 0,
            context: None,
            waiting: VecDeque::new(),
            given: Vec::new(),
        }
    }

    pub(super) fn context_tokens(&self) -> u32 {
        self.tokens
    }

    pub(super) fn context(&self) -> Option<&Context> {
        self.context.as_ref()
    }

    pub(super) fn cache_tokens(&self) -> u32 {
        self.cached
    }

    /// Whether the prefill lacks tokens. Nothing can be restored then.
    pub(super) fn filling(&self) -> bool {
        self.cached < self.prefill
    }

    /// Begins a cache whose levels come from so many tokens.
    pub(super) fn begin(&mut self, prefill: u32) {
        self.prefill = prefill;
    }

    /// Tokens of the cache, and whether keys and values had elements without a level.
    pub(super) fn cached(&self) -> (u32, [bool; 2]) {
        let overflow = self.streams.as_ref().map(|streams| streams.each_ref().map(Stream::overflow));
        (self.cached, overflow.unwrap_or_default())
    }

    pub(super) fn streams(&self) -> Option<&[Stream; 2]> {
        self.streams.as_ref()
    }

    /// Whole blocks of the longer stream.
    pub(super) fn most_blocks(&self) -> u64 {
        self.streams.iter().flatten().map(Stream::blocks).max().unwrap_or(0)
    }

    /// Sets the number of tokens of the cache, and its streams; `None`: unknown.
    pub(super) fn cache(&mut self, tokens: u32, streams: Option<[Stream; 2]>) {
        (self.cached, self.streams) = (tokens, streams);
    }

    pub(super) fn forget_cache(&mut self) {
        self.streams = None;
    }

    /// Removes cache, context and tokens that wait.
    pub(super) fn empty(&mut self) {
        self.waiting.clear();
        self.begin(0);
        self.cache(0, None);
        self.fill(0, None);
    }

    /// Sets the number of tokens of the context, and the context; `None`: unknown.
    pub(super) fn fill(&mut self, tokens: u32, context: Option<Context>) {
        (self.tokens, self.context) = (tokens, context);
    }

    pub(super) fn forget_context(&mut self) {
        self.context = None;
    }

    /// Writes the weights or constants of a load; `None` for all that could not be read.
    pub(super) fn store(&mut self, load: &Load, bytes: &[Loaded]) {
        if load.constants {
            for k in 0..load.columns as usize {
                let record = bytes[0].get(8 * k..8 * k + 8);
                let half = |r: &[u8], at: usize| [r[at], r[at + 1], r[at + 2], r[at + 3]];
                let constant = record.map(|r| (u32::from_le_bytes(half(r, 0)), i32::from_le_bytes(half(r, 4))));
                self.constants[load.first as usize + k] = constant;
            }
            return;
        }
        let (first, outputs) = (self.first(load), self.outputs(load));
        for (k, column) in self.weights[outputs].iter_mut().enumerate() {
            // Outputs after the last one, in the last column of macros, have zero weights.
            let there = k < load.columns as usize;
            let weight = |row: &Loaded| if there { row.get(k..k + 1).map(|byte| byte[0] as i8) } else { Some(0) };
            column.replace(first, &bytes.iter().map(weight).collect::<Vec<_>>());
        }
    }

    fn first(&self, load: &Load) -> usize {
        (load.first_row * self.shape.inputs) as usize
    }

    /// Outputs of the columns of macros that a load writes.
    fn outputs(&self, load: &Load) -> Range<usize> {
        let outputs = self.shape.outputs;
        let first = load.first_column * outputs;
        first as usize..(first + (load.columns as u32).next_multiple_of(outputs)) as usize
    }

    pub(super) fn forget(&mut self, load: &Load) {
        if load.constants {
            self.constants[load.first as usize..][..load.columns as usize].fill(None);
            return;
        }
        let (first, outputs) = (self.first(load), self.outputs(load));
        let unknown = vec![None; load.rows.rows as usize];
        self.weights[outputs].iter_mut().for_each(|column| column.replace(first, &unknown));
    }

    /// The weights of an output of the store, for so many inputs from a row of macros on.
    pub(super) fn weights(&self, first_row: u32, inputs: usize, output: usize) -> Option<&[i8]> {
        let first = (first_row * self.shape.inputs) as usize;
        self.weights[output].known(first..first + inputs)
    }

    pub(super) fn constant(&self, number: usize) -> Option<Constant> {
        self.constants[number]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(seeds::proptest(500))]

        /// A column is an input's last weight for each input, if it has one.
        #[test]
        fn a_column_is_its_last_weights(
            loads in prop::collection::vec((0..40usize, prop::collection::vec(any::<Option<i8>>(), 1..20)), 0..8),
        ) {
            let (mut column, mut wanted) = (Column::default(), vec![None; 60]);
            for (first, weights) in &loads {
                column.replace(*first, weights);
                wanted[*first..first + weights.len()].copy_from_slice(weights);
            }
            prop_assert_eq!(column.weights.len(), wanted.iter().flatten().count());
            for from in 0..60 {
                for to in from + 1..=60 {
                    let all: Option<Vec<i8>> = wanted[from..to].iter().copied().collect();
                    prop_assert_eq!(column.known(from..to), all.as_deref());
                }
            }
        }
    }
}
