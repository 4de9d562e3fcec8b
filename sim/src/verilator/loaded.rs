//! A compiled model that is loaded, and the functions in it.

use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;
use std::sync::Mutex;

use super::design::Port;
use super::options::Trace;
use super::wave::Nets;

/// The shim's table of functions, with the layout of `struct Api` in `shim.cpp`.
#[repr(C)]
pub(super) struct Api {
    pub create: unsafe extern "C" fn(u32, u32) -> *mut c_void,
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub bind: unsafe extern "C" fn(*mut c_void),
    pub ports: unsafe extern "C" fn(*mut c_void, *mut *mut c_void),
    pub settle: unsafe extern "C" fn(*mut c_void) -> u32,
    pub rise: unsafe extern "C" fn(*mut c_void) -> u32,
    pub cycles: unsafe extern "C" fn(*mut c_void, u64, *mut u64) -> u32,
    pub log: unsafe extern "C" fn(*mut c_void) -> *const c_char,
    pub clear: unsafe extern "C" fn(*mut c_void),
    pub trace_open: unsafe extern "C" fn(*mut c_void, *const c_char) -> i32,
    pub trace_close: unsafe extern "C" fn(*mut c_void),
    pub coverage_write: unsafe extern "C" fn(*mut c_void, *const c_char) -> i32,
    pub arrays: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, u64),
}

/// Values of registers and memories before anything is written to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Initial {
    /// All zero.
    #[default]
    Zero,
    /// Random, from this seed: finds logic that depends on the state before reset.
    Random(u64),
}

pub(super) struct Shared {
    pub api: &'static Api,
    pub top: String,
    pub ports: Vec<Port>,
    pub clock: Option<usize>,
    pub reset: Option<usize>,
    pub trace: Trace,
    /// The nets in waveforms, for a model of the native engine with waveforms.
    pub nets: Option<Nets>,
    pub coverage: bool,
    /// Creation seeds the runtime's random generator, of which each loaded model has one.
    pub create: Mutex<()>,
    pub(super) warnings: String,
    pub(super) library_path: PathBuf,
    /// Keeps the code mapped; dropped after everything that points into it.
    pub(super) _library: libloading::Library,
}

impl Shared {
    /// Text that the instance printed or reported since the last `clear`.
    ///
    /// # Safety
    /// `instance` comes from this model's `create` and is alive.
    pub unsafe fn log(&self, instance: *mut c_void) -> String {
        // SAFETY: by contract; the text is copied before the shim can change it.
        unsafe { CStr::from_ptr((self.api.log)(instance)) }.to_string_lossy().trim_end().to_owned()
    }
}
