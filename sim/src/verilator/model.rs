//! A compiled model in memory.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::design::{Design, Port};
use super::instance::Sim;
use super::loaded::{Api, Initial, Shared};
use super::options::{BuildOptions, Engine, Trace};
use super::{build, native_build, ports};
use crate::{Error, Result};

/// A compiled and loaded design. Cheap to clone; any number of instances can run at once, in any threads.
#[derive(Clone)]
pub struct Model(Arc<Shared>);

impl Model {
    /// Compiles `design`, or takes it from the cache, and loads it.
    ///
    /// # Errors
    /// [`Error::Process`] when a tool is missing, [`Error::Verilog`] when Verilator rejects the design,
    /// [`Error::Design`] when the described ports differ from the ports of the Verilog.
    pub fn build(design: &Design, options: &BuildOptions) -> Result<Self> {
        let native = match Engine::chosen(options)? {
            Engine::Native if !options.coverage => native_build::model(design, options)?,
            _ => None,
        };
        let (nets, (path, ports, warnings)) = match native {
            Some((path, nets)) => (nets, (path, design.ports.clone(), String::new())),
            None => (None, {
                let built = build::build(design, options)?;
                let ports = ports::check(design, &built.members)?;
                (built.library, ports, built.warnings)
            }),
        };
        let load_error = |e: libloading::Error| Error::Load { path: path.clone(), problem: e.to_string() };
        // SAFETY: the library is our own build; its only initialisers belong to Verilator's runtime.
        let library = unsafe { libloading::Library::new(&path) }.map_err(load_error)?;
        // SAFETY: the symbol has this type in shim.cpp, whose text is part of the cache key.
        let table = unsafe { library.get::<unsafe extern "C" fn() -> *const Api>(c"senbazuru_api") };
        let table = table.map_err(load_error)?;
        // SAFETY: the table is a static of the library, which `Shared` keeps loaded as long as the reference.
        let api: &'static Api = unsafe { &*table() };
        let position =
            |name: &Option<String>| name.as_ref().and_then(|name| ports.iter().position(|p| p.name == *name));
        Ok(Self(Arc::new(Shared {
            api,
            top: design.top.clone(),
            clock: position(&design.clock),
            reset: position(&design.reset),
            ports,
            trace: options.trace,
            nets,
            coverage: options.coverage,
            create: Mutex::new(()),
            warnings,
            library_path: path,
            _library: library,
        })))
    }

    /// A fresh instance with all state zero.
    pub fn instance(&self) -> Result<Sim> {
        self.instance_with(Initial::Zero)
    }

    /// A fresh instance with the given state before reset. Inputs are zero, an active-low reset is released.
    pub fn instance_with(&self, initial: Initial) -> Result<Sim> {
        Sim::new(Arc::clone(&self.0), initial)
    }

    /// Name of the top module.
    pub fn top(&self) -> &str {
        &self.0.top
    }

    /// The ports of the top module, in the order of its Verilog.
    pub fn ports(&self) -> &[Port] {
        &self.0.ports
    }

    /// The waveform format compiled in.
    pub fn trace(&self) -> Trace {
        self.0.trace
    }

    /// Verilator's warnings when the model was built; empty for clean Verilog. The full check is [`crate::lint`].
    pub fn warnings(&self) -> &str {
        &self.0.warnings
    }

    /// The shared object in the cache.
    pub fn library_path(&self) -> &Path {
        &self.0.library_path
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("top", &self.0.top).field("library", &self.0.library_path).finish()
    }
}
