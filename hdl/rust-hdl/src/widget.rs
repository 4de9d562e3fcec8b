//! rust-hdl blocks as blocks of a catalogue.

use std::fmt;
use std::marker::PhantomData;

use hdl::lang::private::{Value, object};
use hdl::lang::{
    About, Block, CatalogBlock, Direction, ExternalModule, In, Module, Out, ParamError, Parameters, PortBuilder,
    PortKind, Ports, Proof, Rules, Signal,
};

use crate::{Import, InteropError};

/// Names a rust-hdl block, and says what its Verilog does not. [`Imported`] makes a block of ours of it.
///
/// ```
/// use hdl::lang::{About, elaborate};
/// use rust_hdl::prelude::*;
/// use rust_hdl_bridge::{Imported, Widget};
///
/// declare_sync_fifo!(Words, Bits<9>, 8, 2);
///
/// struct Fifo;
///
/// impl Widget for Fifo {
///     type Block = Words;
///     const ABOUT: About = About {
///         name: "rh_fifo",
///         summary: "FIFO of 8 words of 9 bits, from rust-hdl's widgets",
///         contract: "data_out_o is the oldest word while empty_o is low; read_i drops it.",
///         reference: "rust-hdl 0.46, SynchronousFIFO",
///     };
///     const SOURCE: &'static str = file!();
/// }
///
/// // In a catalogue: `.block::<Imported<Fifo>>("widgets", bench)`. In a design: `m.instance("u_fifo", Imported::<Fifo>::default())`.
/// let design = elaborate(&Imported::<Fifo>::default())?;
/// assert_eq!(design.top_name(), "rh_fifo");
/// # Ok::<(), hdl::lang::ElabError>(())
/// ```
pub trait Widget: 'static {
    /// The block, as its default makes it.
    type Block: rust_hdl::prelude::Block + Default;
    /// Name, contract and reference, as every block of a catalogue has them.
    const ABOUT: About;
    /// `file!()`: where the block is described.
    const SOURCE: &'static str;

    /// How it is imported: which input is a reset, whether all outputs come from registers.
    fn import(import: Import) -> Import {
        import
    }

    /// What is proved of it: checks on its ports, see [`Module::assert_always`]. It is placed in a formal section.
    fn properties(m: &mut Module, io: &ImportedPorts) {
        let _ = (m, io);
    }

    /// Cycles from reset that are proved exhaustively, if [`properties`](Self::properties) states anything.
    const PROOF_DEPTH: Option<u32> = None;
}

/// A [`Widget`] as a block of ours, without parameters. Its ports have rust-hdl's names in lower case, with `_i` or `_o`.
pub struct Imported<W>(PhantomData<fn() -> W>);

impl<W> Default for Imported<W> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<W> Clone for Imported<W> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<W: Widget> fmt::Debug for Imported<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(W::ABOUT.name)
    }
}

impl<W: Widget> Imported<W> {
    fn module() -> Result<ExternalModule, InteropError> {
        let name = format!("{}_rust_hdl", W::ABOUT.name);
        W::import(Import::new(&name)).block(W::Block::default())
    }
}

impl<W: Widget> Parameters for Imported<W> {
    const SOURCE: &'static str = W::SOURCE;

    fn values(&self) -> Value {
        object([])
    }

    fn from_values(values: &Value) -> Result<Self, ParamError> {
        match values.as_object().and_then(|values| values.keys().next()) {
            Some(name) => Err(ParamError::new(name, "given", "nothing: an imported block has no parameters")),
            None => Ok(Self::default()),
        }
    }

    fn defaults() -> Value {
        object([])
    }

    fn apply_rules(&self, rules: &mut Rules) {
        if let Err(error) = Self::module() {
            rules.demand(false, W::ABOUT.name, "a rust-hdl block", format!("what can be imported: {}", error.problem));
        }
    }
}

/// Ports of [`Imported`].
#[derive(Clone, Debug)]
pub struct ImportedPorts(Vec<(String, Direction, Signal)>);

impl ImportedPorts {
    /// The net at the port that rust-hdl calls `name`; nothing if there is none.
    #[must_use]
    pub fn port(&self, name: &str) -> Option<Signal> {
        self.0.iter().find(|port| port.0 == name).map(|port| port.2)
    }
}

impl<W: Widget> Ports<Imported<W>> for ImportedPorts {
    fn declare(builder: &mut PortBuilder, _: &Imported<W>) -> Self {
        // What cannot be imported is refused as a parameter.
        let ports = Imported::<W>::module().map(|module| module.ports).unwrap_or_default();
        let declare = |port: hdl::lang::ExternalPort| {
            let signal = match port.direction {
                Direction::Input => In::declare(builder, &format!("{}_i", port.name), port.ty),
                Direction::Output => Out::declare(builder, &format!("{}_o", port.name), port.ty),
            };
            (port.name, port.direction, signal)
        };
        Self(ports.into_iter().map(declare).collect())
    }
}

impl<W: Widget> Block for Imported<W> {
    type Ports = ImportedPorts;
    const ABOUT: About = W::ABOUT;

    fn build(&self, m: &mut Module, io: &ImportedPorts) {
        let Ok(module) = Self::module() else { return };
        let widget = m.external("u_widget", &module);
        for (name, direction, outer) in &io.0 {
            match direction {
                Direction::Input => m.connect(widget.port(name), *outer),
                Direction::Output => m.connect(*outer, widget.port(name)),
            }
        }
        if W::PROOF_DEPTH.is_some() {
            m.formal(|m| W::properties(m, io));
        }
    }
}

impl<W: Widget> CatalogBlock for Imported<W> {
    fn configurations() -> Vec<Self> {
        Vec::new()
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |depth| Proof { block: Self::default(), depth, cover_depth: depth, induction: false };
        W::PROOF_DEPTH.map(proof).into_iter().collect()
    }
}
