//! The signals that a user asks for: names, bits of them, and the format of values.

use super::sample::Sample;
use crate::catalogue::similar;
use crate::waveform::{Kind as Holds, Variable};

/// How values of a bus are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Hex,
    Decimal,
    Signed,
    Binary,
    Fp16,
    Bf16,
    Fp32,
}

const FORMATS: [(&str, Format); 7] = [
    ("hex", Format::Hex),
    ("dec", Format::Decimal),
    ("signed", Format::Signed),
    ("bin", Format::Binary),
    ("fp16", Format::Fp16),
    ("bf16", Format::Bf16),
    ("fp32", Format::Fp32),
];

/// A line of the drawing.
#[derive(Clone, Debug)]
pub(super) struct Signal {
    /// The label next to the line.
    pub(super) label: String,
    /// The variable, by its place in the file.
    pub(super) variable: usize,
    /// Place of the lowest bit, and number of bits; 0 bits for numbers and texts.
    pub(super) low: u32,
    pub(super) width: u32,
    pub(super) format: Format,
    pub(super) kind: Kind,
    /// The variable that says when the value means something.
    pub(super) valid: Option<usize>,
}

/// Kinds of lines, which differ in colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Clock,
    Input,
    Output,
    Internal,
}

/// Bits of a line, at most: nobody reads more, and a file may declare any number.
const WIDEST: u32 = 4096;

/// The variable that is the clock; none when the user wants none, or does not say and there is no `clk_i`.
pub(super) fn clock(variables: &[Variable], name: Option<&str>) -> Result<Option<usize>, String> {
    let Some(name) = name else {
        let candidates = (0..variables.len()).filter(|&i| variables[i].is("clk_i"));
        return Ok(candidates.min_by_key(|&i| variables[i].path.len()));
    };
    match find(variables, name) {
        Err(_) if name == "none" => Ok(None),
        found => found
            .and_then(|place| one_bit(variables, place))
            .map(Some)
            .map_err(|e| format!("--clock: {e}; `--clock none` draws without one")),
    }
}

/// The signals that a user names, in that order, or all ports.
pub(super) fn choose(variables: &[Variable], names: &[String], clock: Option<usize>) -> Result<Vec<Signal>, String> {
    if !names.is_empty() {
        return names.iter().map(|text| parse(variables, text, clock)).collect();
    }
    let ports = (0..variables.len()).filter(|&i| variables[i].path.len() <= 1);
    let mut signals: Vec<Signal> = ports
        .map(|place| line(variables, place, &variables[place].name, None, None, clock))
        .collect::<Result<_, _>>()?;
    if signals.is_empty() {
        return Err("it has no signals".into());
    }
    signals.sort_by_key(|s| (s.kind != Kind::Clock, s.kind == Kind::Output));
    Ok(signals)
}

/// `name`, `inner.name`, `name[7:0]`, `name:fp16`, `name@valid`, and all of these together.
fn parse(variables: &[Variable], text: &str, clock: Option<usize>) -> Result<Signal, String> {
    let (text, valid) = match text.split_once('@') {
        Some((text, valid)) => (text, Some(one_bit(variables, find(variables, valid)?)?)),
        None => (text, None),
    };
    let (name, format) = match text.rsplit_once(':') {
        Some((name, word)) if !word.ends_with(']') => {
            let found = FORMATS.iter().find(|(known, _)| *known == word);
            let known = FORMATS.map(|(name, _)| name).join(", ");
            (name, Some(found.ok_or_else(|| format!("`{text}`: unknown format `{word}`; the formats are {known}"))?.1))
        }
        _ => (text, None),
    };
    let (name, bits) = match slice(name) {
        Some((short, first, last)) if find(variables, name).is_err() => (short, Some((first, last))),
        _ => (name, None),
    };
    let signal = line(variables, find(variables, name)?, name, bits, format, clock);
    signal.map(|s| Signal { valid, ..s }).map_err(|e| format!("`{text}`: {e}"))
}

/// A line of a variable, which the user calls `name`.
fn line(
    variables: &[Variable],
    variable: usize,
    name: &str,
    bits: Option<(i64, i64)>,
    format: Option<Format>,
    clock: Option<usize>,
) -> Result<Signal, String> {
    let v = &variables[variable];
    let kind = match v.path.len() {
        _ if clock.is_some_and(|c| variables[c].name == v.name) => Kind::Clock,
        0 | 1 if v.name.ends_with("_o") => Kind::Output,
        0 | 1 => Kind::Input,
        _ => Kind::Internal,
    };
    let plain = Signal {
        label: name.to_owned(),
        variable,
        low: 0,
        width: v.width,
        format: format.unwrap_or(Format::Hex),
        kind,
        valid: None,
    };
    let (left, right) = v.indices();
    let whole = match v.kind {
        Holds::Bits => bits.is_none(),
        Holds::Event | Holds::Real | Holds::Text if bits.is_none() && format.is_none() => return Ok(plain),
        Holds::Event => return Err(format!("`{name}` is an event, which has no bits and no format")),
        Holds::Real => return Err(format!("`{name}` is a real number, which has no bits and no format")),
        Holds::Text => return Err(format!("`{name}` is a text, which has no bits and no format")),
    };
    // Indices may fall or rise, and need not begin at 0.
    let (first, last) = bits.unwrap_or((left, right));
    let inside = |index: &i64| (left.min(right)..=left.max(right)).contains(index);
    let place = |index: i64| u32::try_from(index.abs_diff(right)).ok();
    let (Some(high), Some(low)) = (
        Some(first).filter(inside).and_then(place),
        Some(last).filter(inside).and_then(place).filter(|low| Some(*low) <= place(first)),
    ) else {
        return Err(format!("bits {first} to {last} of `{name}`, which has bits {left} to {right}"));
    };
    let some = |count: u32| {
        let to = if left < right { right - i64::from(count) + 1..=right } else { right..=right + i64::from(count) - 1 };
        let (first, last) = if left < right { (to.start(), to.end()) } else { (to.end(), to.start()) };
        format!("choose some, as in `{name}[{first}:{last}]`")
    };
    let width = u64::from(high - low) + 1;
    let wanted = match format {
        Some(Format::Fp16 | Format::Bf16) => Some(16),
        Some(Format::Fp32) => Some(32),
        _ => None,
    };
    if let Some(wanted) = wanted.filter(|w| u64::from(*w) != width) {
        return Err(format!("the format has {wanted} bits, the signal {width}; {}", some(wanted)));
    }
    if width > u64::from(WIDEST) {
        return Err(format!("`{name}` has {width} bits, a drawing shows {WIDEST}; {}", some(WIDEST)));
    }
    let label = match () {
        () if !whole || (left, right) != (i64::from(v.width) - 1, 0) => format!("{name}[{first}:{last}]"),
        () => name.to_owned(),
    };
    Ok(Signal { label, low, width: width as u32, ..plain })
}

/// A variable that must be 0 or 1.
fn one_bit(variables: &[Variable], place: usize) -> Result<usize, String> {
    let v = &variables[place];
    match (v.kind, v.width) {
        (Holds::Bits | Holds::Event, 1) => Ok(place),
        (Holds::Bits, width) => Err(format!("`{}` has {width} bits, not one", v.name)),
        _ => Err(format!("`{}` is not a bit", v.name)),
    }
}

/// `name[7:0]` and `name[3]` in parts.
fn slice(text: &str) -> Option<(&str, i64, i64)> {
    let (name, bits) = text.strip_suffix(']')?.rsplit_once('[')?;
    let (first, last) = bits.split_once(':').unwrap_or((bits, bits));
    Some((name, first.parse().ok()?, last.parse().ok()?))
}

/// The variable of this name: a port of the top, or the only one whose path ends so.
fn find(variables: &[Variable], name: &str) -> Result<usize, String> {
    let places: Vec<usize> = (0..variables.len()).filter(|&i| variables[i].is(name)).collect();
    if let Some(&port) = places.iter().find(|&&i| variables[i].path.len() <= 1) {
        return Ok(port);
    }
    // The top module repeats its ports. A signal in it goes before signals that are deeper.
    let depth = |i: &usize| variables[*i].path.len();
    let least = places.iter().map(depth).min();
    let nearest: Vec<usize> = places.iter().copied().filter(|i| Some(depth(i)) == least).collect();
    match nearest[..] {
        [only] => Ok(only),
        [] => {
            let names: Vec<&str> = variables.iter().map(|v| v.name.as_str()).collect();
            let mut near = similar(name.rsplit('.').next().unwrap_or(name), &names);
            near.dedup();
            let hint = if near.is_empty() {
                let ports = variables.iter().filter(|v| v.path.len() <= 1).map(|v| v.name.as_str());
                format!("the ports are: {}", ports.collect::<Vec<_>>().join(", "))
            } else {
                format!("did you mean {}?", near.join(" or "))
            };
            Err(format!("no signal `{name}`; {hint}"))
        }
        _ => {
            let paths: Vec<_> = nearest.iter().take(4).map(|&i| variables[i].full_name()).collect();
            Err(format!("`{name}` is in several modules; say which: {}", paths.join(", ")))
        }
    }
}

impl Signal {
    /// A value for a person; unknown bits are `x`.
    pub(super) fn text(&self, value: &Sample) -> String {
        let bits = match value {
            Sample::Nothing => return String::new(),
            Sample::Text(text) => return text.clone(),
            Sample::Bits(bits) => bits,
        };
        if bits.contains(|c| c != '0' && c != '1') {
            return "x".into();
        }
        let digits = |group: usize| -> String {
            let padded = format!("{}{bits}", "0".repeat((group - bits.len() % group) % group));
            let digit = |chunk: &[u8]| {
                let value = chunk.iter().fold(0, |v, b| v * 2 + u32::from(*b == b'1'));
                char::from_digit(value, 16).unwrap_or('?').to_ascii_uppercase()
            };
            padded.as_bytes().chunks(group).map(digit).collect()
        };
        let whole = u128::from_str_radix(bits, 2).ok();
        match (self.format, whole) {
            (Format::Binary, _) => bits.clone(),
            (Format::Decimal, Some(n)) => n.to_string(),
            (Format::Signed, Some(n)) => {
                let unused = 128 - self.width;
                (((n << unused) as i128) >> unused).to_string()
            }
            (Format::Fp16, Some(n)) => number(half::f16::from_bits(n as u16).to_f64()),
            (Format::Bf16, Some(n)) => number(half::bf16::from_bits(n as u16).to_f64()),
            (Format::Fp32, Some(n)) => number(f32::from_bits(n as u32).into()),
            (Format::Hex, _) | (_, None) => digits(4),
        }
    }
}

/// Four digits that matter; the file has the others.
pub(super) fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { if x.is_sign_negative() { "-0".into() } else { "0".into() } } else { x.to_string() };
    }
    if !(1e-3..1e5).contains(&x.abs()) {
        return format!("{x:.2e}");
    }
    let decimals = usize::try_from(3 - x.abs().log10().floor() as i32).unwrap_or(0);
    let text = format!("{x:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Vec<Variable> {
        let variable = |path: &str, name: &str, width| Variable {
            path: path.split('.').map(str::to_owned).collect(),
            name: name.into(),
            kind: Holds::Bits,
            width,
            range: None,
            code: 0,
        };
        vec![
            variable("TOP", "clk_i", 1),
            variable("TOP", "data_i", 32),
            variable("TOP", "sum_o", 16),
            variable("TOP.mesh", "sum_o", 16),
            variable("TOP.mesh", "row[0]", 8),
            variable("TOP.mesh.u_a", "acc_q", 16),
            variable("TOP.mesh.u_b", "acc_q", 16),
        ]
    }

    fn read(text: &str) -> Result<Signal, String> {
        parse(&variables(), text, Some(0))
    }

    #[test]
    fn names_bits_formats() {
        let place = |text| read(text).map(|s| (s.variable, s.low, s.width, s.format)).unwrap();
        assert_eq!(place("sum_o"), (2, 0, 16, Format::Hex));
        assert_eq!(place("sum_o:fp16"), (2, 0, 16, Format::Fp16));
        assert_eq!(place("data_i[31:16]:signed"), (1, 16, 16, Format::Signed));
        assert_eq!(place("data_i[3]"), (1, 3, 1, Format::Hex));
        assert_eq!(place("row[0]:dec"), (4, 0, 8, Format::Decimal));
        assert_eq!(place("row[0][3:0]"), (4, 0, 4, Format::Hex));
        assert_eq!(place("u_b.acc_q"), (6, 0, 16, Format::Hex));
        assert_eq!(read("sum_o:dec@clk_i").unwrap().valid, Some(0));
        for (text, part) in [
            ("sum_o@ready_o", "no signal `ready_o`"),
            ("summ_o", "no signal `summ_o`; did you mean sum_o?"),
            ("zzz", "the ports are: clk_i, data_i, sum_o"),
            ("acc_q", "in several modules; say which: TOP.mesh.u_a.acc_q, TOP.mesh.u_b.acc_q"),
            ("sum_o:oct", "unknown format `oct`; the formats are hex, dec,"),
            ("sum_o[16:0]", "bits 16 to 0 of `sum_o`, which has bits 15 to 0"),
            ("data_i:fp16", "the format has 16 bits, the signal 32; choose some, as in `data_i[15:0]`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn values() {
        let text = |format: &str, bits: &str| {
            let (name, width) = if bits.len() == 16 { ("sum_o", 16) } else { ("data_i", bits.len()) };
            let name = if width == 16 { name.to_owned() } else { format!("{name}[{}:0]", width - 1) };
            read(&format!("{name}:{format}")).unwrap().text(&Sample::Bits(bits.into()))
        };
        assert_eq!(text("hex", "101011"), "2B");
        assert_eq!(text("dec", "101011"), "43");
        assert_eq!(text("signed", "101011"), "-21");
        assert_eq!(text("bin", "0101"), "0101");
        assert_eq!(text("hex", "1x"), "x");
        assert_eq!(text("fp16", "0011110000000000"), "1");
        assert_eq!(text("bf16", "1100000001001001"), "-3.141");
        assert_eq!(text("fp16", "0000000000000001"), "5.96e-8");
        assert_eq!(text("fp16", "1111110000000000"), "-inf");
        assert_eq!(text("fp16", "1000000000000000"), "-0");
    }
}
