//! The engine for loads where operations overlap, between the shell's streams: controller and loader.

use super::linear_operations::LoadOperation;
use super::titanus_spec::TitanusSpec;
use super::weight_loader::WeightLoader;
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::shell::{OperationController, Own};
use crate::blocks::titanus::StoredRow;
use crate::lang::{About, Block, Group, Module, Out, OutStream, Signal, bit, parameters, ports, sint, uint};

parameters! {
    /// Elaboration parameters.
    pub struct LoadEngine {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
    rules = |p, rules| {
        p.dma.demand_row(rules, p.spec.most_bytes());
        rules.part("dma", &p.controller());
        rules.part("spec", &p.loader());
    };
}

impl LoadEngine {
    /// Rows of weights, or constants.
    pub const READERS: u32 = 1;

    /// The descriptor of a load.
    #[must_use]
    pub fn load(&self) -> LoadOperation {
        LoadOperation { spec: self.spec.clone() }
    }

    fn controller(&self) -> OperationController {
        OperationController { waits: true, ..OperationController::of(&self.axi, &self.dma, Self::READERS) }
    }

    fn loader(&self) -> WeightLoader {
        WeightLoader { axi: self.axi.clone(), spec: self.spec.clone() }
    }
}

ports! {
    /// Ports of [`LoadEngine`].
    pub struct LoadEnginePorts(p: &LoadEngine) {
        /// To the shell. It writes nothing to memory.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), 0),
        /// Weights, an input of the matrix at a time.
        weights: OutStream<StoredRow> = p.spec.store.clone(),
        /// A constant is written.
        write_o: Out = bit(),
        /// Its number.
        index_o: Out = p.spec.constant(),
        /// Its scale.
        scale_o: Out = uint(32),
        /// Its bias.
        bias_o: Out = sint(32),
    }
}

impl Block for LoadEngine {
    type Ports = LoadEnginePorts;
    const ABOUT: About = About {
        name: "load_engine",
        summary: "loads of the Titanus core beside its products",
        contract: "An operation as titanus_load names its fields, checked and done as operation_controller says.\n\
            ERROR_SIZE (9) refuses a matrix or constants beyond what there is.",
        reference: "Titanus, section 4.2",
    };

    fn build(&self, m: &mut Module, io: &LoadEnginePorts) {
        let shell = &io.shell;
        let load = shell.only(m, self.load());
        let controller = shell.controller(m, self.controller());
        shell.command(m, &controller);
        self.refuse(m, &load, &controller);
        self.place(m, &load, &controller);
        let loader = m.instance("u_loader", self.loader());
        m.connect(loader.clear_i, shell.abort_i);
        m.connect(loader.begin_i, controller.begin_o);
        Own { done: loader.done_o, ..controller.own() }.connect(m, &controller);
        m.connect_stream(&loader.rows, &shell.read.at(0));
        loader.fields(m, &load);
        m.connect_stream(&io.weights, &loader.weights);
        let computing: Signal = io.weights.fire() | loader.write_o;
        m.connect_pairs([
            (io.write_o, loader.write_o),
            (io.index_o, loader.index_o),
            (io.scale_o, loader.scale_o),
            (io.bias_o, loader.bias_o),
            (controller.overflow_i, bit().lit(0)),
            (shell.overflows_o, bit().lit(0)),
            (shell.computing_o, computing),
        ]);
        m.comment("It writes nothing to memory.");
        let write = shell.write.at(0);
        m.connect(write.valid, 0);
        m.connect(write.data.data, 0);
        m.unused(write.ready);
    }
}
