//! Draws samples as a timing diagram.

use std::fmt::Write as _;

use super::sample::Sample;
use super::samples::Samples;
use super::signal::{Kind, Signal};
use crate::present::palette::{escape, standalone};

/// Height of a line and of the wave in it, of the heading, and width of a letter, in pixels.
const LINE: usize = 32;
const WAVE: usize = 20;
const LETTER: f64 = 7.23;
/// Least and largest width of a cycle, and from where on numbers stand at every cycle.
const NARROW: usize = 22;
const WIDE: usize = 84;
const NUMBERED: usize = 26;
/// Slope of a bus where its value changes.
const SLOPE: usize = 3;

pub(super) fn draw(title: &str, signals: &[Signal], samples: &Samples) -> String {
    let cycles = samples.values.first().map_or(0, Vec::len);
    let step = width_of_a_cycle(signals, samples);
    let names = signals.iter().map(|s| s.label.chars().count()).max().unwrap_or(0);
    let left = 16 + (names as f64 * LETTER).ceil() as usize + 12;
    let top = if title.is_empty() { 30 } else { 58 };
    let (width, height) = (left + cycles * step + 16, top + signals.len() * LINE + 10);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n",
        escape(if title.is_empty() { "Timing diagram" } else { title })
    );
    if !title.is_empty() {
        let _ = writeln!(svg, "<text x=\"16\" y=\"26\" class=\"f-ink title\">{}</text>", escape(title));
    }
    let word = if samples.clocked { "cycle" } else { "step" };
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"f-muted small\">{word}</text>",
        left - 12,
        top - 10
    );
    let every = if step >= NUMBERED { 1 } else { 5 };
    for cycle in 0..cycles {
        let (x, number) = (left + cycle * step, samples.first + cycle as u64);
        if number % every == 0 {
            let middle = x + step / 2;
            let _ = writeln!(
                svg,
                "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" class=\"f-muted small\">{number}</text>",
                top - 10
            );
        }
    }
    for cycle in 0..=cycles {
        let x = left + cycle * step;
        let _ = writeln!(svg, "<path class=\"l-grid\" d=\"M{x}.5 {top}V{}\"/>", height - 8);
    }
    for (i, (signal, values)) in signals.iter().zip(&samples.values).enumerate() {
        let high = top + i * LINE + (LINE - WAVE) / 2;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"f-ink code\">{}</text>",
            left - 12,
            high + WAVE / 2 + 4,
            escape(&signal.label)
        );
        let place = Place { left, step, high };
        svg += &match signal.kind {
            Kind::Clock if samples.clocked => clock(&place, cycles),
            _ if signal.width == 1 => bit(&place, signal, values),
            _ => bus(&place, signal, values),
        };
    }
    standalone(&(svg + "</svg>\n"))
}

/// Wide enough for the values that are seen, within reason.
fn width_of_a_cycle(signals: &[Signal], samples: &Samples) -> usize {
    let mut width = NARROW;
    for (signal, values) in signals.iter().zip(&samples.values).filter(|(s, _)| s.width != 1) {
        for (value, from, to) in runs(values).into_iter().filter(|(value, ..)| **value != Sample::Nothing) {
            let need = signal.text(value).chars().count() as f64 * LETTER + 10.0;
            width = width.max((need / (to - from) as f64).ceil() as usize);
        }
    }
    width.min(WIDE)
}

/// Where a line is.
struct Place {
    left: usize,
    step: usize,
    high: usize,
}

impl Place {
    fn x(&self, cycle: usize) -> usize {
        self.left + cycle * self.step
    }

    fn low(&self) -> usize {
        self.high + WAVE
    }
}

/// Neighbours of one value: value, first cycle, cycle after the last.
fn runs(values: &[Sample]) -> Vec<(&Sample, usize, usize)> {
    let mut runs: Vec<(&Sample, usize, usize)> = Vec::new();
    for (cycle, value) in values.iter().enumerate() {
        match runs.last_mut() {
            Some((last, _, to)) if *last == value => *to = cycle + 1,
            _ => runs.push((value, cycle, cycle + 1)),
        }
    }
    runs
}

fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Clock => "muted",
        Kind::Input => "s1",
        Kind::Output => "s2",
        Kind::Internal => "s3",
    }
}

fn clock(place: &Place, cycles: usize) -> String {
    let mut path = format!("M{} {}", place.left, place.low());
    for cycle in 0..cycles {
        let (x, half) = (place.x(cycle), place.step / 2);
        let _ = write!(path, "L{x} {}H{}V{}H{}", place.high, x + half, place.low(), x + place.step);
    }
    format!("<path class=\"l-muted wave\" d=\"{path}\"/>\n")
}

fn bit(place: &Place, signal: &Signal, values: &[Sample]) -> String {
    let colour = colour(signal.kind);
    let (mut path, mut areas) = (String::new(), String::new());
    for (value, from, to) in runs(values) {
        let is = |bit: &str| matches!(value, Sample::Bits(bits) if bits == bit);
        let y = match () {
            () if is("1") => place.high,
            () if is("0") => place.low(),
            () => place.high + WAVE / 2,
        };
        let command = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{command}{} {y}H{}", place.x(from), place.x(to));
        if is("1") {
            let width = (to - from) * place.step;
            let _ = writeln!(
                areas,
                "<rect class=\"f-{colour} tint\" x=\"{}\" y=\"{y}\" width=\"{width}\" height=\"{WAVE}\"/>",
                place.x(from)
            );
        }
    }
    format!("{areas}<path class=\"l-{colour} wave\" d=\"{path}\"/>\n")
}

fn bus(place: &Place, signal: &Signal, values: &[Sample]) -> String {
    let colour = colour(signal.kind);
    let mut svg = String::new();
    for (value, from, to) in runs(values) {
        let (a, b) = (place.x(from), place.x(to));
        let (high, middle, low) = (place.high, place.high + WAVE / 2, place.low());
        if *value == Sample::Nothing {
            let _ = writeln!(svg, "<path class=\"l-grid wave\" d=\"M{a} {middle}H{b}\"/>");
            continue;
        }
        let text = signal.text(value);
        // A bus at zero is drawn empty, so that other values stand out.
        let quiet = match value {
            Sample::Bits(bits) => bits.bytes().all(|b| b == b'0'),
            Sample::Text(_) | Sample::Nothing => text == "0",
        };
        let class = if quiet { format!("l-{colour} wave") } else { format!("l-{colour} f-{colour} bus-value") };
        let _ = writeln!(
            svg,
            "<path class=\"{class}\" d=\"M{a} {middle}L{} {high}H{}L{b} {middle}L{1} {low}H{0}z\"/>",
            a + SLOPE,
            b - SLOPE
        );
        let letters = ((b - a) as f64 - 6.0) / LETTER;
        let shown: String = if text.chars().count() as f64 <= letters {
            text.clone()
        } else {
            text.chars().take((letters - 1.0).max(0.0) as usize).chain(['…']).collect()
        };
        let class = if quiet { "f-muted" } else { "f-ink" };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" class=\"{class} code\">{}<title>{}</title></text>",
            (a + b) / 2,
            middle + 4,
            escape(&shown),
            escape(&text)
        );
    }
    svg
}
