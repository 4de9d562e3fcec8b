//! Draws bars of several parts as SVG, one below the other.

use std::fmt::Write as _;

use crate::error::{Failure, Result};
use crate::present::numbers::decimal;
use crate::present::palette::{COLOURS, escape};

/// Width of the drawing, and of a letter in it, in pixels.
const WIDTH: f64 = 720.0;
const LETTER: f64 = 6.6;
/// Heights of a row, of a bar, and of a heading.
const ROW: u32 = 20;
const BAR: u32 = 13;
const HEADING: u32 = 28;

/// A bar: its name, its parts, and what stands at its end.
#[derive(Clone, Debug)]
pub struct Bar {
    /// A heading; bars in sequence with the same one share it. Empty: none.
    pub group: String,
    /// The name at its left.
    pub name: String,
    /// Lengths of its parts, from left to right.
    pub parts: Vec<f64>,
    /// The text at its end.
    pub note: String,
}

/// The drawing. `level` is a value with a line through all bars.
pub(super) fn draw(title: &str, unit: &str, parts: &[&str], bars: &[Bar], level: Option<f64>) -> Result<String> {
    let numbers = || bars.iter().flat_map(|bar| &bar.parts);
    let known = |bar: &Bar| bar.parts.len() == parts.len();
    if bars.is_empty() || !bars.iter().all(known) || numbers().any(|x| !x.is_finite() || *x < 0.0) {
        return Err(Failure::Check(format!(
            "drawing `{title}`: no bars, or parts that are not one number each from 0 on"
        )));
    }
    let widest = |of: &dyn Fn(&Bar) -> &str| bars.iter().map(|bar| of(bar).chars().count()).max().unwrap_or(0) as f64;
    let left = widest(&|bar| &bar.name) * LETTER + 24.0;
    let plane = WIDTH - left - widest(&|bar| &bar.note) * LETTER - 24.0;
    let most = bars.iter().map(|bar| bar.parts.iter().sum::<f64>()).chain(level).fold(f64::MIN_POSITIVE, f64::max);
    let x = |value: f64| left + plane * value / most;

    let mut body = String::new();
    let mut y = 48;
    if parts.len() > 1 {
        let mut at = 16.0;
        for (number, part) in parts.iter().enumerate() {
            let _ = writeln!(
                body,
                "<rect class=\"f-s{}\" x=\"{at:.1}\" y=\"{}\" width=\"12\" height=\"12\"/>\
                 <text x=\"{:.1}\" y=\"{y}\" class=\"f-ink small\">{}</text>",
                number % COLOURS + 1,
                y - 10,
                at + 18.0,
                escape(part)
            );
            at += part.chars().count() as f64 * LETTER + 40.0;
        }
        y += ROW;
    }
    let _ = writeln!(body, "<text x=\"{left:.1}\" y=\"{y}\" class=\"f-muted small\">{}</text>", escape(unit));
    y += 8;
    let top = y;
    let mut group = "";
    for bar in bars {
        if bar.group != group {
            group = &bar.group;
            y += HEADING;
            let _ = writeln!(body, "<text x=\"16\" y=\"{}\" class=\"f-ink name\">{}</text>", y - 6, escape(group));
        }
        let middle = y + ROW / 2;
        let _ = writeln!(
            body,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"end\" class=\"f-ink small\">{}</text>",
            left - 8.0,
            middle + 4,
            escape(&bar.name)
        );
        let mut from = 0.0;
        for (number, (length, part)) in bar.parts.iter().zip(parts).enumerate() {
            if *length > 0.0 {
                let _ = writeln!(
                    body,
                    "<rect class=\"f-s{}\" x=\"{:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{BAR}\">\
                     <title>{}, {}: {}</title></rect>",
                    number % COLOURS + 1,
                    x(from),
                    middle - BAR / 2,
                    (plane * length / most).max(0.7),
                    escape(&bar.name),
                    escape(part),
                    decimal(*length, 2)
                );
            }
            from += length;
        }
        // The line of the level crosses no text.
        let end = x(from) + bar.note.chars().count() as f64 * LETTER + 10.0;
        let crossed = level.filter(|level| (x(from)..end).contains(&x(*level)));
        let _ = writeln!(
            body,
            "<text x=\"{:.1}\" y=\"{}\" class=\"f-muted small\">{}</text>",
            x(crossed.unwrap_or(from)) + 6.0,
            middle + 4,
            escape(&bar.note)
        );
        y += ROW;
    }
    if let Some(level) = level {
        let _ = writeln!(body, "<path class=\"l-ink front\" d=\"M{0:.1} {top}V{y}\"/>", x(level));
    }
    let (title, height) = (escape(title), y + 12);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n\
         <text x=\"16\" y=\"24\" class=\"f-ink title\">{title}</text>\n{body}</svg>\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(group: &str, name: &str, parts: &[f64]) -> Bar {
        Bar { group: group.into(), name: name.into(), parts: parts.to_vec(), note: "end".into() }
    }

    #[test]
    fn parts_follow_each_other() {
        let bars = [bar("all", "a < b", &[1.0, 3.0]), bar("all", "c", &[2.0, 0.0])];
        let svg = draw("of <two>", "per cent", &["logic", "memory"], &bars, Some(2.0)).unwrap();
        // Names of five letters leave 57 pixels at the left; four units take 719.2 - 57 - 43.8.
        assert!(svg.contains("a &lt; b, memory: 3") && svg.contains("of &lt;two&gt;"), "{svg}");
        assert!(!svg.contains("c, memory") && svg.matches(">all<").count() == 1, "{svg}");
        let starts = |part: &str| {
            let before = &svg[..svg.find(part).unwrap()];
            let (_, x) = before.rsplit_once(" x=\"").unwrap();
            x.split_once('"').unwrap().0.parse::<f64>().unwrap()
        };
        let [first, second] = ["a &lt; b, logic", "a &lt; b, memory"].map(starts);
        assert_eq!([first, starts("c, logic")], [57.0; 2]);
        assert!((second - 57.0 - (WIDTH - 57.0 - 43.8) / 4.0).abs() < 0.1, "{second}");
    }

    #[test]
    fn what_is_no_bar_is_refused() {
        assert!(draw("a", "b", &["c"], &[], None).is_err());
        for parts in [&[][..], &[-1.0], &[f64::NAN], &[1.0, 2.0]] {
            assert!(draw("a", "b", &["c"], &[bar("", "d", parts)], None).is_err(), "{parts:?}");
        }
    }
}
