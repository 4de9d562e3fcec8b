//! Write DMA: a stream of packed beats becomes rows of memory.

use super::axi::{AxiSpec, AxiWriteManager};
use super::dma::{DmaCommand, DmaCompletion, DmaSpec, demand_bursts};
use crate::blocks::common::RamImplementation;
use crate::blocks::common::stream::Word;
use crate::lang::{CatalogBlock, In, InStream, Out, OutStream, Proof, bit, parameters, ports, uint};

mod hardware;

parameters! {
    /// Elaboration parameters.
    pub struct AxiWriteDma {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands and bursts.
        dma: DmaSpec = DmaSpec::default();
        /// Beats that are kept for the bus; a burst begins when all of its beats are there.
        buffer_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Where they are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
    rules = |p, rules| {
        demand_bursts(&p.axi, &p.dma, rules);
        let least = p.dma.burst_beats.max(2);
        rules.demand(p.buffer_beats >= least, "buffer_beats", p.buffer_beats, format!("{least} to 65536"));
        rules.doubt(p.buffer_beats < 2 * p.dma.burst_beats, "buffer_beats is below two bursts: the bus waits in between");
    };
}

impl AxiWriteDma {
    pub(super) fn spec(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }
}

ports! {
    /// Ports of [`AxiWriteDma`].
    pub struct AxiWriteDmaPorts(p: &AxiWriteDma) {
        /// Soft reset: forgets all commands. It may stay high, up to idle_o and longer. Nothing is taken until the
        /// cycle after its end and after the last owed answer.
        abort_i: In = bit(),
        /// AxCACHE of bursts that begin.
        cache_i: In = uint(4),
        /// AxPROT of bursts that begin.
        prot_i: In = uint(3),
        /// Blocks of memory to write.
        command: InStream<DmaCommand> = p.spec(),
        /// The rows, packed: each begins a beat, the first byte lowest; bytes after the end of a row are ignored.
        input: InStream<Word> = p.axi.data_width,
        /// Ends of commands, each after the last response.
        completion: OutStream<DmaCompletion> = p.axi.clone(),
        /// The bus.
        mem: AxiWriteManager = p.axi.clone(),
        /// No command is in flight and no response is owed.
        idle_o: Out = bit(),
        /// A burst has begun, and its response has not come.
        owes_o: Out = bit(),
        /// A beat left to the bus in the cycle before.
        write_beat_o: Out = bit(),
        /// In the cycle before, a command was in flight, and a beat was offered and not taken.
        waits_o: Out = bit(),
    }
}

impl CatalogBlock for AxiWriteDma {
    const SAMPLE: &'static [(&'static str, u32)] = super::axi_read_dma::SAMPLE;

    fn configurations() -> Vec<Self> {
        let set = |data_width, address_width, burst_beats, outstanding, buffer_beats, storage| Self {
            axi: AxiSpec { address_width, data_width, id_width: 1 },
            dma: DmaSpec { burst_beats, outstanding, ..DmaSpec::default() },
            buffer_beats,
            storage,
        };
        use RamImplementation::{BlackBox, Inferred};
        vec![
            set(32, 32, 256, 2, 512, Inferred),
            set(32, 40, 1, 1, 2, Inferred),
            set(64, 48, 4, 3, 9, BlackBox),
            set(512, 64, 16, 8, 32, Inferred),
            set(1024, 64, 32, 4, 64, Inferred),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let axi = AxiSpec { address_width: 13, data_width: 32, id_width: 1 };
        let (row_width, rows_width, stride_width) = (4, 2, 7);
        let dma = DmaSpec {
            burst_beats: 2,
            outstanding: 2,
            commands: 2,
            row_width,
            rows_width,
            stride_width,
            ..DmaSpec::default()
        };
        let block = Self { axi, dma, buffer_beats: 2, storage: RamImplementation::Inferred };
        vec![Proof { block, depth: 8, cover_depth: 20, induction: true }]
    }
}
