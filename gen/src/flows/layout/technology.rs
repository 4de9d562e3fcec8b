//! A technology as qflow packages it: a folder with a LEF file, cells for special purposes, and a setup for magic.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sim::process::ToolMissing;

use super::lef::{self, Lef};
use super::netlist::Buffer;
use crate::error::{Failure, Result};

/// Where Debian's packages put technologies.
const PLACE: &str = "/usr/share/qflow/tech";

/// A technology.
#[derive(Clone, Debug)]
pub struct Technology {
    /// Name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The LEF file or files, as one text.
    pub lef_text: String,
    /// What is in it.
    pub lef: Lef,
    /// The Liberty file.
    pub liberty: PathBuf,
    /// Startup file of magic.
    pub magic: PathBuf,
    /// Parameters of graywolf.
    pub par: String,
    /// The drawn cells in GDS, which Debian's packages do not have.
    pub gds: Option<PathBuf>,
    /// How many vias may stand on each other, as the router wants it said.
    pub stack: String,
    /// Cell that fills gaps.
    pub fill: String,
    /// Buffer for signals.
    pub buffer: Buffer,
    /// Buffer for the clock.
    pub clock_buffer: Buffer,
    /// Name of the ground in cells.
    pub ground: String,
    /// Name of the supply in cells.
    pub power: String,
    /// Width of a site.
    pub site: i64,
    /// Height of a row.
    pub row: i64,
    /// Width of the rails of a row.
    pub rail: i64,
}

impl Technology {
    /// Setup of netgen.
    #[must_use]
    pub fn setup(&self) -> PathBuf {
        self.folder.join(format!("{}_setup.tcl", self.name))
    }
}

/// Settings of a shell script for csh: `set fillcell=FILL ;# comment`.
fn settings(script: &str) -> BTreeMap<&str, &str> {
    fn split(line: &str) -> Option<(&str, &str)> {
        let (name, value) = line.trim().strip_prefix("set ")?.split_once('=')?;
        let value = value.split(";#").next().unwrap_or_default().split(" ;").next().unwrap_or_default();
        let value = value.trim().trim_matches('"');
        (!value.is_empty()).then_some((name.trim(), value))
    }
    script.lines().filter_map(split).collect()
}

/// Opens a technology by its name, or by a folder.
///
/// # Errors
/// It is not installed, or a file that it needs is missing or damaged.
pub fn open(wanted: &Path) -> Result<Technology> {
    let named = wanted.components().count() == 1 && !wanted.is_dir();
    let folder = if named { Path::new(PLACE).join(wanted) } else { wanted.to_owned() };
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    if !folder.is_dir() {
        let known = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') && !name.is_empty();
        if named && known {
            let package = format!("qflow-tech-{name}");
            return Err(Failure::Tool(ToolMissing { tool: folder.display().to_string(), package }));
        }
        return Err(Failure::Usage(format!(
            "{} is no folder; a technology is a name (osu018) or a folder as in {PLACE}",
            wanted.display()
        )));
    }
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e));
    let script_path = folder.join(format!("{name}.sh"));
    let script = read(&script_path)?;
    let settings = settings(&script);
    let setting = |key: &str| -> Result<&str> {
        let missing = || Failure::Usage(format!("{} has no line `set {key}=..`", script_path.display()));
        settings.get(key).copied().ok_or_else(missing)
    };
    let mut lef_text = String::new();
    for key in ["techleffile", "leffile"] {
        let files = settings.get(key).copied().unwrap_or_default();
        for file in files.split_whitespace() {
            // Only the last file ends the library.
            lef_text = lef_text.replace("END LIBRARY", "");
            lef_text += &read(&folder.join(file))?;
        }
    }
    let bad = |what: String| Failure::Usage(format!("the LEF file of {}: {what}", folder.display()));
    let lef = lef::parse(&lef_text).map_err(bad)?;
    let buffer = |cell: &str, input: &str, output: &str| -> Result<Buffer> {
        let [cell, input, output] = [setting(cell)?, setting(input)?, setting(output)?].map(str::to_owned);
        let about = lef.macros.get(&cell).ok_or_else(|| bad(format!("no cell `{cell}`")))?;
        for pin in [&input, &output] {
            about.pin(pin).ok_or_else(|| bad(format!("the cell {cell} has no pin `{pin}`")))?;
        }
        Ok(Buffer { cell, input, output })
    };
    // The name may be a pattern, `FILL*`: then it is the narrowest cell of it.
    let pattern = setting("fillcell")?;
    let matches = |name: &str| match pattern.split_once('*') {
        Some((start, _)) => name.starts_with(start),
        None => name == pattern,
    };
    let fills = lef.macros.iter().filter(|(name, _)| matches(name));
    let (fill, about) =
        fills.min_by_key(|(_, cell)| cell.size.0).ok_or_else(|| bad(format!("no cell `{pattern}` that fills gaps")))?;
    let supply = |role: &str| about.role(role).ok_or_else(|| bad(format!("the cell {fill} has no pin for {role}")));
    let (power, pin) = supply("POWER")?;
    let (ground, _) = supply("GROUND")?;
    let first = &lef.layers[0].name;
    let rail = pin.shapes.iter().filter(|s| &s.layer == first).map(|s| s.rect[3] - s.rect[1]).max();
    let rail = rail.ok_or_else(|| bad(format!("the cell {fill} has no rail on {first}")))?;
    let (site, row) = (about.size.0, about.size.1);
    let gds = settings.get("gdsfile").map(|file| folder.join(file)).filter(|file| file.is_file());
    let (power, ground, fill) = (power.to_owned(), ground.to_owned(), fill.clone());
    let (buffer, clock_buffer) = (
        buffer("bufcell", "bufpin_in", "bufpin_out")?,
        match settings.contains_key("clkbufcell") {
            true => buffer("clkbufcell", "clkbufpin_in", "clkbufpin_out")?,
            false => buffer("bufcell", "bufpin_in", "bufpin_out")?,
        },
    );
    Ok(Technology {
        liberty: folder.join(setting("libertyfile")?),
        magic: folder.join(setting("magicrc")?),
        par: read(&folder.join(format!("{name}.par")))?,
        name,
        stack: settings.get("via_stacks").copied().unwrap_or("all").to_owned(),
        lef_text,
        gds,
        fill,
        buffer,
        clock_buffer,
        ground,
        power,
        site,
        row,
        rail,
        folder,
        lef,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_csh_script() {
        let found =
            settings("# set a=1\nset fillcell=FILL\t;# fill\nset tiehi=\"\" ;# none\nset options=\"-l 100\"   ;# x\n");
        assert_eq!(found, BTreeMap::from([("fillcell", "FILL"), ("options", "-l 100")]));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let missing = open(Path::new("osu999")).unwrap_err();
        assert_eq!(missing.exit_code(), 3);
        assert!(missing.to_string().ends_with("install the Debian package `qflow-tech-osu999`"), "{missing}");
        assert_eq!(open(Path::new("no/such/folder")).unwrap_err().exit_code(), 2);
        let empty = tempfile::tempdir().unwrap();
        assert!(open(empty.path()).unwrap_err().to_string().contains("cannot read"));
    }

    #[test]
    fn the_installed_technology() {
        let found = open(Path::new("osu018")).unwrap();
        assert_eq!((found.site, found.row, found.rail), (800, 10_000, 600));
        assert_eq!((found.ground.as_str(), found.power.as_str(), found.fill.as_str()), ("gnd", "vdd", "FILL"));
        assert!(found.magic.is_file() && found.liberty.is_file());
    }
}
