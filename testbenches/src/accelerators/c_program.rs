//! The C programs `vector_job.c` and `layer_job.c`, compiled and called: their callbacks go to a [`Bus`].

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::slice;

use anyhow::{Context, ensure};
use host::Bus;
use libloading::Library;
use lower::files;
use sim::files::{Scratch, scratch};
use sim::process::Tool;

/// How a job ended, `struct vector_end`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CEnd {
    /// The value of `ERROR_CODE`, 0 for no error.
    pub code: u32,
    /// Tag of the last descriptor that was completed.
    pub tag: u32,
    /// Descriptors that were completed.
    pub descriptors: u32,
    /// 0.
    pub reserved: u32,
    /// With a code: address of the descriptor.
    pub place: u64,
}

/// Errors that the C program returns, as in `enum vector_result`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CError<E: std::error::Error + 'static> {
    /// A callback failed; nothing was asked for after that.
    #[error("bus: {0}")]
    Bus(#[source] E),
    /// Another device, or another version.
    #[error("no accelerator of this kind is here")]
    NoDevice,
    /// A job runs.
    #[error("a job runs")]
    Busy,
    /// The bus of the device is not idle.
    #[error("the start was refused")]
    Refused,
    /// It takes more polls.
    #[error("the job has not ended, or the reset is not done, after so many polls")]
    TooLong,
    /// The job ended with an error.
    #[error("the job ended with an error: {0:?}")]
    Failed(CEnd),
    /// A result is wrong.
    #[error("a result of the program is wrong; its last job ended so: {0:?}")]
    Wrong(CEnd),
    /// Somebody reset the device.
    #[error("the job was dropped")]
    Dropped,
    /// A number that is not in the enumeration.
    #[error("the program returned {0}, which is no result of it")]
    Unknown(c_int),
}

/// `struct vector_bus`.
#[repr(C)]
struct CBus {
    context: *mut c_void,
    read32: unsafe extern "C" fn(*mut c_void, u32, *mut u32) -> c_int,
    write32: unsafe extern "C" fn(*mut c_void, u32, u32) -> c_int,
    read_mem: unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize) -> c_int,
    write_mem: unsafe extern "C" fn(*mut c_void, u64, *const c_void, usize) -> c_int,
    wait_irq: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
}

type Identify = unsafe extern "C" fn(*const CBus) -> c_int;
type Configure = unsafe extern "C" fn(*const CBus, u64, u64, u32) -> c_int;
type Run = unsafe extern "C" fn(*const CBus, u64, u32, *mut CEnd) -> c_int;
type RunLayer = unsafe extern "C" fn(*const CBus, *const u8, *const u8, u32, *mut CEnd) -> c_int;
type Reset = unsafe extern "C" fn(*const CBus, u32) -> c_int;

/// Bytes of memory that the demo uses.
pub const DEMO_BYTES: u64 = 0x540;

/// The compiled program.
pub struct CProgram {
    identify: Identify,
    configure: Configure,
    run: Run,
    reset: Reset,
    demo: Run,
    /// Keeps the code mapped; the functions are not used after it.
    _library: Library,
    _folder: Scratch,
}

/// The context of a callback.
struct Callee<'a, B: Bus> {
    bus: &'a mut B,
    failed: Option<Failure<B::Error>>,
}

enum Failure<E> {
    Bus(E),
    Panic(Box<dyn Any + Send>),
}

impl<B: Bus> Callee<'_, B> {
    /// Runs a callback. Errors and panics are kept, since neither passes through C.
    ///
    /// # Safety
    /// `context` is a context of this bus that nothing else uses now.
    unsafe fn call(context: *mut c_void, work: impl FnOnce(&mut B) -> Result<(), B::Error>) -> c_int {
        // SAFETY: by contract.
        let context = unsafe { &mut *context.cast::<Self>() };
        if context.failed.is_some() {
            return 1;
        }
        context.failed = match catch_unwind(AssertUnwindSafe(|| work(context.bus))) {
            Ok(Ok(())) => return 0,
            Ok(Err(error)) => Some(Failure::Bus(error)),
            Err(panic) => Some(Failure::Panic(panic)),
        };
        1
    }
}

unsafe extern "C" fn read32<B: Bus>(context: *mut c_void, offset: u32, value: *mut u32) -> c_int {
    // SAFETY: the program passes the context on, and a place for the value.
    unsafe {
        Callee::<B>::call(context, |bus| {
            *value = bus.read32(offset)?;
            Ok(())
        })
    }
}

unsafe extern "C" fn write32<B: Bus>(context: *mut c_void, offset: u32, value: u32) -> c_int {
    // SAFETY: the program passes the context on.
    unsafe { Callee::<B>::call(context, |bus| bus.write32(offset, value)) }
}

unsafe extern "C" fn read_mem<B: Bus>(context: *mut c_void, address: u64, bytes: *mut c_void, count: usize) -> c_int {
    let read = |bus: &mut B| {
        let mut read = vec![0; count];
        bus.read_memory(address, &mut read)?;
        // SAFETY: there is place for so many bytes, which need not have a value yet.
        unsafe { bytes.cast::<u8>().copy_from_nonoverlapping(read.as_ptr(), count) };
        Ok(())
    };
    // SAFETY: the program passes the context on.
    unsafe { Callee::<B>::call(context, read) }
}

unsafe extern "C" fn write_mem<B: Bus>(
    context: *mut c_void,
    address: u64,
    bytes: *const c_void,
    count: usize,
) -> c_int {
    // SAFETY: the program passes the context on, and so many bytes.
    unsafe { Callee::<B>::call(context, |bus| bus.write_memory(address, slice::from_raw_parts(bytes.cast(), count))) }
}

/// Compiles sources of this folder, with headers of another one as well, and loads them.
fn compiled(sources: &[&str], headers: Option<&Path>) -> anyhow::Result<(Library, Scratch)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/accelerators");
    let (folder, names) = (scratch()?, sources.join(" and "));
    let file = folder.path().join("program.so");
    let warnings = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"];
    let mut tool = Tool::new("cc").args(warnings).args(["-shared", "-fPIC", "-I"]).arg(here.join("include"));
    if let Some(headers) = headers {
        tool = tool.arg("-I").arg(headers);
    }
    let output = tool.arg("-o").arg(&file).args(sources.iter().map(|name| here.join(name))).run()?;
    ensure!(output.success(), "{names}: does not compile:\n{}", output.log());
    // SAFETY: the library was compiled from our own source, which has no initialisers.
    let library = unsafe { Library::new(&file) }.with_context(|| format!("{names}: does not load"))?;
    Ok((library, folder))
}

/// The pass of a layer that `lower::files` has written, with the C program that runs it.
pub struct CLayer {
    run: RunLayer,
    memory: Vec<u8>,
    results: Vec<u8>,
    _library: Library,
    _folder: Scratch,
}

impl CLayer {
    /// Compiles and loads the program for the files of a folder.
    ///
    /// # Errors
    /// A file is missing; there is no C compiler; it finds something to complain of.
    pub fn build(folder: &Path) -> anyhow::Result<Self> {
        let read = |name: &str| std::fs::read(folder.join(name)).with_context(|| name.to_owned());
        let (memory, results) = (read(files::MEMORY)?, read(files::RESULTS)?);
        let (library, scratch) = compiled(&["layer_job.c", "vector_job.c"], Some(folder))?;
        // SAFETY: layer_job.h declares the function with this type.
        let run = unsafe { *library.get::<RunLayer>(c"layer_run")? };
        Ok(Self { run, memory, results, _library: library, _folder: scratch })
    }

    /// Runs the pass, and compares all that it writes.
    ///
    /// # Errors
    /// The job fails, or a byte differs; the bus fails.
    pub fn run<B: Bus>(&self, bus: &mut B, polls: u32) -> Result<CEnd, CError<B::Error>> {
        let end = std::cell::Cell::new(CEnd::default());
        // SAFETY: the library is loaded; the files have all bytes that the tables in layer.h name.
        let run = |bus| unsafe { (self.run)(bus, self.memory.as_ptr(), self.results.as_ptr(), polls, end.as_ptr()) };
        call(bus, run, || end.get())?;
        Ok(end.get())
    }
}

impl CProgram {
    /// Compiles and loads it.
    ///
    /// # Errors
    /// There is no C compiler, it finds something to complain of, or the library cannot be loaded.
    pub fn build() -> anyhow::Result<Self> {
        let (library, folder) = compiled(&["vector_job.c"], None)?;
        // SAFETY: vector_job.h declares the functions with these types.
        unsafe {
            Ok(Self {
                identify: *library.get::<Identify>(c"vector_identify")?,
                configure: *library.get::<Configure>(c"vector_configure")?,
                run: *library.get::<Run>(c"vector_run")?,
                reset: *library.get::<Reset>(c"vector_reset")?,
                demo: *library.get::<Run>(c"vector_demo")?,
                _library: library,
                _folder: folder,
            })
        }
    }

    /// Whether the right kind of device is there.
    ///
    /// # Errors
    /// It is not, or the bus fails.
    pub fn identify<B: Bus>(&self, bus: &mut B) -> Result<(), CError<B::Error>> {
        // SAFETY: the library is loaded, the bus whole.
        call(bus, |bus| unsafe { (self.identify)(bus) }, CEnd::default)
    }

    /// Sets the window, first and last byte, and the timeout in cycles.
    ///
    /// # Errors
    /// A job runs, or the bus fails.
    pub fn configure<B: Bus>(&self, bus: &mut B, base: u64, limit: u64, timeout: u32) -> Result<(), CError<B::Error>> {
        // SAFETY: the library is loaded, the bus whole.
        call(bus, |bus| unsafe { (self.configure)(bus, base, limit, timeout) }, CEnd::default)
    }

    /// Starts the chain at `job`, and looks at STATUS up to `polls` times for its end.
    ///
    /// # Errors
    /// It does not start, not end, or end with an error; the bus fails.
    pub fn run<B: Bus>(&self, bus: &mut B, job: u64, polls: u32) -> Result<CEnd, CError<B::Error>> {
        with_end(bus, self.run, job, polls)
    }

    /// Drops the running job.
    ///
    /// # Errors
    /// The reset is not done after so many polls; the bus fails.
    pub fn reset<B: Bus>(&self, bus: &mut B, polls: u32) -> Result<(), CError<B::Error>> {
        // SAFETY: the library is loaded, the bus whole.
        call(bus, |bus| unsafe { (self.reset)(bus, polls) }, CEnd::default)
    }

    /// A whole session with memory of [`DEMO_BYTES`] from `memory`, a multiple of 64; returns how the last job ended.
    ///
    /// # Errors
    /// Whatever is not as it should be.
    pub fn demo<B: Bus>(&self, bus: &mut B, memory: u64, polls: u32) -> Result<CEnd, CError<B::Error>> {
        with_end(bus, self.demo, memory, polls)
    }
}

/// Calls a function that says how a job ended.
fn with_end<B: Bus>(bus: &mut B, function: Run, address: u64, polls: u32) -> Result<CEnd, CError<B::Error>> {
    let end = std::cell::Cell::new(CEnd::default());
    // SAFETY: the function belongs to a loaded library, bus and end are whole.
    call(bus, |bus| unsafe { function(bus, address, polls, end.as_ptr()) }, || end.get())?;
    Ok(end.get())
}

/// Calls a function of the program with callbacks to `bus`.
fn call<B: Bus>(
    bus: &mut B,
    function: impl FnOnce(*const CBus) -> c_int,
    end: impl Fn() -> CEnd,
) -> Result<(), CError<B::Error>> {
    let mut context = Callee { bus, failed: None };
    let callbacks = CBus {
        context: (&raw mut context).cast(),
        read32: read32::<B>,
        write32: write32::<B>,
        read_mem: read_mem::<B>,
        write_mem: write_mem::<B>,
        wait_irq: None,
    };
    let result = function(&raw const callbacks);
    match context.failed {
        Some(Failure::Panic(panic)) => resume_unwind(panic),
        Some(Failure::Bus(error)) => return Err(CError::Bus(error)),
        None => {}
    }
    Err(match result {
        0 => return Ok(()),
        2 => CError::NoDevice,
        3 => CError::Busy,
        4 => CError::Refused,
        5 => CError::TooLong,
        6 => CError::Failed(end()),
        7 => CError::Wrong(end()),
        8 => CError::Dropped,
        other => CError::Unknown(other),
    })
}
