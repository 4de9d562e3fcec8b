//! The accelerator as a driver sees it: registers, memory, and jobs that take some time.

use crate::common::bus::axi_lite_registers::{Field, Refused, Registers};
use crate::common::shell::job_controller::{End, Limits};
use crate::common::shell::shell_registers;

use super::job::{self, Accelerator, Report};
use super::memory::Memory;

/// An accelerator with registers of its own.
pub trait Registered: Accelerator {
    /// Bits of a beat of the bus.
    fn data_width(&self) -> u32;

    /// Names and fields of the accelerator's own registers: constants, and values that jobs leave.
    fn own(&self) -> Vec<(&'static str, Field)>;

    /// The values that a job leaves in registers that are not constant. Until its end they read as 0.
    fn counts(&self, report: &Report<Self::Operation>) -> Vec<(&'static str, u64)>;

    /// Applies a soft reset to the state of the accelerator that stays from job to job.
    fn soft_reset(&self) {}

    /// Values of registers that show state which stays from job to job.
    fn live(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// How long jobs and resets take, counted in accesses to registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// A job; `None`: it never ends.
    pub job: Option<u32>,
    /// A soft reset; `None`: it never ends.
    pub reset: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Runs(Option<u32>),
    Resets(Option<u32>),
}

/// Registers, and jobs that change memory at their end. Counters of cycles and beats read as 0, because a model has no
/// time.
#[derive(Clone, Debug)]
pub struct Device<A, M> {
    top: A,
    /// The memory of the jobs.
    pub memory: M,
    /// How long jobs and resets take from now on.
    pub delays: Delays,
    registers: Registers,
    names: Vec<&'static str>,
    state: State,
    end: End,
    /// Where the last job failed, if it ended with an error.
    place: u64,
    counts: Vec<(&'static str, u64)>,
}

impl<A: Registered, M: Memory> Device<A, M> {
    /// A device after reset. Jobs and resets end at once.
    #[must_use]
    pub fn new(top: A, accelerator: u16, max_descriptors: u32, memory: M) -> Self {
        let bus = shell_registers::Bus { address_width: top.address_width(), data_width: top.data_width(), ports: 1 };
        let mut fields = shell_registers::fields(accelerator.into(), max_descriptors.into(), bus);
        fields.extend(top.own());
        let (names, fields) = fields.into_iter().unzip();
        Self {
            top,
            memory,
            delays: Delays { job: Some(0), reset: Some(0) },
            registers: Registers::new(fields),
            names,
            state: State::Idle,
            end: End::default(),
            place: 0,
            counts: Vec::new(),
        }
    }

    /// Reads the register at an offset.
    ///
    /// # Errors
    /// The offset has no register.
    pub fn read(&mut self, offset: u32) -> Result<u32, Refused> {
        self.pass();
        let shown: Vec<u64> = self.names.iter().map(|name| self.shown(name)).collect();
        self.registers.read(offset, &shown)
    }

    /// Writes all bytes of the register at an offset.
    ///
    /// # Errors
    /// The offset has no register that can be written.
    pub fn write(&mut self, offset: u32, value: u32) -> Result<(), Refused> {
        self.pass();
        let pulses = self.registers.write(offset, value, 0xf)?;
        let pulsed = |name| pulses[self.index(name)] != 0;
        let (start, reset) = (pulsed("start"), pulsed("soft_reset"));
        let starts = start && self.state == State::Idle && !reset;
        if start && !starts {
            self.set("refused");
        }
        if reset {
            self.top.soft_reset();
            self.state = State::Resets(self.delays.reset);
        } else if starts {
            self.state = State::Runs(self.delays.job);
            self.end = End::default();
            self.counts.clear();
        }
        self.settle();
        Ok(())
    }

    /// The interrupt.
    #[must_use]
    pub fn irq(&self) -> bool {
        [("done", "irq_done"), ("error", "irq_error"), ("refused", "irq_refused")]
            .iter()
            .any(|(status, enable)| self.value(status) & self.value(enable) != 0)
    }

    /// Lets time pass until the job or the reset ends, if it ends at all.
    pub fn finish(&mut self) {
        self.state = match self.state {
            State::Runs(Some(_)) => State::Runs(Some(0)),
            State::Resets(Some(_)) => State::Resets(Some(0)),
            other => other,
        };
        self.settle();
    }

    fn index(&self, name: &str) -> usize {
        self.names.iter().position(|n| *n == name).unwrap_or(usize::MAX)
    }

    fn value(&self, name: &str) -> u64 {
        self.registers.value(self.index(name))
    }

    fn set(&mut self, name: &str) {
        let index = self.index(name);
        self.registers.set(index, 1);
    }

    fn shown(&self, name: &str) -> u64 {
        match name {
            "busy" => u64::from(matches!(self.state, State::Runs(_))),
            "soft_reset" => u64::from(matches!(self.state, State::Resets(_))),
            "error_code" => self.end.code.into(),
            "error_where" => self.place,
            "tag" => self.end.tag.into(),
            "descriptors" => self.end.descriptors.into(),
            _ => {
                let shown = self.counts.iter().copied().chain(self.top.live());
                shown.into_iter().find(|(shown, _)| *shown == name).map_or(0, |(_, value)| value)
            }
        }
    }

    /// Lets the time of one access pass.
    fn pass(&mut self) {
        if let State::Runs(Some(left)) | State::Resets(Some(left)) = &mut self.state {
            *left = left.saturating_sub(1);
        }
        self.settle();
    }

    /// Ends the job or the reset whose time has come.
    fn settle(&mut self) {
        match self.state {
            State::Runs(Some(0)) => {
                self.state = State::Idle;
                let limits = Limits {
                    base: self.value("window_base"),
                    limit: self.value("window_limit"),
                    max_descriptors: self.value("max_descriptors") as u32,
                };
                let report = job::run(&self.top, limits, self.value("job"), &mut self.memory);
                (self.end, self.counts) = (report.end, self.top.counts(&report));
                if self.end.code == 0 {
                    self.set("done");
                } else {
                    self.place = self.end.place;
                    self.set("error");
                }
            }
            State::Resets(Some(0)) => self.state = State::Idle,
            _ => {}
        }
    }
}
