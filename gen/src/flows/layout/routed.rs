//! Reads the design as the router leaves it: the wires and vias of each net.

use std::collections::BTreeMap;

/// A piece of wire, or a via at one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A wire on a layer between two points.
    Wire {
        /// Layer.
        layer: String,
        /// One end.
        from: (i64, i64),
        /// The other end.
        to: (i64, i64),
        /// Width, where it is not the one of the layer.
        width: Option<i64>,
    },
    /// A via.
    Via {
        /// Name.
        name: String,
        /// Where.
        at: (i64, i64),
    },
}

/// The wires of all nets, by name, in nm.
pub type Wires = BTreeMap<String, Vec<Piece>>;

/// Reads the sections NETS and SPECIALNETS of a DEF file. The router puts short wires of other widths into the second.
///
/// # Errors
/// A statement that is none, a file that is cut off.
pub fn read(def: &str) -> Result<Wires, String> {
    let mut words = def.split_whitespace();
    let mut units = 1000.0;
    let mut wires = Wires::new();
    let mut found = false;
    let mut last = "";
    while let Some(word) = words.next() {
        match (last, word) {
            (_, "MICRONS") => {
                let number = words.next().and_then(|w| w.parse().ok());
                units = number.filter(|u| *u > 0.0).ok_or("the DEF file has no unit")?;
            }
            ("END", _) => {}
            (_, "NETS" | "SPECIALNETS") => {
                found |= word == "NETS";
                section(&mut words, units, &mut wires)?;
                // Its name comes once more.
                last = "END";
                continue;
            }
            _ => {}
        }
        last = word;
    }
    if found { Ok(wires) } else { Err("the DEF file has no nets".into()) }
}

/// A section up to its `END`.
fn section<'a>(words: &mut impl Iterator<Item = &'a str>, units: f64, wires: &mut Wires) -> Result<(), String> {
    let number = |word: &str| word.parse::<f64>().ok().map(|n| (n * 1000.0 / units).round() as i64);
    // The number of nets and a semicolon.
    words.by_ref().take_while(|word| *word != ";").for_each(drop);
    let mut name = String::new();
    // Layer, width and last point of the wire that goes on.
    let (mut layer, mut width) = (String::new(), None);
    let mut point: Option<(i64, i64)> = None;
    let mut routed = false;
    loop {
        let word = words.next().ok_or_else(|| format!("the DEF file ends in the net `{name}`"))?;
        match word {
            "END" => return Ok(()),
            "-" => {
                words.next().unwrap_or_default().clone_into(&mut name);
                routed = false;
                wires.entry(name.clone()).or_default();
            }
            "ROUTED" | "NEW" | "FIXED" | "COVER" => {
                words.next().unwrap_or_default().clone_into(&mut layer);
                (point, width, routed) = (None, None, true);
            }
            "+" | ";" | "TAPER" => {}
            "USE" => drop(words.next()),
            "(" => {
                let inside: Vec<&str> = words.by_ref().take_while(|word| *word != ")").collect();
                // A pin of the net.
                if !routed {
                    continue;
                }
                let wrong = || format!("net {name}: `( {} )`, where a point is wanted", inside.join(" "));
                let [x, y, ..] = inside[..] else { return Err(wrong()) };
                let part = |word: &str, old: Option<i64>| if word == "*" { old } else { number(word) };
                let x = part(x, point.map(|p| p.0)).ok_or_else(wrong)?;
                let y = part(y, point.map(|p| p.1)).ok_or_else(wrong)?;
                if let (Some(from), Some(pieces)) = (point, wires.get_mut(&name)) {
                    pieces.push(Piece::Wire { layer: layer.clone(), from, to: (x, y), width });
                }
                point = Some((x, y));
            }
            word if routed => match (point, number(word)) {
                (None, Some(wide)) => width = Some(wide),
                (Some(at), None) => {
                    wires.entry(name.clone()).or_default().push(Piece::Via { name: word.to_owned(), at });
                }
                _ => return Err(format!("net {name}: `{word}`, where a layer and a point are wanted")),
            },
            other => return Err(format!("net {name}: `{other}`, where pins or wires are wanted")),
        }
    }
}

/// Length of all wires in nm, and the number of vias.
#[must_use]
pub fn totals(wires: &Wires) -> (i64, usize) {
    let (mut length, mut vias) = (0, 0);
    for piece in wires.values().flatten() {
        match piece {
            Piece::Wire { from, to, .. } => length += (from.0 - to.0).abs() + (from.1 - to.1).abs(),
            Piece::Via { .. } => vias += 1,
        }
    }
    (length, vias)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "DESIGN t ;\nUNITS DISTANCE MICRONS 100 ;\nSPECIALNETS 1 ;\n- n2 + ROUTED metal1 60 ( 0 0 ) ( 10 0 ) ;\n\
        END SPECIALNETS\nNETS 2 ;\n- n1\n  ( c0 A ) ( PIN x )\n+ ROUTED metal1  ( 100 200 ) M2_M1\n  NEW metal2 ( 100 200 ) ( * 500 ) M2_M1 ;\n\
        - n2 ( c1 A ) ( c2 Y ) ;\nEND NETS\nEND DESIGN\n";

    #[test]
    fn wires_and_vias() {
        let wires = read(TEXT).unwrap();
        let stub = Piece::Wire { layer: "metal1".into(), from: (0, 0), to: (100, 0), width: Some(600) };
        assert_eq!(wires["n2"], [stub]);
        let via = |at| Piece::Via { name: "M2_M1".into(), at };
        let wire = Piece::Wire { layer: "metal2".into(), from: (1000, 2000), to: (1000, 5000), width: None };
        assert_eq!(wires["n1"], [via((1000, 2000)), wire, via((1000, 5000))]);
        assert_eq!(totals(&wires), (3100, 2));
    }

    #[test]
    fn damage_is_an_error() {
        assert!(read("DESIGN t ;").unwrap_err().contains("no nets"));
        assert!(read(&TEXT.replace("* 500", "* far")).unwrap_err().contains("where a point is wanted"));
        assert!(read(&TEXT.replace("( c1 A )", "nonsense")).unwrap_err().contains("nonsense"));
        for end in 0..TEXT.len() {
            let _ = read(&TEXT[..end]);
        }
    }
}
