//! Layers on a chain of cores; a layer takes one core, two or three. A token goes from core to core as soon as it is
//! ready.

use anyhow::{bail, ensure};
use golden::accelerators::titanus::TitanusCore;
use host::titanus::{Caps, LinkJob};
use host::{Image, Window};

use super::attention::{Attend, Attention, Output, Project, Projected, Units};
use super::builder::{Builder, Integers};
use super::feed::{self, Feed};
use super::{Compression, Prompt, Turn};
use crate::chain::{Floats, Job};
use crate::exact::Exact;
use crate::layer::Layer;
use crate::needs::Room;

/// What a layer is put on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// One core.
    Whole,
    /// Two: attention, then the feed-forward network.
    Halves,
    /// Three: queries, keys and values; attention; output projection and feed-forward network.
    Thirds,
}

impl Split {
    /// Cores of a layer.
    #[must_use]
    pub fn cores(self) -> usize {
        self as usize + 1
    }
}

/// What a core does of a layer.
enum Part {
    Whole(Attention, Feed),
    Attention(Attention),
    Feed(Feed),
    Project(Project),
    Attend(Attend),
    Output(Output, Feed),
}

/// The data of a token that goes from core to core.
#[derive(Clone, Copy)]
enum Between {
    Rows(Floats),
    Projected(Projected, Floats),
    Attended(Integers, Floats),
}

impl Between {
    /// Rows in memory: where each begins, and its bytes.
    fn pieces(&self) -> Vec<(u64, usize)> {
        let floats = |rows: &Floats| (rows.at.address, 2 * rows.columns);
        let integers = |rows: &Integers| (rows.at.address, rows.columns);
        match self {
            Self::Rows(rows) => vec![floats(rows)],
            Self::Projected(all, rows) => all.iter().map(integers).chain([floats(rows)]).collect(),
            Self::Attended(attention, rows) => vec![integers(attention), floats(rows)],
        }
    }
}

/// Layers on a chain.
#[derive(Clone, Debug)]
pub struct Linked {
    /// For each core, its loads, and the job of all tokens with their links.
    pub jobs: Vec<[Job; 2]>,
    /// The output of the last layer, as the golden model has it.
    pub out: Vec<Vec<f64>>,
}

/// Layers for tokens of a residual stream, the first `prompt` of which are a prompt that comes token by token, with
/// these thresholds. Every core has a part of the window that only it writes.
///
/// # Errors
/// A part of a layer does not fit on its core; an error of the host crate.
pub fn linked(
    (caps, window): (&Caps, &Window),
    golden: &TitanusCore,
    (layers, split): (&[Layer], Split),
    (residual, prompt): (&[Vec<f64>], usize),
    (thresholds, how): ([u8; 2], Compression),
) -> anyhow::Result<Linked> {
    let tokens = residual.len();
    ensure!((1..=tokens).contains(&prompt), "a prompt of {prompt} tokens, must be 1 to {tokens}");
    let each = split.cores();
    let cores = each * layers.len();
    let bytes = (window.limit - window.base + 1) / cores as u64 / 4096 * 4096;
    let mut jobs = Vec::new();
    // The data of each token between two cores, with its bytes.
    let mut between: Vec<(Between, Vec<Image>)> = Vec::new();
    let (mut values, mut exact_rows) = (Vec::new(), residual.to_vec());
    for (k, (layer, number)) in layers.iter().flat_map(|l| (0..each).map(move |number| (l, number))).enumerate() {
        let base = window.base + k as u64 * bytes;
        let own = Window { base, limit: base + bytes - 1, ..*window };
        let b = &mut Builder::new(caps, &own, golden.clone())?;
        // Rows of the core before lie in its part.
        b.b.window = *window;
        let exact = Exact::of(layer, &exact_rows);
        let mut part = Part::load(b, (layer, &exact), (split, number), Room::for_one(tokens))?;
        if number + 1 == each {
            exact_rows = exact.out;
        }
        let loads = b.b.job()?;
        let mut behind = Vec::new();
        values.clear();
        for token in 0..tokens {
            let last = token + 1 == tokens;
            let here = if k == 0 {
                Between::Rows(b.b.given(&residual[token..=token])?)
            } else {
                let (here, images) = &between[token];
                images.iter().for_each(|image| b.b.memory.store(image.address, &image.bytes));
                b.b.model().offer(last);
                b.then(|caps, _, window| LinkJob::wait(1, last).build(caps, window))?;
                *here
            };
            let out = part.pass(b, (here, token), (prompt, thresholds), how)?;
            if k + 1 < cores {
                b.then(|caps, _, window| LinkJob::give(1, last).build(caps, window))?;
            }
            let image = |(address, count)| Image { address, bytes: b.b.memory.bytes(address, count) };
            behind.push((out, out.pieces().into_iter().map(image).collect()));
            if let Between::Rows(rows) = &out {
                values.extend(b.b.values(rows));
            }
        }
        between = behind;
        jobs.push([loads, b.b.job()?]);
    }
    Ok(Linked { jobs, out: values })
}

impl Part {
    /// Part `number` of a layer.
    fn load(
        b: &mut Builder<'_>,
        (layer, exact): (&Layer, &Exact),
        (split, number): (Split, usize),
        room: Room,
    ) -> anyhow::Result<Self> {
        let (units, of_feed) = (Units::of(layer, exact), feed::Units::of(layer, exact));
        Ok(match (split, number) {
            (Split::Whole, _) => {
                let attention = Attention::load(b, layer, &units, room)?;
                Self::Whole(attention, Feed::load(b, layer, &of_feed)?)
            }
            (Split::Halves, 0) => Self::Attention(Attention::load(b, layer, &units, room)?),
            (Split::Halves, _) => Self::Feed(Feed::load(b, layer, &of_feed)?),
            (Split::Thirds, 0) => Self::Project(Project::load(b, layer, &units)?),
            (Split::Thirds, 1) => Self::Attend(Attend::load(b, layer, &units, room)?),
            (Split::Thirds, _) => {
                let output = Output::load(b, layer, &units)?;
                Self::Output(output, Feed::load(b, layer, &of_feed)?)
            }
        })
    }

    /// A token after the `first` ones.
    fn pass(
        &mut self,
        b: &mut Builder<'_>,
        (here, first): (Between, usize),
        (prompt, thresholds): (usize, [u8; 2]),
        how: Compression,
    ) -> anyhow::Result<Between> {
        let (prompt, turn) = ((prompt, Prompt::ByToken(thresholds)), Turn { text: 0, first });
        Ok(match (self, here) {
            (Self::Whole(attention, feed), Between::Rows(rows)) => {
                let (hidden, _) = attention.pass(b, (&rows, turn), prompt, how)?;
                Between::Rows(fed(b, feed, &hidden)?)
            }
            (Self::Attention(attention), Between::Rows(rows)) => {
                Between::Rows(attention.pass(b, (&rows, turn), prompt, how)?.0)
            }
            (Self::Feed(feed), Between::Rows(rows)) => Between::Rows(fed(b, feed, &rows)?),
            (Self::Project(project), Between::Rows(rows)) => {
                Between::Projected(project.pass(b, (&rows, first), None)?, rows)
            }
            (Self::Attend(attend), Between::Projected(projected, rows)) => {
                Between::Attended(attend.pass(b, (&projected, turn), prompt, how)?.0, rows)
            }
            (Self::Output(output, feed), Between::Attended(attention, rows)) => {
                let hidden = output.pass(b, &attention, &rows)?;
                Between::Rows(fed(b, feed, &hidden)?)
            }
            _ => bail!("a core gets what another one makes"),
        })
    }
}

/// The feed-forward network, to rows of its own.
fn fed(b: &mut Builder<'_>, feed: &Feed, rows: &Floats) -> anyhow::Result<Floats> {
    let out = b.b.floats("residual stream", rows.rows, rows.columns)?;
    feed.pass(b, rows, &out)?;
    Ok(out)
}
