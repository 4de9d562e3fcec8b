//! The lanes of the unit and their streams.

use super::super::format::resized;
use super::super::non_zero_quantizer::divide;
use super::super::{RANGE_BITS, RECORD_BITS, ScaleZeroBuffer, ScaleZeroBufferPorts, level_bits, steps_of};
use super::order::Order;
use super::{DequantizationUnit, DequantizationUnitPorts, Nets, Shared, held};
use crate::blocks::common::arith::popcount::ones;
use crate::blocks::common::{Expander, ExpanderPorts, Pipeline};
use crate::lang::{About, Array, Block, Index, Module, Signal, Timing, bit, bits_for, cat, mux, select, sint, uint};

impl Block for DequantizationUnit {
    type Ports = DequantizationUnitPorts;
    const ABOUT: About = About {
        name: "dequantization_unit",
        summary: "rebuilds int8 tiles from index, label and quantized values",
        contract: "x is 0 where index is 0, else saturate(floor((2 range (q - zero) + L) / (2 L))) with L =\n\
            2^bits - 1 and range and zero of the channel's level. q is the next of values where label is 1, else 0.\n\
            open with range and zero opens the next level of a channel, for this tile already. level counts from 0.\n\
            Latency 2 cycles, one tile a cycle.\n\
            Tiles come in order, token after token. first begins a stream with its first tile, and so does the tile\n\
            after last or reset; it finds all channels without level, whatever came before. A stream begins with\n\
            levels only (initial, one tile for each tile of a token) or with a token. Tiles with initial give no\n\
            beat.\n\
            error flags damage, from the first such tile to the last one of the stream:\n\
            - error at the input\n\
            - a width outside of 2 to 8\n\
            - more levels than there are\n\
            - an element of a channel without level\n\
            - an element that opens a level and is neither 0 nor L\n\
            - a level whose low end, range zero / L, is beyond -255 to 255\n\
            - initial elsewhere, or too few or too many tiles with initial\n\
            - last within a token or without a token.\n\
            Reset drops all tiles inside.",
        reference: "Titanus, section 4.4 (DQU)",
    };

    fn build(&self, m: &mut Module, io: &DequantizationUnitPorts) {
        let (lanes, level_bits) = (self.lanes, level_bits(self.levels));
        let initial = io.tile.initial;
        // Tiles with initial levels pass both stages for their constants, and end there.
        let silent = m.wire("silent", initial & !io.tile.last);
        let out_silent = m.reg("product_silent_q", bit());
        let last_ready = m.net("last_ready", bit());
        let control = Pipeline::new(m, &["product"], io.tile.valid, last_ready);
        m.connect(io.tile.ready, control.ready);
        let step = control.stages[0].load;
        let held_product = control.stages[0].valid;
        out_silent.next_when(step, silent);
        let out = Pipeline::new(m, &["result"], held_product & !out_silent.q, io.result.ready);
        m.connect(last_ready, out_silent.q | out.ready);
        let finish = m.wire("finish", held_product & last_ready);
        m.connect(io.result.valid, out.stages[0].valid);

        let order = Order::new(m, io, self.tiles, step);
        let fresh = order.fresh;
        // Numbers of levels: a register file, since the next tile's are needed to fetch its levels.
        let count_type = uint(bits_for(u64::from(self.levels)));
        let counts_after = m.nets("counts_after", count_type, lanes);
        let file_bits = lanes * count_type.width;
        let next_counts = if self.tiles == 1 {
            counts_after.packed()
        } else {
            let file = m.memory("counts", self.tiles, file_bits, file_bits);
            file.write(step, order.tile, counts_after.packed());
            file.read_async("next_counts", order.next)
        };
        let current = m.reg("counts_q", uint(file_bits));
        current.next_when(step, next_counts);

        let records: ScaleZeroBufferPorts = m.instance(
            "u_levels",
            ScaleZeroBuffer { lanes, tiles: self.tiles, levels: self.levels, width: RECORD_BITS },
        );
        m.connect(records.write_tile_i, order.tile);
        m.connect(records.read_i, step);
        m.connect(records.read_tile_i, order.next);
        let constants: ScaleZeroBufferPorts =
            m.instance("u_constants", ScaleZeroBuffer { lanes, tiles: self.tiles, levels: self.levels, width: 8 });
        let product_tile = m.reg("product_tile_q", order.tile.ty());
        product_tile.next_when(step, order.tile);
        m.connect(constants.write_tile_i, product_tile.q);
        m.connect(constants.read_i, step);
        m.connect(constants.read_tile_i, order.tile);
        let expander: ExpanderPorts = m.instance("u_expander", Expander { lanes, width: 8, open: true });
        m.connect_each("label", expander.mask_i, io.tile.label);
        m.connect_each("values", expander.data_i, io.tile.values);
        let steps = steps_of(m, "tile_steps", io.tile.bits);
        let product_steps = held(m, "steps_q", step, steps);

        let counted = self.count_skips.then(|| m.nets("work", uint(4), lanes));
        let present = m.split("count", current.q, count_type.array(lanes));
        let next = m.split("next_count", next_counts, count_type.array(lanes));
        let wrong_levels = ["too_many_levels", "no_level", "within_level"].map(|name| m.nets(name, bit(), lanes));
        let [too_many, no_level, within] = wrong_levels.map(|lanes| lanes.packed().any());
        let wrong = m.wire("wrong_levels", too_many | no_level | within);
        let beyond = m.nets("beyond", bit(), lanes);
        let failed = order.failed(m, step, order.wrong | wrong, beyond.packed().any());
        let shared = Shared {
            step,
            finish,
            fresh,
            steps,
            product_steps,
            failed,
            out: out.stages[0].load,
            level_type: uint(level_bits),
        };
        let nets = Nets { present, next, counts_after, counted, wrong_levels, beyond };
        m.for_each("lanes", lanes, |m, lane| self.lane(m, io, lane, shared, nets, &expander, [&records, &constants]));
        let last = held(m, "product_last_q", step, io.tile.last);
        for (name, value, port) in [
            ("first", order.first, io.result.first),
            ("last", last, io.result.last),
            ("error", failed, io.result.error),
        ] {
            let value = held(m, &format!("result_{name}_q"), shared.out, value);
            m.connect(port, value);
        }
        if let Some(counted) = counted {
            self.count(m, io, counted, finish & !failed, out_silent.q);
        }
        m.formal(|m| {
            let both = Pipeline { ready: control.ready, stages: vec![control.stages[0], out.stages[0]] };
            // Without initial tiles, which leave nothing.
            m.assume("tokens_only", !initial);
            both.assert_order(m, "tiles", io.tile.fire(), io.result.fire());
            self.prove_levels(m, io);
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2)
    }
}

impl DequantizationUnit {
    /// The number of the last of `count` levels.
    fn level(&self, shared: Shared, count: Signal) -> Signal {
        let number = resized(count.wrapping_sub(1), shared.level_type.width);
        mux(count.any(), number, shared.level_type.lit(0))
    }

    #[expect(clippy::too_many_arguments, reason = "the nets around one lane")]
    fn lane(
        &self,
        m: &mut Module,
        io: &DequantizationUnitPorts,
        lane: Index,
        shared: Shared,
        nets: Nets,
        expander: &ExpanderPorts,
        [records, constants]: [&ScaleZeroBufferPorts; 2],
    ) {
        let tile = &io.tile;
        let (index, label, open) = (tile.index.at(lane), tile.label.at(lane), tile.open.at(lane));
        let step = shared.step;
        // The level, and the one that the next tile of the token finds.
        let present = nets.present.at(lane);
        let before = m.wire("count_before", mux(shared.fresh, present.ty().lit(0), present));
        let full = m.wire("full", before.eq(self.levels));
        let after = m.wire("count_after", before.wrapping_add(open & !full));
        let [too_many, no_level, within] = nets.wrong_levels.map(|lanes| lanes.at(lane));
        m.connect(too_many, open & full);
        m.connect(no_level, index & !after.any());
        m.connect(nets.counts_after.at(lane), after);
        let level = m.wire("level", self.level(shared, after));
        m.connect(records.write_i.at(lane), open & step);
        m.connect(records.write_level_i.at(lane), level);
        m.connect(records.write_data_i.at(lane), cat(&[tile.zero.at(lane).as_uint(), tile.range.at(lane)]));
        m.connect(records.read_level_i.at(lane), self.level(shared, nets.next.at(lane)));
        m.connect(constants.read_level_i.at(lane), level);

        // Stage 1: |q - zero| times range.
        let stored = records.data_o.at(lane);
        let range = m.wire("range", mux(open, tile.range.at(lane), stored.slice(0..RANGE_BITS)));
        let zero = mux(open, tile.zero.at(lane), stored.slice(RANGE_BITS..RECORD_BITS).as_sint());
        let zero = m.wire("zero", zero);
        let q = m.wire("q", expander.data_o.at(lane));
        m.connect(within, open & label & q.ne(shared.steps));
        // For the constant of a level q is 0, whatever stands at its top.
        let used = mux(open, q.ty().lit(0), q).extend(9).as_sint();
        let difference = m.wire("difference", used - zero);
        let at_zero = m.wire("at_zero", !difference.any());
        let multiplies = m.wire("multiplies", open | (label & !at_zero));
        let negative = m.wire("negative", difference.msb());
        let magnitude =
            mux(negative, uint(9).lit(0).wrapping_sub(difference.as_uint()), difference.as_uint().truncate(9));
        let magnitude = m.wire("magnitude", magnitude & multiplies.repeat(9));
        let product = m.wire("product", magnitude * range);
        let product = held(m, "product_q", step, product);
        let negative = held(m, "negative_q", step, negative);
        let index = held(m, "index_q", step, index);
        let label = held(m, "label_q", step, label);
        let open = held(m, "open_q", step, open);
        let range = held(m, "range_q", step, range);
        let level = held(m, "level_q", step, level);

        // Stage 2: divided by L, rounded.
        let steps = shared.product_steps;
        let rounded = m.wire("rounded", product + steps.shr(1));
        let high = rounded.slice(8..19);
        let large = m.wire("too_large", high.ge(steps));
        let numerator: Vec<_> = (0..8).rev().map(|i| rounded.bit(i)).collect();
        m.connect(nets.beyond.at(lane), open & large);
        let (rest, quotient) = divide(m, "quotient", high.truncate(8), &numerator, steps);
        m.unused(rest);
        let quotient = m.wire("quotient", cat(&quotient));
        let size = m.wire("size", cat(&[large, quotient]));
        let signed = m.wire("with_sign", mux(negative, (-size).as_uint(), size.extend(10)).as_sint());
        let constant = m.wire("constant", signed.saturate(8));
        m.connect(constants.write_i.at(lane), open & shared.finish);
        m.connect(constants.write_level_i.at(lane), level);
        m.connect(constants.write_data_i.at(lane), constant.as_uint());
        let top = m.wire("top", signed + range.extend(10).as_sint());
        let x = select(
            &[(!index | shared.failed, sint(8).lit(0)), (open & label, top.saturate(8)), (open | label, constant)],
            constants.data_o.at(lane).as_sint(),
        );
        let x = held(m, "x_q", shared.out, x);
        m.connect(io.result.x.at(lane), x);
        let index_out = held(m, "index_out_q", shared.out, index & !shared.failed);
        m.connect(io.result.index.at(lane), index_out);
        let level = held(m, "level_out_q", shared.out, level & (!shared.failed).repeat(level.width()));
        m.connect(io.result.level.at(lane), level);
        if let Some(counted) = nets.counted {
            let multiplies = held(m, "multiplies_q", step, multiplies);
            let zero_point = index & label & !open & !multiplies;
            m.connect(counted.at(lane), cat(&[zero_point, index & !label, !index, multiplies]));
        }
    }

    /// How often the multiplier was used, and why not.
    fn count(&self, m: &mut Module, io: &DequantizationUnitPorts, work: Array, finish: Signal, initial: Signal) {
        let ports = [io.multiplications_o, io.index_skips_o, io.label_skips_o, io.zero_point_skips_o];
        let names = ["multiplications", "index_skips", "label_skips", "zero_point_skips"];
        for (i, (port, name)) in ports.into_iter().zip(names).enumerate() {
            let Some(port) = port else { continue };
            let bits: Vec<_> = work.elements().iter().map(|w| w.bit(i as u32)).collect();
            let now = ones(m, &format!("{name}_now"), &bits);
            let total = m.reg_init(&format!("{name}_q"), uint(32), 0);
            let counts = if i == 0 { finish } else { finish & !initial };
            total.next_when(counts, total.q.wrapping_add(now));
            m.connect(port, total.q);
        }
    }
}
