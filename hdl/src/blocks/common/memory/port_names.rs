//! Names of ports of macros from elsewhere.

/// Whether a text is a name in Verilog; reserved words are refused where it is printed.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The pairs of `port=name port=name`, by spaces or commas; `None` when something else stands there, a port is not among
/// `ports`, or a port or a name comes twice.
pub(crate) fn pairs<'a>(map: &'a str, ports: &[&str]) -> Option<Vec<(&'a str, &'a str)>> {
    let words = map.split([' ', ',']).filter(|w| !w.is_empty());
    let pairs: Vec<(&str, &str)> = words.map(|w| w.split_once('=')).collect::<Option<_>>()?;
    let good = |(i, (port, name)): (usize, &(&str, &str))| {
        let fresh = pairs[..i].iter().all(|(p, n)| p != port && n != name);
        ports.contains(port) && is_identifier(name) && fresh
    };
    pairs.iter().enumerate().all(good).then(|| pairs.clone())
}
