//! Timing of DRAM by DRAMsim3.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, ensure};
use dramsim3::MemorySystem;
use sim::bus::MemoryTiming;
use sim::process::Tool;
use tempfile::TempDir;

/// A kind of DRAM: a configuration that comes with DRAMsim3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A stack of HBM2: 8 channels of 128 bits at 2 Gbit/s a pin, 256 GB/s.
    Hbm2,
    /// A channel of LPDDR4: 64 bits at 2.4 Gbit/s a pin, 19.3 GB/s.
    Lpddr4,
}

impl Kind {
    fn file(self) -> &'static str {
        match self {
            Self::Hbm2 => "HBM2_8Gb_x128.ini",
            Self::Lpddr4 => "LPDDR4_8Gb_x16_2400.ini",
        }
    }
}

/// Folder of the configurations, in the place where cargo has put the sources of DRAMsim3.
fn configurations() -> anyhow::Result<PathBuf> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let metadata = Tool::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--all-features", "--locked", "--manifest-path", manifest])
        .run()?;
    ensure!(metadata.success(), "cargo metadata: {}", metadata.log());
    let metadata: serde_json::Value = serde_json::from_str(&metadata.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let package = packages.iter().find(|package| package["name"] == "dramsim3").context("no package dramsim3")?;
    let manifest = package["manifest_path"].as_str().context("dramsim3 has no path")?;
    let folder = PathBuf::from(manifest).with_file_name("DRAMsim3").join("configs");
    ensure!(folder.is_dir(), "{} is missing: dramsim3 comes without its configurations", folder.display());
    Ok(folder)
}

/// How long reads took: bursts, and cycles from the request of a burst to its first bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Bursts.
    pub bursts: u64,
    /// Cycles of the design, the sum over all bursts.
    pub cycles: u64,
}

/// A burst that was requested and is not forgotten yet.
struct Burst {
    write: bool,
    /// Cycle of the request.
    asked: u64,
    /// Bytes from the start of its first line to its own start.
    offset: u64,
    lines: Vec<bool>,
    /// Lines that are done, counted from the first one without a gap.
    done: u64,
}

/// DRAM at the clock of a design.
pub struct Dram {
    system: MemorySystem,
    /// Bytes of a line.
    line: u64,
    /// Bytes a nanosecond.
    peak: f64,
    /// Nanoseconds of a cycle of the design, and nanoseconds by which the DRAM's clock lags.
    period: f64,
    behind: f64,
    next: u64,
    now: u64,
    reads: Rc<Cell<Reads>>,
    bursts: BTreeMap<u64, Burst>,
    /// Lines that have found no room yet: address, write.
    waiting: VecDeque<(u64, bool)>,
    /// Bursts that wait for a line, in order: the burst and the position in it.
    open: BTreeMap<(u64, bool), VecDeque<(u64, usize)>>,
    _folder: TempDir,
}

impl Dram {
    /// DRAM of a kind, for a design whose clock has so many nanoseconds.
    ///
    /// # Errors
    /// The configurations are missing, or there is no room for the files of DRAMsim3.
    pub fn new(kind: Kind, period: f64) -> anyhow::Result<Self> {
        ensure!(period > 0.0, "a clock of {period} ns: give more than 0");
        let file = configurations()?.join(kind.file());
        let text = std::fs::read_to_string(&file).with_context(|| format!("{}", file.display()))?;
        let channels = text.lines().find_map(|line| line.strip_prefix("channels = ")?.trim().parse::<f64>().ok());
        let channels = channels.with_context(|| format!("{}: no number of channels", file.display()))?;
        let folder = tempfile::tempdir()?;
        let system =
            MemorySystem::new(&file, folder.path()).map_err(|e| anyhow::anyhow!("{}: {e:?}", file.display()))?;
        let bus = system.bus_bits() as u64 / 8;
        Ok(Self {
            line: bus * system.burst_length() as u64,
            // Two beats a clock.
            peak: channels * bus as f64 * 2.0 / system.tck(),
            period,
            behind: 0.0,
            next: 0,
            now: 0,
            reads: Rc::default(),
            bursts: BTreeMap::new(),
            waiting: VecDeque::new(),
            open: BTreeMap::new(),
            system,
            _folder: folder,
        })
    }

    /// Bytes of a nanosecond if all channels move data in every clock.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// Bytes of a line.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// How long reads took up to now. It also works while the DRAM times a memory.
    #[must_use]
    pub fn reads(&self) -> Rc<Cell<Reads>> {
        Rc::clone(&self.reads)
    }

    /// Cycles of the design from the request of a line to its data, without other requests.
    #[must_use]
    pub fn latency(&mut self) -> u64 {
        let number = self.ask(0, self.line, false);
        let mut cycles = 0;
        while self.done(number) < self.line {
            self.cycle();
            cycles += 1;
        }
        self.answered(number);
        cycles
    }

    fn step(&mut self) {
        let (bursts, open, reads) = (&mut self.bursts, &mut self.open, &self.reads);
        let now = self.now;
        self.system.tick(|address, write| {
            let Some(waits) = open.get_mut(&(address, write)) else { return };
            if let Some((number, position)) = waits.pop_front()
                && let Some(burst) = bursts.get_mut(&number)
            {
                burst.lines[position] = true;
                while burst.lines.get(burst.done as usize) == Some(&true) {
                    burst.done += 1;
                }
                if !burst.write && position == 0 {
                    let Reads { bursts, cycles } = reads.get();
                    reads.set(Reads { bursts: bursts + 1, cycles: cycles + now - burst.asked });
                }
            }
            if waits.is_empty() {
                open.remove(&(address, write));
            }
        });
        let system = &mut self.system;
        self.waiting.retain(|&(address, write)| !(system.can_add(address, write) && system.add(address, write)));
    }
}

impl MemoryTiming for Dram {
    fn ask(&mut self, address: u64, bytes: u64, write: bool) -> u64 {
        let number = self.next;
        self.next += 1;
        let first = address / self.line;
        let lines = (address + bytes).div_ceil(self.line) - first;
        for position in 0..lines {
            let line = (first + position) * self.line;
            self.waiting.push_back((line, write));
            self.open.entry((line, write)).or_default().push_back((number, position as usize));
        }
        let offset = address % self.line;
        self.bursts
            .insert(number, Burst { write, asked: self.now, offset, lines: vec![false; lines as usize], done: 0 });
        number
    }

    fn done(&self, number: u64) -> u64 {
        self.bursts.get(&number).map_or(u64::MAX, |burst| (burst.done * self.line).saturating_sub(burst.offset))
    }

    fn answered(&mut self, number: u64) {
        self.bursts.remove(&number);
    }

    fn cycle(&mut self) {
        self.now += 1;
        self.behind += self.period;
        while self.behind >= self.system.tck() {
            self.behind -= self.system.tck();
            self.step();
        }
    }

    /// Accesses go on although nobody waits for them: DRAM is not reset with the design.
    fn reset(&mut self) {
        self.bursts.clear();
    }
}
