//! Long runs of the refresh controller with traffic that is known in advance: how many refreshes, how many stalls.

use golden::kelle::refresh_controller::Intervals;
use golden::kelle::schedule::Step;
use hdl::blocks::kelle::RefreshController;
use sim::{BuildOptions, Design, In, Model, Out, Sim};

/// A controller for the paper's intervals. Its patience suffices for bursts that read every row and then leave the
/// banks alone as long. When all rows are due at once, a round needs the banks for 2 `rows` cycles, and meets three
/// such bursts.
#[must_use]
pub fn controller(rows: u32) -> RefreshController {
    RefreshController {
        rows,
        interval_width: 23,
        interval: 43_000.max(2 * rows),
        patience: 3 * rows + 4,
        tick_log2: 8,
        counter_width: 32,
    }
}

/// A controller whose rows are all written.
pub struct Device {
    sim: Sim,
    access_valid: In,
    access_ready: Out,
    access_write: In,
    access_row: In,
    valid: In,
    high: In,
    row: Out,
    refreshes: Out,
    stalls: Out,
    /// All rows hold tokens.
    full: bool,
    classes: Vec<bool>,
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Refreshes.
    pub refreshes: u64,
    /// Cycles in which an access waited.
    pub stalls: u64,
}

impl Device {
    /// Builds the controller, sets the intervals and writes all rows.
    ///
    /// # Errors
    /// Parameters that are refused, the simulator's.
    pub fn new(p: &RefreshController, intervals: Intervals) -> anyhow::Result<Self> {
        let design = Design::from(&hdl::lang::elaborate(p)?);
        let mut sim = Model::build(&design, &BuildOptions::default())?.instance()?;
        sim.reset(2)?;
        let (config, high, low) =
            (sim.input("config_valid_i")?, sim.input("config_high_i")?, sim.input("config_low_i")?);
        sim.poke_u64(config, 1);
        sim.poke_u64(high, intervals.high);
        sim.poke_u64(low, intervals.low);
        sim.tick()?;
        sim.poke_u64(config, 0);
        let mut device = Self {
            access_valid: sim.input("access_valid_i")?,
            access_ready: sim.output("access_ready_o")?,
            access_write: sim.input("access_write_i")?,
            access_row: sim.input("access_row_i")?,
            valid: sim.input("valid_i")?,
            high: sim.input("high_i")?,
            row: sim.output("refresh_row_o")?,
            refreshes: sim.output("refreshes_o")?,
            stalls: sim.output("stalls_o")?,
            full: false,
            classes: vec![false; p.rows as usize],
            sim,
        };
        for row in 0..u64::from(p.rows) {
            device.write(row)?;
        }
        device.full = true;
        Ok(device)
    }

    /// Shows validity and class of the row that is looked at.
    fn show(&mut self) {
        let row = self.sim.peek_u64(self.row) as usize;
        let class = self.classes.get(row).copied();
        self.sim.poke_u64(self.valid, (self.full && class.is_some()).into());
        self.sim.poke_u64(self.high, class.unwrap_or(false).into());
    }

    fn cycles(&mut self, cycles: u64) -> sim::Result<()> {
        for _ in 0..cycles {
            self.show();
            self.sim.tick()?;
        }
        Ok(())
    }

    /// Writes a row as soon as the banks are free.
    ///
    /// # Errors
    /// The simulator's.
    pub fn write(&mut self, row: u64) -> sim::Result<()> {
        self.sim.poke_u64(self.access_valid, 1);
        self.sim.poke_u64(self.access_write, 1);
        self.sim.poke_u64(self.access_row, row);
        loop {
            self.show();
            self.sim.settle()?;
            let taken = self.sim.peek_u64(self.access_ready) != 0;
            self.sim.tick()?;
            if taken {
                break;
            }
        }
        self.sim.poke_u64(self.access_valid, 0);
        self.sim.poke_u64(self.access_write, 0);
        Ok(())
    }

    /// Which rows have high scores.
    pub fn set_high(&mut self, high: &[bool]) {
        self.classes.copy_from_slice(high);
    }

    /// Reads in each of `cycles` cycles.
    ///
    /// # Errors
    /// The simulator's.
    pub fn busy(&mut self, cycles: u64) -> sim::Result<()> {
        self.sim.poke_u64(self.access_valid, 1);
        self.cycles(cycles)?;
        self.sim.poke_u64(self.access_valid, 0);
        Ok(())
    }

    /// Nothing for `cycles` cycles.
    ///
    /// # Errors
    /// The simulator's.
    pub fn idle(&mut self, cycles: u64) -> sim::Result<()> {
        self.cycles(cycles)
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts { refreshes: self.sim.peek_u64(self.refreshes), stalls: self.sim.peek_u64(self.stalls) }
    }
}

/// `cycles` cycles of bursts that read every row, with as many free cycles between them; every other row is high.
///
/// # Errors
/// Parameters that are refused, the simulator's.
pub fn bursts(rows: u32, intervals: Intervals, cycles: u64) -> anyhow::Result<Counts> {
    let mut device = Device::new(&controller(rows), intervals)?;
    device.set_high(&(0..rows).map(|r| r % 2 == 0).collect::<Vec<_>>());
    for _ in 0..cycles / (2 * u64::from(rows)) {
        device.busy(rows.into())?;
        device.idle(rows.into())?;
    }
    Ok(device.counts())
}

/// `cycles` cycles without traffic; every other row is high.
///
/// # Errors
/// Parameters that are refused, the simulator's.
pub fn quiet(rows: u32, intervals: Intervals, cycles: u64) -> anyhow::Result<Counts> {
    let mut device = Device::new(&controller(rows), intervals)?;
    device.set_high(&(0..rows).map(|r| r % 2 == 0).collect::<Vec<_>>());
    device.idle(cycles)?;
    Ok(device.counts())
}

/// A decode trace on the hardware: each of `steps` writes its row, then reads all rows; a step takes `period` cycles.
///
/// # Errors
/// Parameters that are refused, the simulator's.
pub fn decoded(rows: u32, steps: &[Step], period: u64, intervals: Intervals) -> anyhow::Result<Counts> {
    let mut device = Device::new(&controller(rows), intervals)?;
    for step in steps {
        device.write(step.written as u64)?;
        device.set_high(&step.high);
        device.busy(rows.into())?;
        device.idle(period - u64::from(rows) - 1)?;
    }
    Ok(device.counts())
}
