//! Memories of a design in SRAM macros: how many, which area, time and energy. A table names the macros.
//!
//! A memory takes the macros with the least area, next to each other for its bits and below each other for its words.
//! Each read port has a copy of its own. What no macro can do stays in flip-flops: a word that comes in the same cycle,
//! and several write ports. So does what is smaller in flip-flops, such as few words of many bits.

use std::path::Path;

use hdl::emit::{Manifest, ManifestMemory};
use serde::{Deserialize, Serialize};

use crate::error::{Failure, Result};

/// Tables of this program by name.
const KNOWN: [(&str, &str); 1] = [("gf180mcu", include_str!("gf180mcu.toml"))];
/// Largest number in a table.
const MOST: f64 = 1e12;

/// Macros of a process.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Process, corner and voltage.
    pub title: String,
    /// Square micrometres of a bit in flip-flops, with its share of writing and reading. A memory that is smaller so stays
    /// in flip-flops.
    pub flip_flop_bit: f64,
    /// The macros.
    #[serde(rename = "macro")]
    pub macros: Vec<Macro>,
}

/// A macro.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Macro {
    /// Name in its process.
    pub name: String,
    /// Words.
    pub words: u64,
    /// Bits of a word.
    pub bits: u64,
    /// Ports: with one it reads or writes in a cycle, with two it does both.
    pub ports: u32,
    /// Square micrometres.
    pub area: f64,
    /// From the clock's edge to the word, in nanoseconds.
    pub access_ns: f64,
    /// Shortest clock period, in nanoseconds.
    pub cycle_ns: f64,
    /// Energy to read a word, in picojoules.
    pub read_pj: f64,
    /// Energy to write a word, in picojoules.
    pub write_pj: f64,
    /// Where the numbers come from.
    pub source: String,
}

/// A memory of a module, in macros or in flip-flops.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placed {
    /// The module.
    pub module: String,
    /// The memory in it.
    pub memory: String,
    /// Words.
    pub words: u64,
    /// Bits of a word.
    pub bits: u64,
    /// Such memories in the whole design.
    pub instances: u64,
    /// What it is made of.
    #[serde(flatten)]
    pub made: Made,
}

/// What a memory is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// Macros of a kind.
    Macros(Macros),
    /// Flip-flops, with the reason.
    FlipFlops(String),
}

/// The macros of one memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Macros {
    /// Name of the macro.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Square micrometres of all.
    pub area: f64,
    /// From the clock's edge to the word, in nanoseconds.
    pub access_ns: f64,
    /// Shortest clock period, in nanoseconds.
    pub cycle_ns: f64,
    /// Energy to read a word, in picojoules.
    pub read_pj: f64,
    /// Energy to write a word, in picojoules.
    pub write_pj: f64,
    /// Whether it can read and write in one cycle.
    pub reads_and_writes: bool,
}

impl Table {
    /// Reads a table of this program by its name, or a file.
    ///
    /// # Errors
    /// The file, and what in it is wrong and what would be right.
    pub fn open(name: &Path) -> Result<Self> {
        if let Some((_, text)) = KNOWN.iter().find(|(known, _)| Path::new(known) == name) {
            return Self::parse(text).map_err(|e| Failure::Usage(format!("{}: {e}", name.display())));
        }
        let names = KNOWN.map(|(known, _)| known).join(", ");
        let text = std::fs::read_to_string(name).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Failure::Usage(format!("no file {}, and no table of this program, which has {names}", name.display()))
            }
            _ => Failure::file("read", name, &e),
        })?;
        Self::parse(&text).map_err(|e| Failure::Usage(format!("{}: {e}", name.display())))
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let table: Self = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_owned())?;
        if !(table.flip_flop_bit > 0.0 && table.flip_flop_bit <= MOST) {
            return Err(format!("`flip_flop_bit` is {}, allowed: a number above 0, up to {MOST}", table.flip_flop_bit));
        }
        if table.macros.is_empty() {
            return Err("no `[[macro]]`, wanted is one at least".into());
        }
        for (at, one) in table.macros.iter().enumerate() {
            let wrong = |what: String| Err(format!("macro `{}`: {what}", one.name));
            if one.name.trim().is_empty() || table.macros[..at].iter().any(|other| other.name == one.name) {
                return wrong("its name is empty or is there twice".into());
            }
            for (key, value) in [("words", one.words), ("bits", one.bits)] {
                if !(1..=1 << 32).contains(&value) {
                    return wrong(format!("`{key}` is {value}, allowed: 1 to 2^32"));
                }
            }
            if !(1..=2).contains(&one.ports) {
                return wrong(format!(
                    "`ports` is {}, wanted is 1 (reads or writes) or 2 (both in a cycle)",
                    one.ports
                ));
            }
            let numbers = [
                ("area", one.area),
                ("access_ns", one.access_ns),
                ("cycle_ns", one.cycle_ns),
                ("read_pj", one.read_pj),
                ("write_pj", one.write_pj),
            ];
            if let Some((key, value)) = numbers.iter().find(|(_, value)| !(*value > 0.0 && *value <= MOST)) {
                return wrong(format!("`{key}` is {value}, allowed: a number above 0, up to {MOST}"));
            }
            if one.source.trim().is_empty() {
                return wrong("without a `source`: say where the numbers come from".into());
            }
        }
        Ok(table)
    }

    /// Places all memories of a design, those of the largest modules last.
    #[must_use]
    pub fn place(&self, manifest: &Manifest) -> Vec<Placed> {
        let of = |module: &hdl::emit::ManifestModule| {
            let placed = |memory: &ManifestMemory| Placed {
                module: module.name.clone(),
                memory: memory.name.clone(),
                words: memory.words.into(),
                bits: memory.bits.into(),
                instances: module.instances * memory.copies,
                made: self.made(memory),
            };
            module.memories.iter().map(placed).collect::<Vec<_>>()
        };
        manifest.modules.iter().flat_map(of).collect()
    }

    fn made(&self, memory: &ManifestMemory) -> Made {
        let all = self.macros.iter().map(|one| one.of(memory));
        let least = all.min_by(|a, b| (a.area, a.count).partial_cmp(&(b.area, b.count)).expect("numbers"));
        let least = least.expect("a table has a macro");
        let bits = f64::from(memory.words) * f64::from(memory.bits);
        let why = if memory.reads_at_once > 0 {
            "a word comes in the same cycle".to_owned()
        } else if memory.writes > 1 {
            format!("{} write ports", memory.writes)
        } else if bits * self.flip_flop_bit <= least.area {
            "smaller than macros".to_owned()
        } else {
            return Made::Macros(least);
        };
        Made::FlipFlops(why)
    }
}

impl Macro {
    /// The macros of this kind for a memory.
    fn of(&self, memory: &ManifestMemory) -> Macros {
        let across = u64::from(memory.bits).div_ceil(self.bits);
        let down = u64::from(memory.words).div_ceil(self.words);
        let copies = u64::from(memory.reads.max(1));
        let count = across * down * copies;
        Macros {
            name: self.name.clone(),
            count,
            area: count as f64 * self.area,
            access_ns: self.access_ns,
            cycle_ns: self.cycle_ns,
            read_pj: across as f64 * self.read_pj,
            write_pj: (across * copies) as f64 * self.write_pj,
            reads_and_writes: self.ports == 2,
        }
    }
}

/// Sums over a design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sum {
    /// Bits in macros.
    pub macro_bits: u64,
    /// Macros.
    pub macros: u64,
    /// Their area in square micrometres, without wires between them.
    pub area: f64,
    /// The shortest clock period of the slowest, in nanoseconds.
    pub cycle_ns: f64,
    /// Bits in flip-flops.
    pub flip_flop_bits: u64,
}

/// Sums up.
#[must_use]
pub fn sum(all: &[Placed]) -> Sum {
    all.iter().fold(Sum::default(), |mut sum, one| {
        let bits = one.instances * one.words * one.bits;
        match &one.made {
            Made::Macros(made) => {
                sum.macro_bits += bits;
                sum.macros += one.instances * made.count;
                sum.area += one.instances as f64 * made.area;
                sum.cycle_ns = sum.cycle_ns.max(made.cycle_ns);
            }
            Made::FlipFlops(_) => sum.flip_flop_bits += bits,
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"
        title = "a process"
        flip_flop_bit = 3
        [[macro]]
        name = "low"
        words = 16
        bits = 8
        ports = 1
        area = 100
        access_ns = 1
        cycle_ns = 2
        read_pj = 3
        write_pj = 4
        source = "by hand"
        [[macro]]
        name = "tall"
        words = 64
        bits = 8
        ports = 2
        area = 250
        access_ns = 1
        cycle_ns = 3
        read_pj = 5
        write_pj = 6
        source = "by hand"
    "#;

    fn memory(words: u32, bits: u32, [writes, reads, reads_at_once]: [u32; 3]) -> ManifestMemory {
        ManifestMemory { name: "words".into(), words, bits, granule: bits, copies: 1, writes, reads, reads_at_once }
    }

    fn made(words: u32, bits: u32, ports: [u32; 3]) -> Made {
        Table::parse(TWO).unwrap().made(&memory(words, bits, ports))
    }

    fn macros(name: &str, count: u64, area: f64, [read_pj, write_pj]: [f64; 2]) -> Made {
        let tall = name == "tall";
        let cycle_ns = if tall { 3.0 } else { 2.0 };
        let access_ns = 1.0;
        Made::Macros(Macros {
            name: name.into(),
            count,
            area,
            access_ns,
            cycle_ns,
            read_pj,
            write_pj,
            reads_and_writes: tall,
        })
    }

    #[test]
    fn the_least_area_is_taken() {
        assert_eq!(made(16, 8, [1, 1, 0]), macros("low", 1, 100.0, [3.0, 4.0]));
        assert_eq!(made(17, 9, [1, 1, 0]), macros("low", 4, 400.0, [6.0, 8.0]));
        assert_eq!(made(33, 8, [1, 1, 0]), macros("tall", 1, 250.0, [5.0, 6.0]));
        assert_eq!(made(64, 8, [1, 2, 0]), macros("tall", 2, 500.0, [5.0, 12.0]));
    }

    #[test]
    fn what_no_macro_can_do_stays() {
        let why = |words, bits, ports| match made(words, bits, ports) {
            Made::FlipFlops(why) => why,
            Made::Macros(made) => panic!("{made:?}"),
        };
        assert_eq!(why(64, 64, [1, 1, 1]), "a word comes in the same cycle");
        assert_eq!(why(64, 64, [2, 1, 0]), "2 write ports");
        assert_eq!(why(4, 8, [1, 1, 0]), "smaller than macros");
        assert_eq!(why(2, 64, [1, 1, 0]), "smaller than macros");
    }

    #[test]
    fn tables_are_checked() {
        let error = |from: &str, to: &str| {
            assert!(TWO.contains(from), "{from}");
            Table::parse(&TWO.replacen(from, to, 1)).unwrap_err()
        };
        assert!(error("words = 16", "words = 0").starts_with("macro `low`: `words` is 0, allowed: 1"));
        assert!(error("ports = 1", "ports = 3").contains("`ports` is 3, wanted is 1"));
        assert!(error("flip_flop_bit = 3", "flip_flop_bit = 0").contains("`flip_flop_bit` is 0, allowed"));
        assert!(error("area = 100", "area = -1").contains("`area` is -1, allowed: a number above 0"));
        assert!(error("area = 100", "area = nan").contains("`area` is NaN"));
        assert!(error("\"by hand\"", "\" \"").contains("without a `source`"));
        assert!(error("name = \"tall\"", "name = \"low\"").contains("there twice"));
        assert!(error("cycle_ns = 2", "").contains("cycle_ns"));
        assert!(error("cycle_ns = 2", "cycles = 2").contains("unknown field"));
        assert!(Table::parse("title = \"\"\nflip_flop_bit = 1\nmacro = []").unwrap_err().contains("[[macro]]"));
        for (name, _) in KNOWN {
            Table::open(Path::new(name)).unwrap();
        }
        assert!(Table::open(Path::new("none")).unwrap_err().to_string().contains("which has gf180mcu"));
    }
}
