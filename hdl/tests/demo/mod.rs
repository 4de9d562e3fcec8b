//! Small blocks that together use every construct of the language. Their Verilog is snapshotted here, and linted and
//! simulated in `testbenches`.

#![allow(dead_code, reason = "each test file uses what it needs")]

use hdl::lang::*;

/// A block without parameters.
macro_rules! demo {
    ($(#[$doc:meta])* $name:ident $ports:ident $module:literal $contract:literal { $($port:tt)* } |$m:ident, $io:ident| $body:block) => {
        parameters! {
            $(#[$doc])*
            pub struct $name {}
        }
        ports! {
            /// Its ports.
            pub struct $ports(p: &$name) { $($port)* }
        }
        impl Block for $name {
            type Ports = $ports;
            const ABOUT: About = About {
                name: $module,
                summary: "a demonstration",
                contract: $contract,
                reference: "",
            };
            fn build(&self, $m: &mut Module, $io: &$ports) $body
        }
    };
}

mod expressions;
mod loops;
mod structure;

pub use expressions::*;
pub use loops::*;
pub use structure::*;

/// All of them, elaborated.
pub fn all() -> Vec<Design> {
    fn design<B: Block>(block: &B) -> Design {
        elaborate(block).unwrap_or_else(|e| panic!("{e}"))
    }
    vec![
        design(&Arithmetic {}),
        design(&Choices {}),
        design(&Deep {}),
        design(&Ends {}),
        design(&Formal {}),
        design(&Groups { groups: 1 }),
        design(&Groups { groups: 3 }),
        design(&Lanes {}),
        design(&Machine {}),
        design(&Masks {}),
        design(&Memories {}),
        design(&Outside {}),
        design(&Products {}),
        design(&ReadBack {}),
        design(&Registers {}),
        design(&Requant { acc_width: 24, scale_width: 16, shift: 12, out_width: 8 }),
        design(&Shared {}),
        design(&Streams {}),
        design(&Rows {}),
        design(&Tables {}),
    ]
}
