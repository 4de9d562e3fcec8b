//! What a user asks to see: names, bits of them, and how values are written.

use super::samples::Variable;
use crate::registry::similar;

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
    /// What stands beside the line.
    pub(super) label: String,
    /// The variable, by its place in the file.
    pub(super) variable: usize,
    /// Lowest bit and number of bits.
    pub(super) low: usize,
    pub(super) width: usize,
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

/// The variable that is the clock; none when the user wants none, or does not say and there is no `clk_i`.
pub(super) fn clock(variables: &[Variable], name: Option<&str>) -> Result<Option<usize>, String> {
    let Some(name) = name else {
        let candidates = (0..variables.len()).filter(|&i| variables[i].is("clk_i"));
        return Ok(candidates.min_by_key(|&i| variables[i].path.len()));
    };
    match find(variables, name) {
        Err(_) if name == "none" => Ok(None),
        found => found.map(Some).map_err(|e| format!("--clock: {e}; `--clock none` draws without one")),
    }
}

/// The signals that a user names, in that order, or all ports.
pub(super) fn choose(variables: &[Variable], names: &[String], clock: Option<usize>) -> Result<Vec<Signal>, String> {
    if !names.is_empty() {
        return names.iter().map(|text| parse(variables, text, clock)).collect();
    }
    let ports = variables.iter().filter(|v| v.path.len() == 1);
    let mut signals: Vec<Signal> = ports
        .map(|v| parse(variables, &v.full_name(), clock).map(|s| Signal { label: v.name.clone(), ..s }))
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
        Some((text, valid)) => (text, Some(find(variables, valid)?)),
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
        Some((short, high, low)) if find(variables, name).is_err() => (short, Some((high, low))),
        _ => (name, None),
    };
    let variable = find(variables, name)?;
    let v = &variables[variable];
    let (high, low) = bits.unwrap_or((v.width.saturating_sub(1), 0));
    if low > high || high >= v.width {
        return Err(format!("`{text}`: bits {high} to {low} of `{name}`, which has bits {} to 0", v.width - 1));
    }
    let width = high - low + 1;
    let wanted = match format {
        Some(Format::Fp16 | Format::Bf16) => Some(16),
        Some(Format::Fp32) => Some(32),
        _ => None,
    };
    if let Some(wanted) = wanted.filter(|w| *w != width) {
        return Err(format!(
            "`{text}`: the format has {wanted} bits, the signal {width}; choose some, as in `{name}[{}:0]`",
            wanted - 1
        ));
    }
    let kind = match (v.path.len(), &v.name) {
        (_, name) if clock.is_some_and(|c| variables[c].name == *name) => Kind::Clock,
        (1, name) if name.ends_with("_o") => Kind::Output,
        (1, _) => Kind::Input,
        _ => Kind::Internal,
    };
    let label = if bits.is_some() { format!("{name}[{high}:{low}]") } else { name.to_owned() };
    Ok(Signal { label, variable, low, width, format: format.unwrap_or(Format::Hex), kind, valid })
}

/// `name[7:0]` and `name[3]` in parts.
fn slice(text: &str) -> Option<(&str, usize, usize)> {
    let (name, bits) = text.strip_suffix(']')?.rsplit_once('[')?;
    let (high, low) = bits.split_once(':').unwrap_or((bits, bits));
    Some((name, high.parse().ok()?, low.parse().ok()?))
}

/// The variable of this name: a port of the top, or the only one whose path ends so.
fn find(variables: &[Variable], name: &str) -> Result<usize, String> {
    let places: Vec<usize> = (0..variables.len()).filter(|&i| variables[i].is(name)).collect();
    if let Some(&port) = places.iter().find(|&&i| variables[i].path.len() == 1) {
        return Ok(port);
    }
    // The top module repeats its ports; what is in it goes before what is deeper.
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
                let ports = variables.iter().filter(|v| v.path.len() == 1).map(|v| v.name.as_str());
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
    /// A value for a person; bits come with the highest first, unknown ones as `x`.
    pub(super) fn text(&self, bits: &str) -> String {
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
        let number = u128::from_str_radix(bits, 2).ok();
        match (self.format, number) {
            (Format::Binary, _) => bits.to_owned(),
            (Format::Decimal, Some(n)) => n.to_string(),
            (Format::Signed, Some(n)) => {
                let unused = 128 - self.width as u32;
                (((n << unused) as i128) >> unused).to_string()
            }
            (Format::Fp16, Some(n)) => float(half::f16::from_bits(n as u16).to_f32()),
            (Format::Bf16, Some(n)) => float(half::bf16::from_bits(n as u16).to_f32()),
            (Format::Fp32, Some(n)) => float(f32::from_bits(n as u32)),
            (Format::Hex, _) | (_, None) => digits(4),
        }
    }
}

/// Four digits that matter; the file has the others.
fn float(x: f32) -> String {
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
            width,
            code: vcd::IdCode::FIRST,
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

    fn line(text: &str) -> Result<Signal, String> {
        parse(&variables(), text, Some(0))
    }

    #[test]
    fn names_bits_formats() {
        let place = |text| line(text).map(|s| (s.variable, s.low, s.width, s.format)).unwrap();
        assert_eq!(place("sum_o"), (2, 0, 16, Format::Hex));
        assert_eq!(place("sum_o:fp16"), (2, 0, 16, Format::Fp16));
        assert_eq!(place("data_i[31:16]:signed"), (1, 16, 16, Format::Signed));
        assert_eq!(place("data_i[3]"), (1, 3, 1, Format::Hex));
        assert_eq!(place("row[0]:dec"), (4, 0, 8, Format::Decimal));
        assert_eq!(place("row[0][3:0]"), (4, 0, 4, Format::Hex));
        assert_eq!(place("u_b.acc_q"), (6, 0, 16, Format::Hex));
        assert_eq!(line("sum_o:dec@clk_i").unwrap().valid, Some(0));
        for (text, part) in [
            ("sum_o@ready_o", "no signal `ready_o`"),
            ("summ_o", "no signal `summ_o`; did you mean sum_o?"),
            ("zzz", "the ports are: clk_i, data_i, sum_o"),
            ("acc_q", "in several modules; say which: TOP.mesh.u_a.acc_q, TOP.mesh.u_b.acc_q"),
            ("sum_o:oct", "unknown format `oct`; the formats are hex, dec,"),
            ("sum_o[16:0]", "bits 16 to 0 of `sum_o`, which has bits 15 to 0"),
            ("data_i:fp16", "the format has 16 bits, the signal 32; choose some, as in `data_i[15:0]`"),
        ] {
            let error = line(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn values() {
        let text = |format: &str, bits: &str| {
            let (name, width) = if bits.len() == 16 { ("sum_o", 16) } else { ("data_i", bits.len()) };
            let name = if width == 16 { name.to_owned() } else { format!("{name}[{}:0]", width - 1) };
            line(&format!("{name}:{format}")).unwrap().text(bits)
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
