//! The first half of a layer has three parts: queries, keys and values after the norm; the cache and attention of all
//! heads; output projection and residual. A core may do all of them, or one.

use host::titanus::{AppendJob, Areas, Constant, Matrix, ProductJob, RestoreJob, TokenRows};
use host::vector::Operand;

use super::builder::{Builder, Integers, Weights, largest, lent, over, threshold};
use super::compression::{Begun, Compression, Prompt, Turn};
use super::parts::{Gains, Lent, Projection, stored};
use crate::chain::Floats;
use crate::exact::Exact;
use crate::layer::{Heads, Layer, Turns};
use crate::needs::Room;

/// Scales of integers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Units {
    /// What inputs lend to weights: of queries, keys and values, and of the output projection.
    pub lent: [Vec<f64>; 2],
    /// Inputs of these, and queries, keys, values.
    pub inputs: [f64; 2],
    pub heads: [f64; 3],
}

impl Units {
    pub(super) fn of(layer: &Layer, exact: &Exact) -> Self {
        let of_attention = lent(&exact.attended, &[&layer.q, &layer.k, &layer.v]);
        let of_output = lent(&exact.attention, &[&layer.o]);
        let unit = |rows: &[Vec<f64>], lent: &[f64]| largest(&over(rows, lent)) / 127.0;
        let inputs = [unit(&exact.attended, &of_attention), unit(&exact.attention, &of_output)];
        let heads = [&exact.queries, &exact.keys, &exact.values].map(|rows| largest(rows) / 127.0);
        Self { lent: [of_attention, of_output], inputs, heads }
    }
}

/// Queries, keys and values of tokens, side by side as integers.
pub(super) type Projected = [Integers; 3];

/// Norm and projections to queries, keys and values.
#[derive(Clone, Debug)]
pub(super) struct Project {
    turns: Option<Turns>,
    heads: Heads,
    q: Projection,
    k: Projection,
    v: Projection,
    norm: Gains,
    /// Of the input, queries, keys.
    units: [f64; 3],
}

/// The cache of a text: its streams in memory, and the appends that filled it.
#[derive(Clone, Debug)]
struct Cache {
    areas: Areas,
    appended: Vec<AppendJob>,
    /// Keys and values of all tokens, where texts take turns: they are appended again.
    rows: Option<[Integers; 2]>,
}

/// The caches of texts, and attention of all heads.
#[derive(Clone, Debug)]
pub(super) struct Attend {
    heads: Heads,
    scores: u32,
    sums: u32,
    /// By text.
    caches: Vec<Cache>,
    /// The text whose cache the core has.
    holds: usize,
}

/// The output projection, added to the residual stream.
#[derive(Clone, Debug)]
pub(super) struct Output {
    o: Projection,
}

/// All three.
#[derive(Clone, Debug)]
pub(super) struct Attention {
    project: Project,
    attend: Attend,
    output: Output,
}

impl Project {
    fn matrices<'a>(layer: &'a Layer, units: &'a Units) -> Vec<Lent<'a>> {
        [&layer.q, &layer.k, &layer.v].map(|p| (p, Some(&units.lent[0][..]))).into()
    }

    fn new(b: &mut Builder<'_>, [q, k, v]: [Weights; 3], layer: &Layer, units: &Units) -> anyhow::Result<Self> {
        let ([x, _], [s_q, s_k, s_v]) = (units.inputs, units.heads);
        let (to_q, to_k) = if layer.turns.is_some() { (1.0, 1.0) } else { (s_q, s_k) };
        let q = Projection::new(b, (q, &layer.q), x, |_| to_q)?;
        let k = Projection::new(b, (k, &layer.k), x, |_| to_k)?;
        let v = Projection::new(b, (v, &layer.v), x, |_| s_v)?;
        let norm = Gains::new(b, (&layer.norms[0], layer.epsilon), &units.lent[0])?;
        let turns = layer.turns.clone();
        Ok(Self { turns, heads: layer.heads, q, k, v, norm, units: [x, s_q, s_k] })
    }

    /// Loads it.
    pub(super) fn load(b: &mut Builder<'_>, layer: &Layer, units: &Units) -> anyhow::Result<Self> {
        let weights = loaded(b, &Self::matrices(layer, units))?;
        Self::new(b, weights, layer, units)
    }

    /// Queries, keys and values from rows of the residual stream, after the `first` tokens. Keys and values may have
    /// places already.
    pub(super) fn pass(
        &self,
        b: &mut Builder<'_>,
        (rows, first): (&Floats, usize),
        places: Option<[Integers; 2]>,
    ) -> anyhow::Result<Projected> {
        let [x, s_q, s_k] = self.units;
        let x = self.norm.apply(b, "normalised", rows, x)?;
        let q = b.integers("queries", rows.rows, self.q.outputs())?;
        self.turned(b, (&x, first), (&self.q, s_q), ("queries", &q))?;
        let k = match places {
            Some([keys, _]) => keys,
            None => b.integers("keys", rows.rows, self.k.outputs())?,
        };
        self.turned(b, (&x, first), (&self.k, s_k), ("keys", &k))?;
        let v = match places {
            Some([_, values]) => values,
            None => b.integers("values", rows.rows, self.v.outputs())?,
        };
        self.v.to_integers(b, &x, &v, |job| job)?;
        Ok([q, k, v])
    }

    /// Queries or keys.
    fn turned(
        &self,
        b: &mut Builder<'_>,
        (x, first): (&Integers, usize),
        (projection, unit): (&Projection, f64),
        (name, out): (&'static str, &Integers),
    ) -> anyhow::Result<()> {
        let Some(turns) = &self.turns else { return projection.to_integers(b, x, out, |job| job) };
        let rows = projection.floats(b, name, x)?;
        let positions: Vec<usize> = (first..first + rows.rows).collect();
        let turns = b.b.angles(turns, rows.columns / self.heads.width, &positions)?;
        b.turn(&rows, &turns, (out, unit))
    }
}

/// Matrices in the store.
fn loaded<const N: usize>(b: &mut Builder<'_>, matrices: &[Lent<'_>]) -> anyhow::Result<[Weights; N]> {
    let mut weights = stored(b, matrices)?.into_iter();
    Ok(std::array::from_fn(|_| weights.next().expect("one for each matrix")))
}

impl Output {
    fn matrix<'a>(layer: &'a Layer, units: &'a Units) -> Lent<'a> {
        (&layer.o, Some(&units.lent[1]))
    }

    fn new(b: &mut Builder<'_>, o: Weights, layer: &Layer, units: &Units) -> anyhow::Result<Self> {
        Ok(Self { o: Projection::new(b, (o, &layer.o), units.inputs[1], |_| 1.0)? })
    }

    /// Loads it.
    pub(super) fn load(b: &mut Builder<'_>, layer: &Layer, units: &Units) -> anyhow::Result<Self> {
        let [o] = loaded(b, &[Self::matrix(layer, units)])?;
        Self::new(b, o, layer, units)
    }

    /// Attention of tokens to the residual stream, which it is added to.
    pub(super) fn pass(&self, b: &mut Builder<'_>, attention: &Integers, rows: &Floats) -> anyhow::Result<Floats> {
        let out = b.b.floats("residual stream", rows.rows, rows.columns)?;
        self.o.add(b, "projected", attention, [rows, &out])?;
        Ok(out)
    }
}

impl Attend {
    /// Constants, and streams of each text.
    pub(super) fn load(b: &mut Builder<'_>, layer: &Layer, units: &Units, room: Room) -> anyhow::Result<Self> {
        let (heads, [s_q, s_k, s_v]) = (layer.heads, units.heads);
        let single = |scale: f64| Constant { scale: scale as f32, bias: 0 };
        let scores = b.constants(&[single(s_q * s_k * heads.scale())])?;
        let of_channel = |c: usize| single(s_v / 255.0 / (units.inputs[1] * units.lent[1][c]));
        let sums = b.constants(&(0..heads.queries * heads.width).map(of_channel).collect::<Vec<_>>())?;
        let lines = u16::try_from(b.caps.most_lines(room.tokens as u32, 8))?;
        let bytes = 64 * usize::from(lines);
        let channels = heads.keys * heads.width;
        let cache = |_| -> anyhow::Result<Cache> {
            let (keys, values) = (b.b.room("stream of keys", bytes)?, b.b.room("stream of values", bytes)?);
            let areas = Areas { keys, values, lines };
            let mut rows = |name| b.integers(name, room.tokens, channels);
            let rows = if room.texts > 1 { Some([rows("keys")?, rows("values")?]) } else { None };
            Ok(Cache { areas, appended: Vec::new(), rows })
        };
        let caches = (0..room.texts).map(cache).collect::<anyhow::Result<_>>()?;
        Ok(Self { heads, scores, sums, caches, holds: 0 })
    }

    /// Attention of tokens of a text, with a prompt of so many; and thresholds of a cache that they have begun.
    pub(super) fn pass(
        &mut self,
        b: &mut Builder<'_>,
        ([q, k, v], turn): (&Projected, Turn),
        (prompt, comes): (usize, Prompt),
        how: Compression,
    ) -> anyhow::Result<(Integers, Option<Begun>)> {
        let mut steps = Steps { b, held: self, turn, prompt };
        let begun = steps.keep([k, v], how, comes)?;
        Ok((steps.attend(q)?, begun))
    }
}

impl Attention {
    /// Loads it.
    pub(super) fn load(b: &mut Builder<'_>, layer: &Layer, units: &Units, room: Room) -> anyhow::Result<Self> {
        let mut matrices = Project::matrices(layer, units);
        matrices.push(Output::matrix(layer, units));
        let [q, k, v, o] = loaded(b, &matrices)?;
        let project = Project::new(b, [q, k, v], layer, units)?;
        let output = Output::new(b, o, layer, units)?;
        Ok(Self { project, attend: Attend::load(b, layer, units, room)?, output })
    }

    /// From the residual stream to the residual stream: rows of a text, with a prompt of so many; and thresholds of a
    /// cache that they have begun.
    pub(super) fn pass(
        &mut self,
        b: &mut Builder<'_>,
        (rows, turn): (&Floats, Turn),
        prompt: (usize, Prompt),
        how: Compression,
    ) -> anyhow::Result<(Floats, Option<Begun>)> {
        let places = self.attend.caches[turn.text].rows;
        let places = places.map(|all| all.map(|all| all.some_rows(turn.first, rows.rows)));
        let projected = self.project.pass(b, (rows, turn.first), places)?;
        let (attention, begun) = self.attend.pass(b, (&projected, turn), prompt, how)?;
        Ok((self.output.pass(b, &attention, rows)?, begun))
    }
}

/// Rows of a step.
struct Steps<'a, 'b> {
    b: &'a mut Builder<'b>,
    held: &'a mut Attend,
    turn: Turn,
    /// Tokens of the prompt.
    prompt: usize,
}

impl Steps<'_, '_> {
    /// Puts keys and values into the cache, and makes the context for the queries. Returns the thresholds of a new
    /// cache.
    fn keep(&mut self, [k, v]: [&Integers; 2], how: Compression, comes: Prompt) -> anyhow::Result<Option<Begun>> {
        let areas = self.held.caches[self.turn.text].areas;
        let (tokens, channels, first) = (k.rows as u32, k.columns as u32, self.turn.first as u32);
        let rows = TokenRows { tokens, channels, keys: k.at, values: v.at };
        if first == 0 {
            let prefill = u16::try_from((self.prompt as u32).min(self.b.caps.buffer))?;
            let [keys, values] = [k, v].map(|rows| threshold(&self.b.values(rows), how.sparsity));
            let thresholds = match comes {
                Prompt::AtOnce => [keys.0, values.0],
                Prompt::With(thresholds) | Prompt::ByToken(thresholds) => thresholds,
            };
            let opening = how.opening(prefill, thresholds);
            self.append(AppendJob::first(rows, opening, areas), true)?;
            return Ok(Some((thresholds, (keys.1 + values.1) / 2.0)));
        }
        let columns = 32 * usize::from(areas.lines);
        for (name, address) in [("stream of keys", areas.keys), ("stream of values", areas.values)] {
            self.b.b.writes(name, &Floats { at: Operand { address, stride: 0 }, rows: 1, columns });
        }
        let append = AppendJob::behind(first, rows, areas);
        if self.turn.first < self.prompt {
            self.append(append, true)?;
            return Ok(None);
        }
        self.append(append, false)?;
        self.b.then(|caps, held, window| {
            RestoreJob::to_context(first + tokens, channels, areas).build(caps, held, window)
        })?;
        Ok(None)
    }

    /// Appends tokens to the cache of the text; `keep`: they become a part of the context.
    fn append(&mut self, job: AppendJob, keep: bool) -> anyhow::Result<()> {
        let text = self.turn.text;
        let appended = &mut self.held.caches[text].appended;
        appended.push(job);
        // A core has one cache, and no operation reads one back. The same appends of the same rows give the same streams.
        let again = if self.held.holds == text { appended.len() - 1 } else { 0 };
        self.held.holds = text;
        appended[again..].iter().try_for_each(|job| {
            let job = if keep { job.keep() } else { *job };
            self.b.then(|caps, held, window| job.build(caps, held, window))
        })
    }

    /// Attention of all heads, side by side as integers.
    fn attend(&mut self, q: &Integers) -> anyhow::Result<Integers> {
        let (count, known) = (q.rows, self.turn.first + q.rows);
        let (heads, width) = (self.held.heads, self.held.heads.width);
        let out = self.b.integers("attention", count, heads.queries * width)?;
        for head in 0..heads.queries {
            let tile = u16::try_from(head / heads.shared() * width / self.b.caps.lanes as usize)?;
            let p = self.b.b.floats("probabilities", count, known)?;
            let (from, to) = (q.from(head * width), out.from(head * width));
            let scores = self.held.scores;
            self.b.product([count, width, known], Matrix::Keys { tile }, [from, p.at], scores, |job| {
                job.one_constant().exact()
            })?;
            self.b.b.rows(&p, &p, |job| job.causal_softmax(self.turn.first as u32 + 1))?;
            let constants = self.held.sums + (head * width) as u32;
            let sizes = [count, known, width];
            self.b.product(sizes, Matrix::Values { tile }, [p.at, to], constants, ProductJob::to_integers)?;
        }
        Ok(out)
    }
}
