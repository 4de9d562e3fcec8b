//! Values of signals, cycle by cycle.

use std::ops::{ControlFlow, RangeInclusive};

use super::sample::Sample;
use super::signal::{Signal, number};
use crate::waveform::{Kind, Step, Value, Waveform};

/// Values of signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Samples {
    /// Number of the first cycle.
    pub(super) first: u64,
    /// The value of each signal in each cycle.
    pub(super) values: Vec<Vec<Sample>>,
    /// Without a clock a column is a moment at which something changed.
    pub(super) clocked: bool,
}

/// The values of the signals in these cycles, to the end of the file at most.
pub(super) fn read(
    file: Waveform,
    signals: &[Signal],
    clock: Option<usize>,
    cycles: RangeInclusive<u64>,
) -> Result<Samples, String> {
    let variables = file.variables();
    let clock = clock.map(|v| variables[v].code);
    // Signals first, then the signals that say when they are valid.
    let valid = signals.iter().filter_map(|s| s.valid);
    let slots: Vec<(usize, Kind)> =
        signals.iter().map(|s| s.variable).chain(valid).map(|v| (variables[v].code, variables[v].kind)).collect();
    // Without a clock every change makes a column.
    let codes: Option<Vec<usize>> = clock.map(|clock| slots.iter().map(|(code, _)| *code).chain([clock]).collect());
    let mut reader = Reader::new(signals, cycles, clock, slots);
    file.read(codes.as_deref(), &mut |step| reader.take(step))?;
    reader.moment();
    reader.finish()
}

/// Takes samples at the edges that are asked for.
struct Reader<'a> {
    signals: &'a [Signal],
    cycles: RangeInclusive<u64>,
    /// Code of the clock, and whether it is low.
    clock: Option<usize>,
    clock_is_low: bool,
    /// Code and kind of each sampled variable, and its value now.
    slots: Vec<(usize, Kind)>,
    now: Vec<Sample>,
    /// Changes of one moment belong together: they are applied when the next moment begins.
    time: Option<u64>,
    changes: Vec<(usize, Sample)>,
    edges: Vec<u64>,
    samples: Vec<(usize, Vec<Sample>)>,
    done: bool,
}

impl<'a> Reader<'a> {
    fn new(
        signals: &'a [Signal],
        cycles: RangeInclusive<u64>,
        clock: Option<usize>,
        slots: Vec<(usize, Kind)>,
    ) -> Self {
        let now = slots.iter().map(|(_, kind)| unknown(*kind)).collect();
        let (time, changes, edges, samples) = (None, Vec::new(), Vec::new(), Vec::new());
        Self { signals, cycles, clock, clock_is_low: false, slots, now, time, changes, edges, samples, done: false }
    }

    fn take(&mut self, step: Step<'_>) -> ControlFlow<()> {
        match step {
            Step::Time(time) => {
                self.moment();
                self.time = Some(time);
            }
            Step::Change(code, value) => {
                let sample = match value {
                    Value::Bits(bits) => Sample::Bits(bits.to_owned()),
                    Value::Real(x) => Sample::Text(number(x)),
                    Value::Text(text) => Sample::Text(text.to_owned()),
                    Value::Event => Sample::Bits("1".into()),
                };
                self.changes.push((code, sample));
            }
        }
        if self.done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// A moment has ended.
    fn moment(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        let one = Sample::Bits("1".into());
        let rises = changes.iter().any(|(code, value)| Some(*code) == self.clock && *value == one);
        if let Some(time) = self.time.filter(|_| rises && self.clock_is_low) {
            self.edge(time);
        }
        let any = !changes.is_empty();
        for (code, value) in changes {
            if Some(code) == self.clock {
                self.clock_is_low = value == Sample::Bits("0".into());
            }
            for (slot, _) in self.now.iter_mut().zip(&self.slots).filter(|(_, (c, _))| *c == code) {
                slot.clone_from(&value);
            }
        }
        if let Some(time) = self.time.filter(|_| any && self.clock.is_none()) {
            self.edge(time);
        }
    }

    /// Number of the first cycle of the file: a trace may begin late, and then its times tell.
    fn base(&self) -> u64 {
        match self.edges[..] {
            [first, second, ..] if self.clock.is_some() && first % (second - first) == 0 => {
                (first / (second - first)).saturating_sub(1)
            }
            _ => 0,
        }
    }

    fn edge(&mut self, time: u64) {
        self.edges.push(time);
        let place = self.edges.len() - 1;
        // The first two edges tell the number of the first.
        let number = self.base() + place as u64;
        if place < 2 || self.cycles.contains(&number) {
            let (values, valid) = self.now.split_at(self.signals.len());
            let mut valid = valid.iter();
            let value = |(signal, value): (&Signal, &Sample)| {
                let means = signal.valid.is_none() || valid.next().is_some_and(|v| *v == Sample::Bits("1".into()));
                match value {
                    _ if !means => Sample::Nothing,
                    Sample::Bits(bits) => Sample::Bits(cut(bits, signal)),
                    other => other.clone(),
                }
            };
            self.samples.push((place, self.signals.iter().zip(values).map(value).collect()));
        }
        // Each event has been recorded.
        for (slot, (_, kind)) in self.now.iter_mut().zip(&self.slots).filter(|(_, (_, kind))| *kind == Kind::Event) {
            *slot = unknown(*kind);
        }
        // A trace that begins after the cycles that are asked for is read to its end, for the message.
        self.done = place >= 2 && number >= *self.cycles.end() && self.base() <= *self.cycles.end();
    }

    fn finish(self) -> Result<Samples, String> {
        let base = self.base();
        let wanted: Vec<_> =
            self.samples.iter().filter(|(place, _)| self.cycles.contains(&(base + *place as u64))).collect();
        let Some((first, _)) = wanted.first() else {
            return Err(match self.edges.len() {
                0 => "nothing happens in it".into(),
                n => format!("it has the cycles {base} to {}, not {}", base + n as u64 - 1, self.cycles.start()),
            });
        };
        let column = |i: usize| wanted.iter().map(|(_, values)| values[i].clone()).collect();
        Ok(Samples {
            first: base + *first as u64,
            values: (0..self.signals.len()).map(column).collect(),
            clocked: self.clock.is_some(),
        })
    }
}

/// The value of a variable before its first change.
fn unknown(kind: Kind) -> Sample {
    match kind {
        Kind::Bits => Sample::Bits("x".into()),
        Kind::Event => Sample::Bits("0".into()),
        Kind::Real | Kind::Text => Sample::Nothing,
    }
}

/// The bits of a signal, cut out of its variable. A file leaves out leading zeros of a variable, and all leading x but
/// one.
fn cut(bits: &str, signal: &Signal) -> String {
    let bits = bits.as_bytes();
    let lead = match bits.first() {
        Some(b'0' | b'1') => b'0',
        Some(other) => *other,
        None => b'x',
    };
    let bit =
        |place: u32| (place as usize).checked_add(1).and_then(|n| bits.len().checked_sub(n)).map_or(lead, |i| bits[i]);
    (signal.low..signal.low + signal.width).rev().map(|place| char::from(bit(place))).collect()
}
