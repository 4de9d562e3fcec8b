//! Ready/valid streams: drivers that offer beats, monitors that take and check them.
//!
//! A stream `in` of a design consists of `in_valid_i`, `in_ready_o` and one input `in_<field>_i` per field; a stream
//! `out` of `out_valid_o`, `out_ready_i` and `out_<field>_o`. The empty name stands for `valid_i`, `ready_o`,
//! `<field>_i`. A stream without a ready port has no back-pressure. A beat passes at a rising edge with valid and ready
//! both high. Once valid is high, it stays high with the same data until the beat passes.
//!
//! [`crate::Run::streams`] runs them to the end, [`crate::Run::cycle`] for one cycle: all drive, the design settles,
//! all sample, the clock ticks.

use std::collections::VecDeque;

use rand::Rng;

use crate::stimulus::{Stall, StallPattern, StimulusRng, rng_for};
use crate::{Bits, Error, In, Out, Result, Sim};

/// The data of one transfer: one value per field, in the order in which the fields were given.
pub type Beat = Vec<Bits>;

/// Offers queued beats to an input stream, with pauses, and never takes an offer back.
pub struct StreamDriver {
    name: String,
    valid: In,
    ready: Option<Out>,
    fields: Vec<In>,
    widths: Vec<u32>,
    queue: VecDeque<Beat>,
    pattern: StallPattern,
    noise: StimulusRng,
    offered: bool,
    sent: u64,
    waited: u64,
}

impl StreamDriver {
    /// Binds the stream `name` with these fields. Without an offer its data is random, so that a bench notices a design
    /// that ignores valid. `seed` fixes the pauses and the random data.
    ///
    /// # Errors
    /// [`crate::Error::UnknownPort`] when a port is missing.
    pub fn new(sim: &Sim, name: &str, fields: &[&str], stall: Stall, seed: u64) -> Result<Self> {
        let port = |part: &str, suffix: &str| port_name(name, part, suffix);
        let fields: Vec<In> = fields.iter().map(|f| sim.input(&port(f, "i"))).collect::<Result<_>>()?;
        Ok(Self {
            name: name.to_owned(),
            valid: sim.input(&port("valid", "i"))?,
            ready: sim.output(&port("ready", "o")).ok(),
            widths: fields.iter().map(|&f| sim.port_of_input(f).width).collect(),
            fields,
            queue: VecDeque::new(),
            pattern: stall.pattern(seed, &format!("{name} driver")),
            noise: rng_for(seed, &format!("{name} noise")),
            offered: false,
            sent: 0,
            waited: 0,
        })
    }

    /// Queues a beat.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when it has other fields or widths than the stream.
    pub fn push(&mut self, beat: Beat) -> Result<()> {
        check_beat(&self.name, &self.widths, &beat)?;
        self.queue.push_back(beat);
        Ok(())
    }

    /// Queues beats; see [`StreamDriver::push`].
    pub fn extend(&mut self, beats: impl IntoIterator<Item = Beat>) -> Result<()> {
        beats.into_iter().try_for_each(|beat| self.push(beat))
    }

    /// Queues beats of a stream with a single field.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the stream has more fields or a value does not fit.
    pub fn extend_u64(&mut self, values: impl IntoIterator<Item = u64>) -> Result<()> {
        values.into_iter().try_for_each(|value| self.push(beat_of(&self.name, &self.widths, value)?))
    }

    /// Sets valid and data of this cycle.
    pub(crate) fn drive(&mut self, sim: &mut Sim) {
        // The pattern advances in every cycle, so that it does not depend on the design's answers.
        let pause = self.pattern.next_pause();
        self.offered = !self.queue.is_empty() && (self.offered || !pause);
        sim.poke_u64(self.valid, u64::from(self.offered));
        match self.queue.front().filter(|_| self.offered) {
            Some(beat) => {
                for (&field, value) in self.fields.iter().zip(beat) {
                    sim.poke(field, value);
                }
            }
            None => {
                for (&field, &width) in self.fields.iter().zip(&self.widths) {
                    match width {
                        0..=64 => sim.poke_u64(field, self.noise.next_u64() & crate::bits::mask(width)),
                        _ => sim.poke(field, &Bits::random(width, &mut self.noise)),
                    }
                }
            }
        }
    }

    /// Looks whether the offer is taken at the coming edge. Returns whether a beat passes.
    pub(crate) fn sample(&mut self, sim: &Sim) -> bool {
        if !self.offered {
            return false;
        }
        let taken = self.ready.is_none_or(|ready| sim.peek_u64(ready) == 1);
        if taken {
            self.queue.pop_front();
            self.offered = false;
            self.sent += 1;
        } else {
            self.waited += 1;
        }
        taken
    }

    /// All beats were taken.
    pub fn is_done(&self) -> bool {
        self.queue.is_empty()
    }

    /// Name of the stream.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Beats taken by the design so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Cycles in which an offer was not taken.
    pub fn waited(&self) -> u64 {
        self.waited
    }

    pub(crate) fn state(&self) -> String {
        let state = if self.offered { "valid high, ready low" } else { "not offering" };
        format!("input stream `{}`: {} beats taken, {} left, {state}", self.name, self.sent, self.queue.len())
    }
}

/// An error that a monitor saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Another value than expected.
    Value { port: String, expected: Bits, got: Bits, place: String },
    /// A breach of the ready/valid rules, or a beat too many.
    Protocol { port: String, problem: String },
}

/// Takes beats from an output stream, with pauses, checks the protocol and compares with expected beats.
pub struct StreamMonitor {
    name: String,
    valid: Out,
    ready: Option<In>,
    fields: Vec<Out>,
    widths: Vec<u32>,
    field_names: Vec<String>,
    ports: Vec<String>,
    valid_port: String,
    pattern: StallPattern,
    taking: bool,
    held: Option<Beat>,
    expected: Option<VecDeque<Beat>>,
    beats: Vec<Beat>,
    waited: u64,
}

impl StreamMonitor {
    /// Binds the stream `name` with these fields; `seed` fixes the pauses.
    ///
    /// # Errors
    /// [`crate::Error::UnknownPort`] when a port is missing.
    pub fn new(sim: &Sim, name: &str, fields: &[&str], stall: Stall, seed: u64) -> Result<Self> {
        let port = |part: &str, suffix: &str| port_name(name, part, suffix);
        let ready = sim.input(&port("ready", "i")).ok();
        let outputs: Vec<Out> = fields.iter().map(|f| sim.output(&port(f, "o"))).collect::<Result<_>>()?;
        Ok(Self {
            name: name.to_owned(),
            valid: sim.output(&port("valid", "o"))?,
            widths: outputs.iter().map(|&f| sim.port_of(f).width).collect(),
            fields: outputs,
            field_names: fields.iter().map(ToString::to_string).collect(),
            ports: fields.iter().map(|f| port(f, "o")).collect(),
            valid_port: port("valid", "o"),
            pattern: if ready.is_some() { stall } else { Stall::Never }.pattern(seed, &format!("{name} monitor")),
            ready,
            taking: false,
            held: None,
            expected: None,
            beats: Vec::new(),
            waited: 0,
        })
    }

    /// Adds beats that must come next, in this order. A monitor without expected beats only records.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when a beat has other fields or widths than the stream.
    pub fn expect(&mut self, beats: impl IntoIterator<Item = Beat>) -> Result<()> {
        for beat in beats {
            check_beat(&self.name, &self.widths, &beat)?;
            self.expected.get_or_insert_default().push_back(beat);
        }
        Ok(())
    }

    /// From now on every beat is compared, although none may be expected so far.
    pub fn expect_nothing_else(&mut self) {
        self.expected.get_or_insert_default();
    }

    /// Adds expected beats of a stream with a single field.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the stream has more fields or a value does not fit.
    pub fn expect_u64(&mut self, values: impl IntoIterator<Item = u64>) -> Result<()> {
        values.into_iter().try_for_each(|value| self.expect([beat_of(&self.name, &self.widths, value)?]))
    }

    /// Sets ready of this cycle.
    pub(crate) fn drive(&mut self, sim: &mut Sim) {
        self.taking = !self.pattern.next_pause();
        if let Some(ready) = self.ready {
            sim.poke_u64(ready, u64::from(self.taking));
        }
    }

    /// Looks at the settled outputs, checks them, and takes the beat that passes at the coming edge, if any.
    pub(crate) fn sample(&mut self, sim: &Sim) -> Result<bool, Wrong> {
        if sim.peek_u64(self.valid) == 0 {
            if self.held.is_some() {
                return Err(self.breach("valid fell before ready was high".to_owned()));
            }
            return Ok(false);
        }
        let beat: Beat = self.fields.iter().map(|&f| sim.peek(f)).collect();
        if let Some(held) = &self.held
            && let Some(i) = (0..beat.len()).find(|&i| held[i] != beat[i])
        {
            let problem = format!("changed from {} to {} while valid waited for ready", held[i], beat[i]);
            return Err(Wrong::Protocol { port: self.ports[i].clone(), problem });
        }
        if !self.taking {
            self.waited += 1;
            self.held = Some(beat);
            return Ok(false);
        }
        self.held = None;
        self.compare(&beat)?;
        self.beats.push(beat);
        Ok(true)
    }

    fn compare(&mut self, beat: &Beat) -> Result<(), Wrong> {
        let Some(queue) = &mut self.expected else { return Ok(()) };
        let index = self.beats.len();
        let Some(expected) = queue.pop_front() else {
            return Err(self.breach(format!("beat {index} ({beat:?}) comes after the last expected one")));
        };
        match (0..beat.len()).find(|&i| beat[i] != expected[i]) {
            None => Ok(()),
            Some(i) => Err(Wrong::Value {
                port: self.ports[i].clone(),
                expected: expected[i].clone(),
                got: beat[i].clone(),
                place: format!("beat {index} of stream `{}`", self.name),
            }),
        }
    }

    /// The valid port, and the ports of the fields.
    pub(crate) fn port_names(&self) -> (&str, &[String]) {
        (&self.valid_port, &self.ports)
    }

    /// No expected beat is missing.
    pub fn is_done(&self) -> bool {
        self.expected.as_ref().is_none_or(VecDeque::is_empty)
    }

    /// Whether beats are compared, and not only recorded.
    pub(crate) fn compares(&self) -> bool {
        self.expected.is_some()
    }

    /// Names of the fields, in the order of a beat's values.
    pub fn fields(&self) -> &[String] {
        &self.field_names
    }

    /// All beats taken so far.
    pub fn beats(&self) -> &[Beat] {
        &self.beats
    }

    /// Name of the stream.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Cycles in which the design had to wait for this monitor.
    pub fn waited(&self) -> u64 {
        self.waited
    }

    pub(crate) fn state(&self) -> String {
        let missing = self.expected.as_ref().map_or(0, VecDeque::len);
        let state = if self.held.is_some() { "valid high" } else { "valid low" };
        format!("output stream `{}`: {} beats received, {missing} missing, {state}", self.name, self.beats.len())
    }

    fn breach(&self, problem: String) -> Wrong {
        Wrong::Protocol { port: self.valid_port.clone(), problem }
    }
}

pub(crate) fn port_name(stream: &str, part: &str, suffix: &str) -> String {
    if stream.is_empty() { format!("{part}_{suffix}") } else { format!("{stream}_{part}_{suffix}") }
}

fn beat_of(stream: &str, widths: &[u32], value: u64) -> Result<Beat> {
    let &[width] = widths else {
        return Err(Error::Unsupported(format!("stream `{stream}` has {} fields: give whole beats", widths.len())));
    };
    let bits = Bits::from_u64(width, value).map_err(|e| Error::Unsupported(format!("stream `{stream}`: {e}")))?;
    Ok(vec![bits])
}

fn check_beat(stream: &str, widths: &[u32], beat: &Beat) -> Result<()> {
    if beat.iter().map(Bits::width).eq(widths.iter().copied()) {
        return Ok(());
    }
    Err(Error::Unsupported(format!("stream `{stream}` has fields of {widths:?} bits; a beat given to it is {beat:?}")))
}
