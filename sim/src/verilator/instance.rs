//! One running simulation.

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::coverage::Coverage;
use super::design::{Dir, Port};
use super::loaded::{Initial, Shared};
use super::options::Trace;
use super::slot::Slot;
use super::wave::Wave;
use crate::{Error, Result, files};

// Status flags of shim.cpp.
const STOPPED: u32 = 1;
const FINISHED: u32 = 2;
const DEAD: u32 = 4;

thread_local! {
    /// The instance that this thread evaluated last. The shim is told when it changes.
    static BOUND: Cell<u64> = const { Cell::new(0) };
}

/// A running instance of a model.
///
/// # When values are valid
/// `poke*` sets an input and changes nothing else. [`Sim::settle`] makes the outputs follow the inputs and the state,
/// with the clock low. [`Sim::tick`] is the rising edge: registers take their next values from the inputs before the
/// edge, and then the outputs show the new state with the same inputs. The usual cycle is: poke all inputs, `settle`,
/// peek outputs, `tick`. It evaluates the model twice. `settle` may be left out if no output is read before the edge:
/// `tick` evaluates the low phase itself if anything changed.
///
/// Two errors are kept and reported by the next `settle`, `tick` or `cycles`: a value that does not fit its input, and
/// the design stopping itself.
pub struct Sim {
    pub(super) model: Arc<Shared>,
    pub(super) instance: *mut c_void,
    id: u64,
    pub(super) slots: Box<[Slot]>,
    /// The low phase of this cycle is evaluated and no input changed since.
    pub(super) settled: bool,
    pub(super) cycle: u64,
    /// Cycle count at which the run ends as failed.
    limit: u64,
    finished: bool,
    resets: u64,
    /// Cycle count at the end of the last reset.
    reset_cycle: u64,
    pub(super) fault: Option<Error>,
    /// A waveform that opens later, and the cycle before which it stays closed.
    pending_trace: Option<PathBuf>,
    trace_from: u64,
    /// The open waveform of a model of the native engine.
    wave: Option<Wave>,
    /// Evaluations of a design without a clock.
    steps: u64,
    /// The clock is high.
    is_high: bool,
}

// SAFETY: the instance is owned by this value alone; the runtime's per-thread state is rebound by `bind` before use.
unsafe impl Send for Sim {}

impl Sim {
    pub(super) fn new(model: Arc<Shared>, initial: Initial) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (random, seed) = match initial {
            Initial::Zero => (0, 0),
            // Zero means "from the clock" to the runtime.
            Initial::Random(seed) => (1, ((seed ^ seed >> 32) as u32 & 0x7fff_ffff).max(1)),
        };
        let guard = model.create.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: `create` has no preconditions.
        let instance = unsafe { (model.api.create)(random, seed) };
        drop(guard);
        let mut sim = Self {
            instance,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            slots: Box::default(),
            settled: false,
            cycle: 0,
            limit: u64::MAX,
            finished: false,
            resets: 0,
            reset_cycle: 0,
            fault: None,
            pending_trace: None,
            trace_from: u64::MAX,
            wave: None,
            steps: 0,
            is_high: false,
            model,
        };
        sim.bind();
        // SAFETY: the instance is alive and owned here.
        let log = unsafe { sim.model.log(instance) };
        if !log.is_empty() {
            return Err(Error::Stopped { cycle: 0, log });
        }
        sim.slots = sim.find_slots();
        for index in 0..sim.slots.len() {
            if sim.model.ports[index].dir == Dir::Input {
                sim.write_u64(index, 0);
            }
        }
        if let Some(reset) = sim.model.reset {
            sim.write_u64(reset, 1);
        }
        Ok(sim)
    }

    /// The ports of the design.
    pub fn ports(&self) -> &[Port] {
        &self.model.ports
    }

    /// Name of the top module.
    pub fn top(&self) -> &str {
        &self.model.top
    }

    /// Ends the run with [`Error::CycleLimit`] when it needs more than `limit` cycles. A bench may wait for ever if the
    /// hardware has a fault.
    pub fn limit_cycles(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Holds the active-low reset for `cycles` rising edges, then releases it. The first release takes effect at the
    /// next `settle` or `tick`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the design has no reset; and all errors of `tick`.
    pub fn reset(&mut self, cycles: u64) -> Result<()> {
        let Some(reset) = self.model.reset else {
            return Err(Error::Unsupported(format!("design `{}` has no reset", self.model.top)));
        };
        // A falling edge, even where the reset was low from the start.
        self.write_u64(reset, 1);
        self.settle()?;
        self.write_u64(reset, 0);
        self.settle()?;
        for _ in 0..cycles {
            self.tick()?;
        }
        self.write_u64(reset, 1);
        self.resets += 1;
        self.reset_cycle = self.cycle;
        Ok(())
    }

    /// [`Sim::cycle_count`] at the end of the last [`Sim::reset`]; 0 without one.
    pub(crate) fn reset_cycle(&self) -> u64 {
        self.reset_cycle
    }

    /// How often [`Sim::reset`] was called. A partner with state starts anew when this number changes.
    pub fn resets(&self) -> u64 {
        self.resets
    }

    /// Makes the outputs follow the inputs and the state, clock low.
    #[inline]
    pub fn settle(&mut self) -> Result<()> {
        self.begin()?;
        if self.settled && self.model.clock.is_some() {
            return Ok(());
        }
        // SAFETY: the instance is alive and bound to this thread.
        let status = unsafe { (self.model.api.settle)(self.instance) };
        self.settled = true;
        self.is_high = false;
        if self.model.clock.is_none() {
            self.steps += 1;
            self.dump(10 * self.steps)?;
        }
        self.check(status)
    }

    /// One rising clock edge.
    ///
    /// # Errors
    /// [`Error::Stopped`] when the design stopped itself, [`Error::Poke`] for an earlier value that does not fit,
    /// [`Error::Unsupported`] when the design has no clock.
    #[inline]
    pub fn tick(&mut self) -> Result<()> {
        self.require_clock()?;
        if self.cycle >= self.trace_from {
            self.open_pending_trace()?;
        }
        if self.cycle >= self.limit {
            return Err(Error::CycleLimit { limit: self.limit });
        }
        self.settle()?;
        self.dump(10 * self.cycle + 5)?;
        self.settled = false;
        self.cycle += 1;
        // SAFETY: as in `settle`.
        let status = unsafe { (self.model.api.rise)(self.instance) };
        self.is_high = true;
        self.dump(10 * self.cycle)?;
        self.check(status)
    }

    /// `count` clock cycles with constant inputs, in one call. Returns early when the design finishes.
    pub fn cycles(&mut self, count: u64) -> Result<()> {
        self.require_clock()?;
        self.begin()?;
        let left = self.limit.saturating_sub(self.cycle);
        if count > left {
            self.free_run(left)?;
            return Err(Error::CycleLimit { limit: self.limit });
        }
        let before_trace = self.trace_from.saturating_sub(self.cycle);
        if before_trace > count {
            return self.free_run(count);
        }
        self.free_run(before_trace)?;
        self.open_pending_trace()?;
        self.free_run(count - before_trace)
    }

    fn free_run(&mut self, count: u64) -> Result<()> {
        if self.wave.is_some() {
            return (0..count).try_for_each(|_| self.tick());
        }
        self.settled = false;
        let mut done = 0;
        // SAFETY: as in `settle`; `done` outlives the call.
        let status = unsafe { (self.model.api.cycles)(self.instance, count, &mut done) };
        self.cycle += done;
        self.check(status)
    }

    /// Rising edges so far, reset included.
    pub fn cycle_count(&self) -> u64 {
        self.cycle
    }

    /// Whether the design executed `$finish`.
    pub fn finished(&self) -> bool {
        self.finished
    }

    /// The text that the design printed since the last call, with `$display` and similar tasks.
    pub fn take_output(&mut self) -> String {
        self.bind();
        // SAFETY: the instance is alive.
        let text = unsafe { self.model.log(self.instance) };
        // SAFETY: as above.
        unsafe { (self.model.api.clear)(self.instance) };
        text
    }

    /// Starts writing a waveform to `path`. The rising edge that ends cycle k-1 and begins cycle k is at time 10 k
    /// (ns); the inputs of cycle k appear at 10 k + 5.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the model was built without [`Trace`] or a waveform is already open;
    /// [`Error::Io`] when the file cannot be created.
    pub fn open_trace(&mut self, path: &Path) -> Result<()> {
        if self.model.trace == Trace::Off {
            let problem = format!("the model of `{}` was built without waveforms", self.model.top);
            return Err(Error::Unsupported(problem));
        }
        let is_open = || Error::Unsupported(format!("cannot open the waveform {}: is one open?", path.display()));
        if let Some(nets) = &self.model.nets {
            if self.wave.is_some() {
                return Err(is_open());
            }
            let mut places = vec![std::ptr::null_mut(); nets.arrays()];
            // SAFETY: the instance is alive, and writes at most as many places as given. It may have more arrays, which
            // no net shows.
            unsafe { (self.model.api.arrays)(self.instance, places.as_mut_ptr(), places.len() as u64) };
            self.wave = Some(Wave::create(path, self.model.trace, nets, &places)?);
            return Ok(());
        }
        // Verilator's writers do not say why a file cannot be opened.
        std::fs::File::create(path).map_err(Error::io(path))?;
        self.bind();
        let name = c_path(path)?;
        // SAFETY: the instance is alive; `name` outlives the call.
        if unsafe { (self.model.api.trace_open)(self.instance, name.as_ptr()) } == 0 {
            return Err(is_open());
        }
        Ok(())
    }

    /// Like [`Sim::open_trace`], from the first rising edge after `cycle` edges: the interesting end of a long run.
    pub fn open_trace_at(&mut self, path: &Path, cycle: u64) -> Result<()> {
        if cycle <= self.cycle {
            return self.open_trace(path);
        }
        self.trace_from = cycle;
        self.pending_trace = Some(path.to_owned());
        Ok(())
    }

    #[cold]
    fn open_pending_trace(&mut self) -> Result<()> {
        self.trace_from = u64::MAX;
        self.pending_trace.take().map_or(Ok(()), |path| self.open_trace(&path))
    }

    /// Completes the waveform file. Dropping the instance does the same, but cannot report a failure.
    ///
    /// # Errors
    /// [`Error::Io`] when the rest of the file cannot be written.
    pub fn close_trace(&mut self) -> Result<()> {
        let last = if self.model.clock.is_some() { self.dump(10 * self.cycle + 5) } else { Ok(()) };
        let wave = self.wave.take();
        self.bind();
        // SAFETY: the instance is alive.
        unsafe { (self.model.api.trace_close)(self.instance) };
        last?;
        wave.map_or(Ok(()), Wave::finish)
    }

    /// Coverage collected so far.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the model was built without coverage.
    pub fn coverage(&mut self) -> Result<Coverage> {
        let folder = files::scratch().map_err(Error::io(std::env::temp_dir()))?;
        let file = folder.path().join("coverage.dat");
        self.write_coverage(&file)?;
        Coverage::read(&file)
    }

    /// Writes coverage in Verilator's format, for `verilator_coverage`.
    pub fn write_coverage(&mut self, path: &Path) -> Result<()> {
        if !self.model.coverage {
            let problem = format!("the model of `{}` was built without coverage", self.model.top);
            return Err(Error::Unsupported(problem));
        }
        self.bind();
        let name = c_path(path)?;
        // SAFETY: the instance is alive; `name` outlives the call.
        unsafe { (self.model.api.coverage_write)(self.instance, name.as_ptr()) };
        Ok(())
    }

    /// Writes the present values to the waveform of a model of the native engine.
    #[inline]
    fn dump(&mut self, time: u64) -> Result<()> {
        if self.wave.is_some() { self.write_wave(time) } else { Ok(()) }
    }

    #[cold]
    fn write_wave(&mut self, time: u64) -> Result<()> {
        // SAFETY: the reset is a live member of one byte.
        let reset = self.model.reset.is_none_or(|reset| unsafe { *self.slots[reset].address } != 0);
        let clock = self.is_high;
        // SAFETY: the instance is alive, and evaluations are calls that have returned.
        self.wave.as_mut().map_or(Ok(()), |wave| unsafe { wave.dump(time, clock, reset) })
    }

    fn require_clock(&self) -> Result<()> {
        if self.model.clock.is_some() {
            return Ok(());
        }
        Err(Error::Unsupported(format!("design `{}` has no clock: use `settle`", self.model.top)))
    }

    #[inline]
    fn begin(&mut self) -> Result<()> {
        self.bind();
        match self.fault.take() {
            None => Ok(()),
            Some(fault) => Err(fault),
        }
    }

    #[inline]
    fn bind(&self) {
        if BOUND.get() != self.id {
            BOUND.set(self.id);
            // SAFETY: the instance is alive and owned by `self`.
            unsafe { (self.model.api.bind)(self.instance) };
        }
    }

    #[inline]
    fn check(&mut self, status: u32) -> Result<()> {
        if status == 0 { Ok(()) } else { self.explain(status) }
    }

    #[cold]
    fn explain(&mut self, status: u32) -> Result<()> {
        self.finished |= status & FINISHED != 0;
        if status & (STOPPED | DEAD) == 0 {
            return Ok(());
        }
        let mut log = self.take_output();
        if log.is_empty() {
            log.push_str("an earlier fatal error ended this simulation");
        }
        Err(Error::Stopped { cycle: self.cycle, log })
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // After a failed run the waveform has as much as can be written.
        let _ = self.close_trace();
        // The shim leaves no instance bound.
        BOUND.set(0);
        // SAFETY: the instance is alive and not used again.
        unsafe { (self.model.api.destroy)(self.instance) };
    }
}

fn c_path(path: &Path) -> Result<CString> {
    let problem = "a path with a zero byte cannot be opened";
    CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| Error::Data { path: path.to_owned(), problem: problem.to_owned() })
}

#[cfg(test)]
mod tests {
    use hdl::blocks::common::MacMesh;

    use crate::{BuildOptions, Design, Engine, Model, Trace};

    /// A model has arrays after the last one that a net shows, and is given a list that ends there.
    #[test]
    fn places_of_arrays_stay_within_their_list() {
        let design = Design::from(&hdl::lang::elaborate(&MacMesh::default()).unwrap());
        let options = BuildOptions { engine: Some(Engine::Native), trace: Trace::Vcd, ..BuildOptions::default() };
        let sim = Model::build(&design, &options).unwrap().instance().unwrap();
        let written = |count: u64| {
            let mut places = [std::ptr::null_mut(); 64];
            // SAFETY: the instance is alive, and the list is as long as the largest count.
            unsafe { (sim.model.api.arrays)(sim.instance, places.as_mut_ptr(), count) };
            places.map(|place| !place.is_null())
        };
        let (few, all) = (written(2), written(64));
        assert!(all[2..].contains(&true), "{all:?}");
        assert!(few[..2] == all[..2] && !few[2..].contains(&true), "{few:?}");
    }
}
