//! What the flow needs of a LEF file: routing layers, vias, and the outlines and pins of cells.
//!
//! Lengths are in nanometres, so that they are whole numbers. Sections that nobody needs are skipped by their name.

use std::collections::BTreeMap;

/// A rectangle on a layer: left, bottom, right, top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Layer.
    pub layer: String,
    /// Left, bottom, right, top.
    pub rect: [i64; 4],
}

/// A layer for wires.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    /// Name.
    pub name: String,
    /// Whether its wires run from left to right.
    pub horizontal: bool,
    /// Distance of tracks.
    pub pitch: i64,
    /// Place of the first track.
    pub offset: i64,
    /// Width of a wire.
    pub width: i64,
    /// Least distance of two wires.
    pub spacing: i64,
    /// Ohms for a square.
    pub ohms: f64,
    /// Picofarads for a square micrometre.
    pub area_pf: f64,
    /// Picofarads for a micrometre of edge.
    pub edge_pf: f64,
}

/// A pin of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// What it is for: `SIGNAL` unless the file says `POWER` or `GROUND`.
    pub role: String,
    /// Whether it drives its net.
    pub output: bool,
    /// Where it can be met.
    pub shapes: Vec<Shape>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Macro {
    /// Width and height.
    pub size: (i64, i64),
    /// Pins by name, in the order of the file.
    pub pins: Vec<(String, Pin)>,
}

impl Macro {
    /// A pin.
    #[must_use]
    pub fn pin(&self, name: &str) -> Option<&Pin> {
        self.pins.iter().find(|(known, _)| known == name).map(|(_, pin)| pin)
    }

    /// The pin of this role.
    #[must_use]
    pub fn role(&self, role: &str) -> Option<(&str, &Pin)> {
        self.pins.iter().find(|(_, pin)| pin.role == role).map(|(name, pin)| (name.as_str(), pin))
    }
}

/// A LEF file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lef {
    /// Layers for wires, from the lowest up.
    pub layers: Vec<Layer>,
    /// Vias by name, with their shapes.
    pub vias: BTreeMap<String, Vec<Shape>>,
    /// Layers of cuts: least distance of two.
    pub cuts: BTreeMap<String, i64>,
    /// Cells by name.
    pub macros: BTreeMap<String, Macro>,
}

impl Lef {
    /// The via between two layers that are neighbours.
    #[must_use]
    pub fn via(&self, lower: &str, upper: &str) -> Option<(&str, &[Shape])> {
        let has = |shapes: &[Shape], name: &str| shapes.iter().any(|shape| shape.layer == name);
        let found = self.vias.iter().find(|(_, shapes)| has(shapes, lower) && has(shapes, upper));
        found.map(|(name, shapes)| (name.as_str(), shapes.as_slice()))
    }
}

struct Reader<'a> {
    words: Vec<(usize, &'a str)>,
    at: usize,
}

type Read<T> = Result<T, String>;

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        let line = |(number, line): (usize, &'a str)| {
            let line = line.split('#').next().unwrap_or_default();
            line.split_whitespace().map(move |word| (number + 1, word))
        };
        Self { words: text.lines().enumerate().flat_map(line).collect(), at: 0 }
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).map(|(_, word)| *word);
        self.at += 1;
        word
    }

    fn word(&mut self, what: &str) -> Read<&'a str> {
        self.next().ok_or_else(|| format!("the file ends where {what} is wanted"))
    }

    fn wrong(&self, what: &str) -> String {
        let (line, word) = self.words.get(self.at.saturating_sub(1)).copied().unwrap_or((0, "the end"));
        format!("line {line}: `{word}`, where {what} is wanted")
    }

    fn number(&mut self, what: &str) -> Read<f64> {
        let word = self.word(what)?;
        word.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| self.wrong(what))
    }

    /// A length.
    fn length(&mut self) -> Read<i64> {
        let microns = self.number("a length in micrometres")?;
        if microns.abs() > 1e6 {
            return Err(self.wrong("a length below a metre"));
        }
        Ok((microns * 1000.0).round() as i64)
    }

    fn rect(&mut self) -> Read<[i64; 4]> {
        let [a, b, c, d] = [self.length()?, self.length()?, self.length()?, self.length()?];
        Ok([a.min(c), b.min(d), a.max(c), b.max(d)])
    }

    /// The rest of a statement.
    fn statement(&mut self) -> Read<()> {
        while self.word("`;`")? != ";" {}
        Ok(())
    }

    /// A section up to its `END name`.
    fn skip(&mut self, name: &str) -> Read<()> {
        loop {
            let word = self.next().ok_or_else(|| format!("`{name}` has no end"))?;
            if word == "END" && self.words.get(self.at).is_some_and(|(_, next)| *next == name) {
                self.at += 1;
                return Ok(());
            }
        }
    }

    fn layer(&mut self, lef: &mut Lef) -> Read<()> {
        let mut layer = Layer { name: self.word("the name of a layer")?.to_owned(), ..Layer::default() };
        let mut kind = "";
        let mut pitches = Vec::new();
        loop {
            match self.word("a statement of a layer")? {
                "END" => break,
                "TYPE" => kind = self.word("a type")?,
                "DIRECTION" => layer.horizontal = self.word("a direction")? == "HORIZONTAL",
                "PITCH" => {
                    pitches.push(self.length()?);
                    if self.words.get(self.at).is_some_and(|(_, next)| *next != ";") {
                        pitches.push(self.length()?);
                    }
                }
                "OFFSET" => layer.offset = self.length()?,
                "WIDTH" => layer.width = self.length()?,
                "SPACING" if layer.spacing == 0 => layer.spacing = self.length()?,
                "RESISTANCE" => {
                    self.next();
                    layer.ohms = self.number("a resistance")?;
                }
                "CAPACITANCE" => {
                    self.next();
                    layer.area_pf = self.number("a capacitance")?;
                }
                "EDGECAPACITANCE" => layer.edge_pf = self.number("a capacitance")?,
                ";" => continue,
                _ => {}
            }
            self.statement()?;
        }
        self.next();
        match kind {
            "CUT" => drop(lef.cuts.insert(layer.name, layer.spacing)),
            "ROUTING" => {
                // Two pitches are the ones in x and in y: tracks from left to right lie apart in y.
                let of = if layer.horizontal { pitches.last() } else { pitches.first() };
                layer.pitch = of.copied().unwrap_or_default();
                if layer.pitch <= 0 || layer.width <= 0 {
                    return Err(format!("the layer {} has no pitch or no width", layer.name));
                }
                lef.layers.push(layer);
            }
            _ => {}
        }
        Ok(())
    }

    /// Shapes up to an `END`, by the layers that stand before them.
    fn shapes(&mut self) -> Read<Vec<Shape>> {
        let (mut layer, mut shapes) = (String::new(), Vec::new());
        loop {
            match self.word("`END`")? {
                "END" => return Ok(shapes),
                "LAYER" => self.word("a layer")?.clone_into(&mut layer),
                "RECT" => shapes.push(Shape { layer: layer.clone(), rect: self.rect()? }),
                _ => {}
            }
        }
    }

    fn via(&mut self, lef: &mut Lef) -> Read<()> {
        let name = self.word("the name of a via")?;
        let shapes = self.shapes()?;
        self.next();
        lef.vias.insert(name.to_owned(), shapes);
        Ok(())
    }

    fn pin(&mut self) -> Read<(String, Pin)> {
        let name = self.word("the name of a pin")?;
        let mut pin = Pin { role: "SIGNAL".into(), ..Pin::default() };
        loop {
            match self.word("a statement of a pin")? {
                "END" => break,
                "DIRECTION" => pin.output = self.word("a direction")? == "OUTPUT",
                "USE" => self.word("a use")?.clone_into(&mut pin.role),
                "PORT" => {
                    pin.shapes.extend(self.shapes()?);
                    continue;
                }
                ";" => continue,
                _ => {}
            }
            self.statement()?;
        }
        self.next();
        Ok((name.to_owned(), pin))
    }

    fn cell(&mut self, lef: &mut Lef) -> Read<()> {
        let name = self.word("the name of a cell")?;
        let mut cell = Macro::default();
        loop {
            match self.word("a statement of a cell")? {
                "END" => break,
                "SIZE" => {
                    let width = self.length()?;
                    if self.next() != Some("BY") {
                        return Err(self.wrong("BY"));
                    }
                    cell.size = (width, self.length()?);
                    self.statement()?;
                }
                "PIN" => cell.pins.push(self.pin()?),
                "OBS" => drop(self.shapes()?),
                ";" => {}
                _ => self.statement()?,
            }
        }
        if self.next() != Some(name) {
            return Err(self.wrong(&format!("the end of the cell {name}")));
        }
        if cell.size.0 <= 0 || cell.size.1 <= 0 {
            return Err(format!("the cell {name} has no size"));
        }
        lef.macros.insert(name.to_owned(), cell);
        Ok(())
    }
}

/// Reads a file.
///
/// # Errors
/// A statement that is cut off or has a wrong number, with its line.
pub fn parse(text: &str) -> Result<Lef, String> {
    let mut reader = Reader::new(text);
    let mut lef = Lef::default();
    while let Some(word) = reader.next() {
        match word {
            "LAYER" => reader.layer(&mut lef)?,
            "VIA" => reader.via(&mut lef)?,
            "MACRO" => reader.cell(&mut lef)?,
            "VIARULE" | "SITE" | "NONDEFAULTRULE" => {
                let name = reader.word("a name")?;
                reader.skip(name)?;
            }
            "UNITS" | "PROPERTYDEFINITIONS" => reader.skip(word)?,
            "SPACING" => reader.skip(word)?,
            "END" => break,
            _ => reader.statement()?,
        }
    }
    if lef.layers.len() < 2 {
        return Err("fewer than two layers for wires".into());
    }
    Ok(lef)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "VERSION 5.4 ;\nUNITS\n DATABASE MICRONS 1000 ;\nEND UNITS\n\
        LAYER m1 TYPE ROUTING ; DIRECTION HORIZONTAL ; PITCH 1 ; OFFSET 0.5 ; WIDTH 0.3 ; SPACING 0.3 ;\n\
        RESISTANCE RPERSQ 0.08 ; CAPACITANCE CPERSQDIST 3.8e-05 ; EDGECAPACITANCE 8e-05 ; END m1\n\
        LAYER v TYPE CUT ; SPACING 0.3 ; END v\n\
        LAYER m2 TYPE ROUTING ; DIRECTION VERTICAL ; PITCH 0.8 ; WIDTH 0.3 ; END m2\n\
        VIA V21 DEFAULT LAYER m1 ; RECT -0.2 -0.2 0.2 0.2 ; LAYER v ; RECT -0.1 -0.1 0.1 0.1 ; LAYER m2 ;\n\
        RECT -0.2 -0.2 0.2 0.2 ; END V21\nVIARULE g GENERATE LAYER m1 ; END g\nSITE core SIZE 0.8 BY 10 ; END core\n\
        MACRO INV # a comment\n CLASS CORE ; SIZE 1.6 BY 10 ;\n PIN A DIRECTION INPUT ; PORT LAYER m1 ; RECT 0.2 1.9 0.6 2.7 ;\n\
        END END A\n PIN Y DIRECTION OUTPUT ; END Y\n PIN gnd USE GROUND ; END gnd OBS LAYER m1 ; RECT 0 0 1 1 ; END\n\
        END INV\nEND LIBRARY\n";

    #[test]
    fn layers_vias_and_cells() {
        let lef = parse(TEXT).unwrap();
        assert_eq!(
            lef.layers.iter().map(|l| (l.name.as_str(), l.horizontal, l.pitch)).collect::<Vec<_>>(),
            [("m1", true, 1000), ("m2", false, 800)]
        );
        assert_eq!(lef.via("m1", "m2").unwrap().0, "V21");
        assert_eq!(lef.cuts["v"], 300);
        let inverter = &lef.macros["INV"];
        assert_eq!(inverter.size, (1600, 10_000));
        assert_eq!(inverter.pin("A").unwrap().shapes[0].rect, [200, 1900, 600, 2700]);
        assert!(inverter.pin("Y").unwrap().output);
        assert_eq!(inverter.role("GROUND").unwrap().0, "gnd");
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let error = parse(&TEXT.replace("SIZE 1.6 BY", "SIZE wide BY")).unwrap_err();
        assert!(error.starts_with("line 14: `wide`, where a length"), "{error}");
        // Cut off anywhere, the file is either understood or refused; nothing panics.
        for end in 0..TEXT.len() {
            let _ = parse(&TEXT[..end]);
        }
    }
}
