//! Reads a VCD file: its variables, and their values cycle by cycle.

use std::fs;
use std::io::BufReader;
use std::ops::RangeInclusive;
use std::path::Path;

use vcd::{Command, IdCode, Parser, ReferenceIndex, Value};

use super::signal::Signal;
use crate::error::{Failure, Result};

/// A value that means nothing at the time.
pub(super) const NOTHING: &str = "-";

/// A file whose header has been read.
pub(super) struct File {
    parser: Parser<BufReader<fs::File>>,
    pub(super) variables: Vec<Variable>,
}

/// A variable of the file.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    /// Scopes around it, outermost first.
    pub(super) path: Vec<String>,
    /// Its name, with the index of an array's element.
    pub(super) name: String,
    pub(super) width: usize,
    pub(super) code: IdCode,
}

/// Values of signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Samples {
    /// Number of the first cycle.
    pub(super) first: u64,
    /// For each signal its bits in each cycle, the highest first.
    pub(super) values: Vec<Vec<String>>,
    /// Without a clock a column is a moment at which something changed.
    pub(super) clocked: bool,
}

impl Variable {
    /// Name with the scopes around it.
    pub(super) fn full_name(&self) -> String {
        format!("{}.{}", self.path.join("."), self.name)
    }

    /// Whether a user's `inner.name` may mean it.
    pub(super) fn is(&self, name: &str) -> bool {
        let full = self.full_name();
        full == name || full.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
    }
}

impl File {
    /// Reads the header.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = fs::File::open(path).map_err(|e| Failure::file("read", path, &e))?;
        let mut parser = Parser::new(BufReader::new(file));
        let variables = header(&mut parser).map_err(|e| {
            let hint = "`senbazuru sim BLOCK --trace FILE.vcd` makes VCD files";
            Failure::Usage(format!("{} is no VCD file: {e}; {hint}", path.display()))
        })?;
        Ok(Self { parser, variables })
    }

    /// The values of the signals in these cycles, to the end of the file at most.
    pub(super) fn read(
        &mut self,
        signals: &[Signal],
        clock: Option<usize>,
        cycles: RangeInclusive<u64>,
    ) -> Result<Samples, String> {
        let of_clock = clock.map(|v| self.variables[v].code);
        // Signals first, then what says when they mean something.
        let valid = signals.iter().filter_map(|s| s.valid);
        let variables = signals.iter().map(|s| s.variable).chain(valid);
        let codes: Vec<IdCode> = variables.map(|v| self.variables[v].code).collect();
        let mut now: Vec<String> = codes.iter().map(|_| String::new()).collect();
        let mut reader = Reader::new(signals, cycles, of_clock.is_some());
        let (mut time, mut clock_is) = (None, Value::X);
        // Changes of one moment belong together: they are applied when the next moment begins.
        let mut changes: Vec<(IdCode, String)> = Vec::new();
        while !reader.done {
            let command = self.parser.next().transpose().map_err(|e| format!("no VCD: {e}"))?;
            match command {
                Some(Command::ChangeScalar(code, value)) => changes.push((code, value.to_string())),
                Some(Command::ChangeVector(code, vector)) => {
                    changes.push((code, vector.iter().map(|v| v.to_string()).collect()));
                }
                Some(Command::Timestamp(_)) | None => {
                    if let Some(time) = time {
                        let rising = changes.iter().any(|(c, v)| Some(*c) == of_clock && v == "1");
                        if rising && clock_is == Value::V0 {
                            reader.edge(time, &now);
                        }
                    }
                    for (code, value) in changes.drain(..) {
                        if Some(code) == of_clock {
                            clock_is = value.parse().unwrap_or(Value::X);
                        }
                        for (slot, _) in now.iter_mut().zip(&codes).filter(|(_, c)| **c == code) {
                            slot.clone_from(&value);
                        }
                    }
                    if let (None, Some(time)) = (of_clock, time) {
                        reader.edge(time, &now);
                    }
                    match command {
                        Some(Command::Timestamp(next)) => time = Some(next),
                        _ => break,
                    }
                }
                Some(_) => {}
            }
        }
        reader.finish()
    }
}

/// Scopes inside one another, at most: every variable has the names of all that it is in.
const DEEPEST: usize = 500;

/// The variables of the header. Command by command: the parser's own tree of scopes would be built, and dropped, by
/// functions that call themselves, and overflow the stack on a file that nests deep enough.
fn header(parser: &mut Parser<BufReader<fs::File>>) -> Result<Vec<Variable>, String> {
    let (mut path, mut variables) = (Vec::new(), Vec::new());
    for command in parser {
        match command.map_err(|e| e.to_string())? {
            Command::ScopeDef(_, _) if path.len() == DEEPEST => {
                return Err(format!("its scopes are nested more than {DEEPEST} deep"));
            }
            Command::ScopeDef(_, name) => path.push(name),
            Command::Upscope if path.pop().is_none() => return Err("a scope ends that did not begin".into()),
            Command::VarDef(_, size, code, name, index) => {
                let index = match index {
                    Some(ReferenceIndex::BitSelect(i)) => format!("[{i}]"),
                    _ => String::new(),
                };
                let (path, name) = (path.clone(), format!("{name}{index}"));
                variables.push(Variable { path, name, width: size.max(1) as usize, code });
            }
            Command::Enddefinitions => return Ok(variables),
            _ => {}
        }
    }
    Err("it ends within its header".into())
}

/// Takes samples at the edges that are asked for.
struct Reader<'a> {
    signals: &'a [Signal],
    cycles: RangeInclusive<u64>,
    clocked: bool,
    edges: Vec<u64>,
    samples: Vec<(usize, Vec<String>)>,
    done: bool,
}

impl<'a> Reader<'a> {
    fn new(signals: &'a [Signal], cycles: RangeInclusive<u64>, clocked: bool) -> Self {
        Self { signals, cycles, clocked, edges: Vec::new(), samples: Vec::new(), done: false }
    }

    /// Number of the first cycle of the file: a trace may begin late, and then its times tell.
    fn base(&self) -> u64 {
        match self.edges[..] {
            [first, second, ..] if self.clocked && first % (second - first) == 0 => {
                (first / (second - first)).saturating_sub(1)
            }
            _ => 0,
        }
    }

    fn edge(&mut self, time: u64, now: &[String]) {
        self.edges.push(time);
        let place = self.edges.len() - 1;
        // The first two edges tell the number of the first.
        let number = self.base() + place as u64;
        if place < 2 || self.cycles.contains(&number) {
            let (values, valid) = now.split_at(self.signals.len());
            let mut valid = valid.iter();
            let value = |(signal, bits): (&Signal, &String)| {
                let means = signal.valid.is_none() || valid.next().is_some_and(|v| v == "1");
                if means { cut(bits, signal) } else { NOTHING.to_owned() }
            };
            self.samples.push((place, self.signals.iter().zip(values).map(value).collect()));
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
            clocked: self.clocked,
        })
    }
}

/// The bits of a signal out of those of its variable; VCD leaves out leading zeros, and repeats a leading x.
fn cut(bits: &str, signal: &Signal) -> String {
    let lead = match bits.chars().next() {
        Some('0' | '1') => '0',
        _ => 'x',
    };
    let need = signal.low + signal.width;
    let all: String = std::iter::repeat_n(lead, need.saturating_sub(bits.len())).chain(bits.chars()).collect();
    all[all.len() - need..all.len() - signal.low].to_owned()
}
