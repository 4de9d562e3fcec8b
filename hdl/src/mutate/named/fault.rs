//! A fault by the name of a net or an operator.

/// A fault of a net or an operator by its name in the emitted Verilog, in all instances of its module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFault {
    /// The net: `name`, `array[3]`, `g_lane[2].name`.
    pub net: String,
    /// Its module, whose parameters may be left out. `None`: the top, or else the only module with such a net.
    pub module: Option<String>,
    /// What is wrong there.
    pub change: Change,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The net has another value.
    Value {
        /// In Verilog, as if it stood at the end of the module; `right` is the right value.
        expression: String,
        /// Only in the logic that drives this net, memory or instance, back to registers and instances. `None`:
        /// everywhere. A register that holds its value holds the right one then.
        into: Option<String>,
    },
    /// The operator nearest to the net, in the logic that drives it, is another one.
    Operator {
        /// The operator of the Verilog.
        from: String,
        /// What stands there instead.
        to: String,
    },
}
