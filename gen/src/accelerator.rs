//! What an accelerator in a crate of one's own is made of. `senbazuru new NAME --accelerator` writes such a crate.
//!
//! An accelerator is a block after the shell: a host starts jobs through its registers, and a job is a chain of
//! descriptors in memory. The [`prelude`] has what its hardware and its bench need. [`golden`] has the parts of golden
//! models: jobs, operands, memory, and times of DMAs. [`jobs`] draws jobs and plays them. Drivers depend on `senbazuru-host`, which is [`host`] here.
//!
//! ```
//! use senbazuru::accelerator::{host_constants, prelude::*};
//!
//! let top = hdl::accelerators::vector::VectorTop::default();
//! assert_eq!(top.operations()[0].number, 1);
//! assert!(host_constants(&top)?.contains("pub const CONTROL_START: u32"));
//! # use senbazuru::hdl;
//! # Ok::<(), anyhow::Error>(())
//! ```

use anyhow::Context;
use hdl::lang::Block;

pub use {golden, host, jobs};

/// Hardware and benches of accelerators.
pub mod prelude {
    pub use golden::accelerators::job::Report;
    pub use hdl::accelerators::engine::{Engine, EnginePorts, EngineSpec};
    pub use hdl::accelerators::registers::{OwnRegisters, VectorCaps};
    pub use hdl::accelerators::top::{Accelerator, Top, TopParameters, TopPorts, TopSpec, top_spec};
    pub use hdl::blocks::common::bus::{AxiSpec, DmaSpec, RowBeat};
    pub use hdl::blocks::common::shell::{JobShell, OperationController, Own, Place, first_error, job_error};
    pub use hdl::lang::operation::{Opcode, OperationBlock};
    pub use hdl::lang::registers::{Constant, ReadOnly, ReadWrite};
    pub use hdl::lang::*;
    pub use jobs::draft::Operations;
    pub use jobs::hardware::{Hardware, on_hardware};
    pub use jobs::player::{Counter, Facts, bench as bench_of_jobs, register};
    pub use jobs::program::Program;
    pub use jobs::timing::{Waits, shell as shell_of};
    pub use sim::bus::AxiConfig;
    pub use sim::stimulus::StimulusRng;

    pub use super::host_constants;
}

/// Registers and descriptors of an accelerator as Rust constants for its drivers: the text that `gen` writes.
///
/// # Errors
/// Parameters that the block refuses, or a block without registers.
pub fn host_constants<B: Block>(block: &B) -> anyhow::Result<String> {
    let design = hdl::lang::elaborate(block)?;
    let files = crate::output::software(&design.manifest()).map_err(|e| anyhow::anyhow!("{e}"))?;
    let rust = files.into_iter().find(|(extension, _)| *extension == "rs");
    Ok(rust.with_context(|| format!("`{}` has no registers", B::ABOUT.name))?.1)
}

/// Costs of decoder layers: with [`Line::counts`](crate::Line::counts) an accelerator is compared with others.
///
/// ```
/// use senbazuru::accelerator::costs::{Choice, Cost, Costs, Counts, Model, Work};
/// use senbazuru::hdl::accelerators::vector::VectorTop;
///
/// /// Sixteen products a cycle, from memory.
/// struct Mine;
///
/// impl Costs for Mine {
///     fn about(&self) -> String {
///         "16 products a cycle".to_owned()
///     }
///
///     fn peak(&self) -> f64 {
///         16.0
///     }
///
///     fn layer(&self, model: &Model, work: Work) -> anyhow::Result<Cost> {
///         let products = work.sequences * work.tokens * model.weights();
///         Ok(Cost { cycles: products / 16, bytes: model.weights(), products, ..Cost::default() })
///     }
///
///     fn head(&self, model: &Model, sequences: u64) -> anyhow::Result<Cost> {
///         let products = sequences * model.width * model.vocabulary;
///         Ok(Cost { cycles: products / 16, bytes: model.width * model.vocabulary, products, ..Cost::default() })
///     }
/// }
///
/// // Here for a block of the toolkit; for yours in the same way.
/// const COUNTS: Counts<VectorTop> =
///     Counts { block: VectorTop::default, choices: Vec::new, costs: |_, _, _| Ok(Box::new(Mine)) };
/// # let _: Vec<Choice> = (COUNTS.choices)();
/// ```
#[cfg(feature = "standard")]
pub mod costs {
    pub use models::cycles::shapes::Model;
    pub use models::cycles::{Cost, Costs, Counts, Event, Events, OfBlock, Work, kind};
    pub use models::schemes::{Choice, Kind, Settings};
}
