//! How a model is compiled.

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use crate::Result;

/// How a model is compiled. Every field but `cache` is part of the cache key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildOptions {
    /// Waveforms, off by default: a traced model is slower even when it does not write.
    pub trace: Trace,
    /// Collect line and toggle coverage.
    pub coverage: bool,
    /// C++ optimisation.
    pub opt: Opt,
    /// Without Verilator's optimisation of the dataflow graph, for netlists that Yosys wrote. With it, Verilator 5.006
    /// computes wrong sums for the netlist of `fp16_mac`.
    pub plain: bool,
    /// Where compiled models are kept.
    pub cache: Cache,
    /// The engine. With `None` `SENBAZURU_ENGINE` decides; without that variable it is the native engine if possible.
    pub engine: Option<Engine>,
}

/// The engine of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Engine {
    /// C of the design, compiled with the machine's C compiler.
    Native,
    /// The emitted Verilog, compiled with Verilator: the reference.
    Verilator,
}

impl Engine {
    /// The engine that the options name, or else [`Self::usual`]. If the native engine cannot simulate the design with
    /// these options, [`Model::build`](super::Model::build) takes Verilator.
    pub(crate) fn chosen(options: &BuildOptions) -> Result<Self> {
        options.engine.map_or_else(Self::usual, Ok)
    }

    /// The engine that `SENBAZURU_ENGINE` names; native if the variable is not set.
    ///
    /// # Errors
    /// There is no such engine.
    pub fn usual() -> Result<Self> {
        match std::env::var("SENBAZURU_ENGINE").as_deref() {
            Ok("verilator") => Ok(Self::Verilator),
            Ok("native" | "") | Err(_) => Ok(Self::Native),
            Ok(other) => Err(crate::Error::Setting { name: "SENBAZURU_ENGINE", problem: no_engine(other) }),
        }
    }
}

fn no_engine(name: &str) -> String {
    format!("`{name}` is no engine; there are native and verilator")
}

impl std::str::FromStr for Engine {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        match name {
            "native" => Ok(Self::Native),
            "verilator" => Ok(Self::Verilator),
            other => Err(no_engine(other)),
        }
    }
}

/// Waveform format compiled into a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trace {
    /// No waveforms.
    #[default]
    Off,
    /// Value change dump, text, read by every viewer.
    Vcd,
    /// GTKWave's compressed format, for long runs.
    Fst,
}

impl Trace {
    /// File name extension: `vcd` or `fst`; empty for [`Trace::Off`].
    pub fn extension(self) -> &'static str {
        match self {
            Self::Off => "",
            Self::Vcd => "vcd",
            Self::Fst => "fst",
        }
    }
}

/// C++ optimisation of the generated code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Opt {
    /// `clang++ -O0`, or `g++ -O0` where there is none, for models that run for some hundred cycles: it compiles in a
    /// fifth or in two thirds of the time. In the native engine `cc -Og`, in a third.
    O0,
    /// [`Self::O0`] in the native engine, [`Self::O1`] in Verilator. A native model of an accelerator compiles in a third
    /// of the time and runs at two thirds of the speed, so this suits up to a hundred jobs.
    Short,
    /// `g++ -O1`, the default: it compiles in half the time of `-O3`. With g++ 12 a 16 x 16 int8 MAC array runs at
    /// 1.49 M cycles/s, but at 1.13 M with `-O3`. A 32 x 32 array runs at 389 k, but at 358 k with `-O3`. Small designs
    /// are as fast with both.
    #[default]
    O1,
    /// `g++ -O3`, for runs of many minutes. It gains up to 10 % on designs dominated by wide arithmetic. It gains 40 %
    /// on a `tender_top` of 4 x 64 PEs, but takes two to three times as long to compile.
    O3,
}

impl Opt {
    pub(super) fn flags(self) -> &'static [&'static str] {
        match self {
            Self::O0 => &["-O0"],
            // Verilator's functions are thousands of stores to one object. g++ would spend half its time in the search
            // for the last store to a member, and the search makes no model faster.
            Self::Short | Self::O1 => {
                &["-O1", "--param=sccvn-max-alias-queries-per-access=20", "--param=dse-max-alias-queries-per-store=8"]
            }
            // Propagation of constants between functions overflows the stack of g++ 12 on designs of a thousand
            // modules.
            Self::O3 => &["-O3", "-fno-ipa-cp"],
        }
    }
}
