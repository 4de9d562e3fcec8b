//! Dequantization unit: quantized tiles become int8 values again, each at its channel.
//!
//! A value is range (q - zero) / L, rounded. L is odd, so that there are no ties and rounding is the same on both sides of
//! zero: |range (q - zero)| + floor(L / 2) is divided by L = 2^b - 1 in eight compare-and-subtract steps.
//!
//! The multiplier rests where index is 0 (the value is 0), where q is the zero point (0 too), and where label is 0: that
//! value is a constant of the level, computed once, when the level arrives, and kept. What opens a level is at its low end
//! (that constant) or at its top (that constant plus the range), so that the multiplier is free for the constant then.

use serde::{Deserialize, Serialize};

use super::non_zero_quantizer::divide;
use super::tile_state::{TileCounter, first_round};
use super::{
    RANGE_BITS, RECORD_BITS, ScaleZeroBuffer, ScaleZeroBufferPorts, ZERO_BITS, level_bits, steps_of, stored_tile,
};
use crate::blocks::common::number_format::count_ones;
use crate::blocks::common::{Expander, ExpanderPorts, Pipeline};
use crate::lang::{
    About, Array, Block, CatalogBlock, Index, Module, OldInStream, OldOutStream, OldParameter, OutOption, ParamError,
    Proof, Signal, Type, bit, bits_for, cat, ensure_param, mux, old_parameters, ports, select, sint, stream, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DequantizationUnit {
    /// Channels of a tile.
    pub lanes: u32,
    /// Tiles of a token.
    pub tiles: u32,
    /// Levels that a channel may have.
    pub levels: u32,
    /// Adds counters of multiplications and of what was saved.
    pub count_skips: bool,
}

impl DequantizationUnit {
    fn count_bits(&self) -> u32 {
        bits_for(u64::from(self.levels))
    }
}

ports! {
    /// Ports of [`DequantizationUnit`].
    pub struct DequantizationUnitPorts(p: &DequantizationUnit) {
        /// Quantized tiles.
        tile: OldInStream = stored_tile(p.lanes),
        /// Values, and the level of each channel; no beat for tiles with `initial`.
        result: OldOutStream = stream()
            .array("x", sint(8).array(p.lanes))
            .array("index", bit().array(p.lanes))
            .array("level", uint(level_bits(p.levels)).array(p.lanes)),
        /// Products computed since reset, those for constants of levels included.
        multiplications_o: OutOption = uint(32).when(p.count_skips),
        /// Elements with index 0.
        index_skips_o: OutOption = uint(32).when(p.count_skips),
        /// Elements with index 1 and label 0.
        label_skips_o: OutOption = uint(32).when(p.count_skips),
        /// Elements with label 1 whose quantized value is the zero point.
        zero_point_skips_o: OutOption = uint(32).when(p.count_skips),
    }
}

old_parameters!(DequantizationUnit);

impl Block for DequantizationUnit {
    type Ports = DequantizationUnitPorts;
    const ABOUT: About = About {
        name: "dequantization_unit",
        summary: "rebuilds int8 tiles from index, label and quantized values",
        contract: "x is 0 where index is 0, else saturate(floor((2 range (q - zero) + L) / (2 L))) with L = 2^bits - 1 and range and\n\
            zero of the channel's level; q is the next of values where label is 1, else 0. open with range and zero opens the\n\
            next level of a channel, for this tile already; first finds all channels without level. Tiles come in order, token\n\
            after token. level counts from 0. Latency 2 cycles, one tile a cycle.",
        reference: "Titanus, section 4.4 (DQU)",
    };

    fn module_name(&self) -> String {
        let count = if self.count_skips { "_c" } else { "" };
        format!("dequantization_unit_l{}_t{}_n{}{count}", self.lanes, self.tiles, self.levels)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("lanes", self.lanes, 2..=256)?;
        ensure_param("tiles", self.tiles, 1..=4096)?;
        ensure_param("levels", self.levels, 1..=256)
    }

    fn build(&self, m: &mut Module, io: &DequantizationUnitPorts) {
        let (lanes, level_bits) = (self.lanes, level_bits(self.levels));
        let initial = io.tile.field("initial");
        // Tiles with initial levels pass both stages for their constants, and end there.
        let out_initial = m.reg("product_initial_q", bit());
        let last_ready = m.net("last_ready", bit());
        let control = Pipeline::new(m, &["product"], io.tile.valid, last_ready);
        m.connect(io.tile.ready, control.ready);
        let step = control.stages[0].load;
        let held_product = control.stages[0].valid;
        out_initial.next_when(step, initial);
        let out = Pipeline::new(m, &["result"], held_product & !out_initial.q, io.result.ready);
        m.connect(last_ready, out_initial.q | out.ready);
        let finish = m.wire("finish", held_product & last_ready);
        m.connect(io.result.valid, out.stages[0].valid);

        let counter = TileCounter::new(m, "tile", self.tiles);
        counter.step(step);
        let fresh = first_round(m, "fresh", counter, step, io.tile.field("first"));
        // Numbers of levels: a register file, since the next tile's are needed to fetch its levels.
        let count_type = uint(self.count_bits());
        let counts_after = m.nets("counts_after", count_type, lanes);
        let present = m.nets("count", count_type, lanes);
        let file_bits = lanes * self.count_bits();
        let next_counts = if self.tiles == 1 {
            counts_after.packed()
        } else {
            let file = m.memory("counts", self.tiles, file_bits, file_bits);
            file.write(step, counter.tile, counts_after.packed());
            file.read_async("next_counts", counter.next)
        };
        let current = m.reg("counts_q", uint(file_bits));
        current.next_when(step, next_counts);

        let records: ScaleZeroBufferPorts = m.instance(
            "u_levels",
            ScaleZeroBuffer { lanes, tiles: self.tiles, levels: self.levels, width: RECORD_BITS },
        );
        m.connect(records.write_tile_i, counter.tile);
        m.connect(records.read_i, step);
        m.connect(records.read_tile_i, counter.next);
        let constants: ScaleZeroBufferPorts =
            m.instance("u_constants", ScaleZeroBuffer { lanes, tiles: self.tiles, levels: self.levels, width: 8 });
        let product_tile = m.reg("product_tile_q", counter.tile.ty());
        product_tile.next_when(step, counter.tile);
        m.connect(constants.write_tile_i, product_tile.q);
        m.connect(constants.read_i, step);
        m.connect(constants.read_tile_i, counter.tile);
        let expander: ExpanderPorts = m.instance("u_expander", Expander { lanes, width: 8 });
        m.connect_each("label", expander.mask_i, io.tile.array("label"));
        m.connect_each("values", expander.data_i, io.tile.array("values"));
        let product_bits = m.reg("product_bits_q", io.tile.field("bits").ty());
        product_bits.next_when(step, io.tile.field("bits"));
        let steps = steps_of(m, "steps", product_bits.q);

        let counted = m.nets("work", uint(4), lanes);
        let next = m.nets("next_count", count_type, lanes);
        for lane in 0..lanes {
            let low = lane * self.count_bits();
            m.connect(present.at(lane), current.q.slice(low..low + self.count_bits()));
            m.connect(next.at(lane), next_counts.slice(low..low + self.count_bits()));
        }
        let shared = Shared { step, finish, fresh, steps, out: out.stages[0].load, level_type: uint(level_bits) };
        let nets = Nets { present, next, counts_after, counted };
        m.for_each("lanes", lanes, |m, lane| self.lane(m, io, lane, shared, nets, &expander, [&records, &constants]));
        self.count(m, io, counted, finish, out_initial.q);
        m.formal(|m| {
            let both = Pipeline { ready: control.ready, stages: vec![control.stages[0], out.stages[0]] };
            // Without initial tiles, which leave nothing.
            m.assume("tokens_only", !initial);
            both.assert_order(m, "tiles", io.tile.fire(), io.result.fire());
        });
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("latency".into(), 2), ("cycles_per_tile".into(), 1)]
    }
}

/// What all lanes use.
#[derive(Clone, Copy)]
struct Shared {
    step: Signal,
    finish: Signal,
    fresh: Signal,
    steps: Signal,
    out: Signal,
    level_type: Type,
}

/// Nets around the lanes.
#[derive(Clone, Copy)]
struct Nets {
    present: Array,
    next: Array,
    counts_after: Array,
    counted: Array,
}

impl DequantizationUnit {
    /// The number of the last of `count` levels.
    fn level(&self, shared: Shared, count: Signal) -> Signal {
        let (number, width) = (count.wrapping_sub(1), shared.level_type.width);
        let number = if number.width() < width { number.extend(width) } else { number.truncate(width) };
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
        let input = |name: &str| io.tile.array(name).at(lane);
        let (index, label, open) = (input("index"), input("label"), input("open"));
        let step = shared.step;
        // The level, and the one that the next tile of the token finds.
        let present = nets.present.at(lane);
        let before = m.wire("count_before", mux(shared.fresh, present.ty().lit(0), present));
        let after = m.wire("count_after", before.wrapping_add(open));
        m.connect(nets.counts_after.at(lane), after);
        let level = m.wire("level", self.level(shared, after));
        m.connect(records.write_i.at(lane), open & step);
        m.connect(records.write_level_i.at(lane), level);
        m.connect(records.write_data_i.at(lane), cat(&[input("zero").as_uint(), input("range")]));
        m.connect(records.read_level_i.at(lane), self.level(shared, nets.next.at(lane)));
        m.connect(constants.read_level_i.at(lane), level);

        // Stage 1: |q - zero| times range.
        let stored = records.data_o.at(lane);
        let range = m.wire("range", mux(open, input("range"), stored.slice(0..RANGE_BITS)));
        let zero = mux(open, input("zero"), stored.slice(RANGE_BITS..RANGE_BITS + ZERO_BITS).as_sint());
        let zero = m.wire("zero", zero);
        let q = m.wire("q", expander.data_o.at(lane));
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
        let held = |m: &mut Module, name: &str, load: Signal, value: Signal| {
            let register = m.reg(name, value.ty());
            register.next_when(load, value);
            register.q
        };
        let product = held(m, "product_q", step, product);
        let negative = held(m, "negative_q", step, negative);
        let index = held(m, "index_q", step, index);
        let label = held(m, "label_q", step, label);
        let open = held(m, "open_q", step, open);
        let range = held(m, "range_q", step, range);
        let level = held(m, "level_q", step, level);
        let multiplies = held(m, "multiplies_q", step, multiplies);

        // Stage 2: divided by L, rounded.
        let steps = shared.steps;
        let rounded = m.wire("rounded", product + steps.shr(1));
        let high = rounded.slice(8..19);
        let large = m.wire("too_large", high.ge(steps));
        let numerator: Vec<_> = (0..8).rev().map(|i| rounded.bit(i)).collect();
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
            &[(!index, sint(8).lit(0)), (open & label, top.saturate(8)), (open | label, constant)],
            constants.data_o.at(lane).as_sint(),
        );
        let x = held(m, "x_q", shared.out, x);
        m.connect(io.result.array("x").at(lane), x);
        let index_out = held(m, "index_out_q", shared.out, index);
        m.connect(io.result.array("index").at(lane), index_out);
        let level = held(m, "level_out_q", shared.out, level);
        m.connect(io.result.array("level").at(lane), level);
        let zero_point = index & label & !open & !multiplies;
        m.connect(nets.counted.at(lane), cat(&[zero_point, index & !label, !index, multiplies]));
    }

    /// How often the multiplier was used, and why not.
    fn count(&self, m: &mut Module, io: &DequantizationUnitPorts, work: Array, finish: Signal, initial: Signal) {
        let ports = [io.multiplications_o, io.index_skips_o, io.label_skips_o, io.zero_point_skips_o];
        let names = ["multiplications", "index_skips", "label_skips", "zero_point_skips"];
        for (i, (port, name)) in ports.into_iter().zip(names).enumerate() {
            let Some(port) = port else { continue };
            let bits: Vec<_> = work.elements().iter().map(|w| w.bit(i as u32)).collect();
            let now = m.wire(&format!("{name}_now"), count_ones(&bits));
            let total = m.reg_init(&format!("{name}_q"), uint(32), 0);
            let counts = if i == 0 { finish } else { finish & !initial };
            total.next_when(counts, total.q.wrapping_add(now));
            m.connect(port, total.q);
        }
        if !self.count_skips {
            work.elements().into_iter().for_each(|w| m.unused(w));
        }
    }
}

impl Default for DequantizationUnit {
    fn default() -> Self {
        Self { lanes: 32, tiles: 2, levels: 16, count_skips: false }
    }
}

impl CatalogBlock for DequantizationUnit {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "lanes", allowed: "2 to 256", meaning: "channels of a tile" },
        OldParameter { name: "tiles", allowed: "1 to 4096", meaning: "tiles of a token" },
        OldParameter { name: "levels", allowed: "1 to 256", meaning: "levels that a channel may have" },
        OldParameter {
            name: "count_skips",
            allowed: "true, false",
            meaning: "adds counters of multiplications and skips",
        },
    ];

    fn configurations() -> Vec<Self> {
        let set = |lanes, tiles, levels, count_skips| Self { lanes, tiles, levels, count_skips };
        vec![set(2, 1, 1, false), set(5, 3, 4, true)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = Self { lanes: 2, tiles: 1, levels: 1, count_skips: false };
        vec![Proof { block, depth: 3, cover_depth: 7, induction: true }]
    }
}
