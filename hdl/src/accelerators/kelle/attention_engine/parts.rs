//! Parts of the attention engine that its operations share: the array, rows to memory, refresh.

use super::super::attention_controller::AttentionControllerPorts;
use super::super::attention_sequencer::AttentionSequencerPorts;
use super::super::attention_sums::AttentionSumsPorts;
use super::super::head_reader::HeadReaderPorts;
use super::super::token_loader::TokenLoaderPorts;
use super::super::token_saver::TokenSaverPorts;
use super::super::walk::fit;
use super::{AttentionEngine, AttentionEnginePorts};
use crate::blocks::kelle::KvCachePorts;
use crate::lang::{Bundle, Module, Signal, bit, mux, select, uint};

impl AttentionEngine {
    /// Rows of weights and vectors to the array.
    pub(super) fn product(
        &self,
        m: &mut Module,
        io: &AttentionEnginePorts,
        controller: &AttentionControllerPorts,
        sequencer: &AttentionSequencerPorts,
        (panels, rest, clear): (Signal, Signal, Signal),
        (loader, reader, sums): (&TokenLoaderPorts, &HeadReaderPorts, &AttentionSumsPorts),
    ) {
        let spec = &self.spec;
        let work = &controller.work;
        let valued = sequencer.valued_o;
        let walk = m.instance("u_walk", spec.walk());
        let size = &walk.size;
        m.connect(walk.clear_i, clear);
        m.connect(walk.begin_i, sequencer.keys_o | sequencer.values_o);
        m.connect(size.vectors, work.queries);
        m.connect(size.groups, mux(valued, work.slices.extend(16), panels.extend(16)));
        let width = size.tiles.width();
        m.connect(size.tiles, mux(valued, fit(panels, width), fit(work.slices, width)));
        m.connect(size.rest, rest);
        let one = bit().lit(1);
        for (to, from) in [(size.transposed, !valued), (size.wide, one), (size.unsigned, valued)] {
            if let Some(to) = to {
                m.connect(to, from);
            }
        }
        m.connect_stream(&walk.weights, &reader.weights);
        m.connect_stream(&io.load, &walk.load);
        m.connect_stream(&io.step, &walk.step);
        m.connect(walk.here_i, 1);
        m.unused(walk.done_o);

        m.comment("Vectors are queries, or probabilities.");
        m.connect(loader.read_i, walk.read_o & !valued);
        let place = fit(walk.vector_o * work.slices, loader.tile_i.width());
        m.connect(loader.tile_i, place.wrapping_add(fit(walk.tile_o, loader.tile_i.width())));
        m.connect(sums.read_i, walk.read_o & valued);
        m.connect(sums.query_i, walk.vector_o);
        m.connect(sums.panel_i, fit(walk.tile_o, sums.panel_i.width()));
        let lanes = spec.spec.array().lanes();
        let (rows, columns) = (spec.spec.rows, spec.spec.columns);
        let both = rows.min(columns);
        m.for_each("tile", both, |m, i| {
            m.connect(walk.tile_i.at(i), mux(valued, sums.tile_o.at(i), loader.tile_o.at(i)));
        });
        m.for_each("tile_beyond", lanes - both, |m, i| {
            let from = if rows > columns { sums.tile_o.at(i + both) } else { loader.tile_o.at(i + both) };
            m.connect(walk.tile_i.at(i + both), from);
        });
    }

    /// What tokens are written to memory.
    pub(super) fn save(
        &self,
        m: &mut Module,
        io: &AttentionEnginePorts,
        controller: &AttentionControllerPorts,
        saver: &TokenSaverPorts,
    ) {
        m.connect(saver.clear_i, io.abort_i | controller.failed_o);
        m.connect(saver.begin_i, controller.save_o);
        m.connect(saver.first_i, controller.save_first_o);
        m.connect(saver.tokens_i, controller.save_tokens_o);
        m.connect(saver.slices_i, controller.work.slices);
    }

    /// Returns the lowest high score.
    pub(super) fn refresh(
        &self,
        m: &mut Module,
        io: &AttentionEnginePorts,
        controller: &AttentionControllerPorts,
        cache: &KvCachePorts,
    ) -> Signal {
        m.comment("Refresh.");
        let threshold = m.reg_init("threshold_q", uint(self.spec.score_width), u64::from(self.threshold));
        threshold.next_when(controller.config_o, controller.threshold_o);
        m.connect(cache.threshold_i, threshold.q);
        m.connect(cache.config_valid_i, controller.config_o);
        cache.config.drive(m, "intervals", &controller.config);
        m.unused(cache.config_refused_o);
        m.connect(io.stalls_o, cache.stalls_o);
        // Keys and values, high bytes and low ones.
        let [high, low] = [0, 1].map(|k| cache.refresh_write_o.at(k));
        let rows = select(&[(high & low, uint(3).lit(4)), (high | low, uint(3).lit(2))], uint(3).lit(0));
        m.connect(io.refreshes_o, rows);
        threshold.q
    }
}
