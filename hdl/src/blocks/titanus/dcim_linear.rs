//! A store of matrices in compute-in-memory macros: rows of macros are added up, columns of macros are side by side.
//!
//! A matrix is a rectangle of macros, so several live in one store, and a vector goes to the rectangle that it names.
//! Macros outside of the rectangle stand still.

use super::dcim_cells::{DcimCells, DcimImplementation};
use super::dcim_macro::DcimMacro;
use crate::blocks::common::arith::adder_tree;
use crate::blocks::common::stream::StreamFifo;
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, FieldArray, In, InStream, Module, OutStream, Proof, Signal, Timing, Type,
    bit, bits_for, bundle, cat, index_width, mux, parameters, ports, sint, uint,
};

/// Bits of a sum.
const SUM: u32 = 32;

/// Vectors that are in macros at once, at most.
const INSIDE: u32 = 4;

parameters! {
    /// Elaboration parameters.
    pub struct DcimLinear {
        /// One macro.
        tile: DcimMacro = DcimMacro { cells: DcimCells { implementation: DcimImplementation::BlackBox, ..DcimCells::default() }, ..DcimMacro::default() };
        /// Macros whose sums are added up.
        rows: u32 = 3, in 1..=64, tag "r";
        /// Macros side by side.
        columns: u32 = 18, in 1..=1024, tag "c";
        /// Inputs of a beat.
        load: u32 = 16, in 1..=1024, note "divides tile.cells.inputs", tag "l";
        /// Sums of a beat.
        drain: u32 = 8, in 1..=1024, note "divides tile.cells.outputs", tag "d";
    }
    rules = |p, rules| {
        let (inputs, outputs) = (p.tile.cells.inputs, p.tile.cells.outputs);
        let macros = p.rows * p.columns;
        rules.demand(macros <= 4096, "columns", p.columns, "at most 4096 macros in all");
        let divides = |part: u32, of: u32| part > 0 && of.is_multiple_of(part);
        rules.demand(divides(p.load, inputs), "load", p.load, format!("a divisor of tile.cells.inputs = {inputs}"));
        rules.demand(divides(p.drain, outputs), "drain", p.drain, format!("a divisor of tile.cells.outputs = {outputs}"));
        let width = p.sum_of(p.rows).width;
        rules.demand(width <= SUM, "rows", p.rows, format!("sums of at most {SUM} bits"));
        rules.part("tile", &p.tile);
    };
}

bundle! {
    /// Weights of one input in one column of macros.
    pub struct StoredRow(p: DcimLinear) {
        /// Which input, counted over all rows of macros; an input that does not exist changes nothing.
        row: Field = p.input(),
        /// Which column of macros; a column that does not exist changes nothing.
        column: Field = p.column(),
        /// Its weight for each output of the macro.
        weights: FieldArray = sint(p.tile.cells.weight_width).array(p.tile.cells.outputs),
    }
}

bundle! {
    /// The macros that a vector goes to. A last row before the first one counts as the first one, and a row that does
    /// not exist as the last one of the store. Columns likewise.
    pub struct Rectangle(p: DcimLinear) {
        /// First row of macros.
        first_row: Field = p.row(),
        /// Last row of macros.
        last_row: Field = p.row(),
        /// First column of macros.
        first_column: Field = p.column(),
        /// Last column of macros.
        last_column: Field = p.column(),
    }
}

bundle! {
    /// The next inputs of a vector.
    pub struct LinearBeat(p: DcimLinear) {
        /// The vector's inputs, in order; inputs after the rectangle's last row mean nothing.
        x: FieldArray = sint(p.tile.input_width).array(p.load),
        /// The vector ends; inputs that it does not have are zeros.
        last: Field = bit(),
    }
}

bundle! {
    /// The next sums of a vector.
    pub struct LinearSums(p: DcimLinear) {
        /// One for each output, from the first output of the rectangle's first column on.
        sums: FieldArray = sint(SUM).array(p.drain),
        /// The last ones of the vector.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`DcimLinear`].
    pub struct DcimLinearPorts(p: &DcimLinear) {
        /// Drops all vectors, and sums that wait. Only `write` is taken in this cycle, and weights stay.
        clear_i: In = bit(),
        /// Weights; they wait for the vector at work in their macro, and vectors wait for them.
        write: InStream<StoredRow> = p.clone(),
        /// Where the next vector goes.
        place: InStream<Rectangle> = p.clone(),
        /// The vector.
        input: InStream<LinearBeat> = p.clone(),
        /// Its sums.
        output: OutStream<LinearSums> = p.clone(),
    }
}

impl DcimLinear {
    fn input(&self) -> Type {
        uint(index_width(u64::from(self.rows) * u64::from(self.tile.cells.inputs)))
    }

    fn row(&self) -> Type {
        uint(index_width(self.rows.into()))
    }

    fn column(&self) -> Type {
        uint(index_width(self.columns.into()))
    }

    /// Type of the sum of so many macros, exact.
    fn sum_of(&self, macros: u32) -> Type {
        let cells = &self.tile.cells;
        let largest = u64::from(cells.inputs) << (cells.weight_width + self.tile.input_width).saturating_sub(2);
        sint(bits_for(largest * u64::from(macros)) + 1)
    }

    /// Beats of the inputs of a row of macros.
    fn row_beats(&self) -> u32 {
        self.tile.cells.inputs / self.load
    }

    /// Beats of the sums of a column of macros.
    fn column_beats(&self) -> u32 {
        self.tile.cells.outputs / self.drain
    }
}

/// All macros, as arrays of rows times columns.
struct Macros {
    ready: Array,
    valid: Array,
    sums: Array,
}

/// A rectangle, and the vectors in it.
struct Place {
    first_row: Signal,
    first_column: Signal,
    last_column: Signal,
    rows: Array,
    columns: Array,
}

/// Of `count` bits those with the numbers `first` to `last`, which is not below it.
fn ones_between(m: &mut Module, name: &str, count: u32, first: Signal, last: Signal) -> Array {
    let from = bit().lit(1).repeat(count).shl_by(first);
    // All ones up to the last one.
    let up_to = uint(count + 1).lit(2).shl_by(last).wrapping_sub(1).truncate(count);
    m.split(name, from & up_to, bit().array(count))
}

impl Block for DcimLinear {
    type Ports = DcimLinearPorts;
    const ABOUT: About = About {
        name: "dcim_linear",
        summary: "store of matrices in compute-in-memory macros: a vector times one of them",
        contract: "Sum of output k of column c = sum over the rectangle's rows of macros and their inputs of x[r] x\n\
            weight[r][c][k], exact. The weights count as they are when the macros take the vector: writes before\n\
            its last beat count, later ones wait for the vector. A beat of inputs a cycle; the first sums come\n\
            tile.input_width + 5 cycles after the last beat was taken, then a beat a cycle. Vectors leave in order;\n\
            up to four are inside. Weights are unknown until written; reset and clear_i leave them.",
        reference: "Titanus, section 4.2",
    };

    fn build(&self, m: &mut Module, io: &DcimLinearPorts) {
        let going = !io.clear_i;
        m.comment("A vector that comes.");
        let (open, full) = (m.reg_init("open_q", bit(), 0), m.reg_init("full_q", bit(), 0));
        let take = m.net("take", bit());
        let free = m.wire("free", !full.q | take);
        m.connect(io.place.ready, !open.q & free & going);
        let placed = m.wire("placed", io.place.fire());
        let place = self.place(m, io, placed);
        m.connect(io.input.ready, open.q & going);
        let comes = m.wire("comes", io.input.fire());
        let ends = m.wire("ends", comes & io.input.last);
        open.next((placed | (open.q & !ends)) & going);
        full.next((ends | (full.q & !take)) & going);
        let x = self.inputs(m, io, (placed, comes), place.first_row);

        m.comment("Macros take it when all of its rectangle are free.");
        let commands = m.instance("u_commands", self.commands());
        let head_ready = m.net("head_ready", bit());
        let (ready_o, head) = (commands.input.ready, commands.output.data.data);
        m.connect(commands.clear_i, io.clear_i);
        m.connect(commands.input.valid, take);
        let range = cat(&[place.rows.packed(), place.first_column, place.last_column]);
        m.connect(commands.input.data.data, range);
        m.connect(commands.output.ready, head_ready);
        let column = self.column().width;
        let head_last = m.wire("head_last", head.slice(0..column));
        let head_first = m.wire("head_first", head.slice(column..2 * column));
        let head = Place {
            first_row: head.slice(0..1),
            last_column: head_last,
            first_column: head_first,
            rows: m.split("head_row", head.slice(2 * column..2 * column + self.rows), bit().array(self.rows)),
            columns: ones_between(m, "head_column", self.columns, head_first, head_last),
        };
        let captures = m.net("captures", bit());
        let macros = self.macros(m, io, (&place, take, x), (&head, captures));
        m.connect(take, full.q & macros.ready.packed().all() & ready_o & going);

        m.comment("Sums of a vector leave before the next ones come.");
        let drains = m.reg_init("drains_q", bit(), 0);
        let (beat_ty, per_column) = (self.beat(), self.column_beats());
        let at = m.reg("at_q", beat_ty);
        let offered = m.reg_init("offered_q", bit(), 0);
        let moves = m.wire("moves", drains.q & (!offered.q | io.output.ready));
        let until = m.reg("until_q", beat_ty);
        let last = m.wire("last", at.q.eq(until.q));
        let free = m.wire("sums_free", !drains.q | (moves & last));
        m.connect(captures, commands.output.valid & macros.valid.packed().all() & free & going);
        m.connect(head_ready, captures);
        drains.next((captures | (drains.q & !(moves & last))) & going);
        let first_beat = |column: Signal, more: u32| {
            let scaled = (column * per_column).wrapping_add(more);
            if scaled.width() < beat_ty.width { scaled.extend(beat_ty.width) } else { scaled.truncate(beat_ty.width) }
        };
        let begins_at = m.wire("first_beat", first_beat(head.first_column, 0));
        at.next_when(captures | moves, mux(captures, begins_at, at.q.wrapping_add(1)));
        until.next_when(captures, first_beat(head.last_column, per_column - 1));
        let beats = self.sums(m, &macros, (&head, captures));
        offered.next((moves | (offered.q & !io.output.ready)) & going);
        let last_q = m.reg("last_q", bit());
        last_q.next_when(moves, last);
        m.connect(io.output.valid, offered.q);
        m.connect(io.output.last, last_q.q);
        m.for_each("out", self.drain, |m, lane| {
            let y = m.reg("y_q", sint(SUM));
            y.next_when(moves, beats.at((lane, at.q)));
            m.connect(io.output.sums.at(lane), y.q);
        });
        let whole = !drains.q | (moves & last);
        self.properties(m, io, (&place, x, take), (&head, captures, beats), whole);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.tile.input_width + 5)
    }
}

impl DcimLinear {
    /// Type of the number of a beat of sums.
    fn beat(&self) -> Type {
        uint(index_width(u64::from(self.columns) * u64::from(self.column_beats())))
    }

    /// Bits that must be known of a vector inside: rows of macros, first and last column.
    fn command_bits(&self) -> u32 {
        self.rows + 2 * self.column().width
    }

    /// Places of the vectors inside. It is part of the proofs here.
    fn commands(&self) -> StreamFifo {
        StreamFifo::registers(self.command_bits(), INSIDE)
    }

    /// The rectangle of the vector that comes.
    fn place(&self, m: &mut Module, io: &DcimLinearPorts, placed: Signal) -> Place {
        let asked = io.place.data.clone();
        let there = |m: &mut Module, name: &str, first: Signal, last: Signal, count: u32| {
            let end = first.ty().lit(count - 1);
            let first = m.wire(&format!("{name}_from"), mux(first.gt(count - 1), end, first));
            let last = mux(last.gt(count - 1), end, last);
            let last = m.wire(&format!("{name}_to"), mux(last.lt(first), first, last));
            let (first_q, last_q) =
                (m.reg(&format!("{name}_first_q"), first.ty()), m.reg(&format!("{name}_last_q"), first.ty()));
            first_q.next_when(placed, first);
            last_q.next_when(placed, last);
            (first_q.q, last_q.q)
        };
        let (first_row, last_row) = there(m, "row", asked.first_row, asked.last_row, self.rows);
        let (first_column, last_column) = there(m, "column", asked.first_column, asked.last_column, self.columns);
        let rows = ones_between(m, "row_used", self.rows, first_row, last_row);
        let columns = ones_between(m, "column_used", self.columns, first_column, last_column);
        Place { first_row, first_column, last_column, rows, columns }
    }

    /// Inputs of the vector that comes, one for each row of all macros: inputs before them are zeros.
    fn inputs(&self, m: &mut Module, io: &DcimLinearPorts, (placed, comes): (Signal, Signal), first: Signal) -> Array {
        let beats = self.rows * self.row_beats();
        let count = uint(bits_for(beats.into()));
        // The first beat is the first one of the rectangle's first row, whose number is known a cycle after `placed`.
        let begun = m.reg("begun_q", bit());
        begun.next_when(placed | comes, comes);
        let (beat_q, per_row) = (m.reg("beat_q", count), self.row_beats());
        let start = first * per_row;
        let start = if start.width() < count.width { start.extend(count.width) } else { start.truncate(count.width) };
        let beat = m.wire("beat", mux(begun.q, beat_q.q, start));
        let next = mux(beat.eq(beats), beat, beat.wrapping_add(1));
        beat_q.next_when(comes, next);
        let x = m.regs("x", sint(self.tile.input_width), beats * self.load);
        m.for_each("beats", beats, |m, b| {
            let here = m.wire("here", comes & beat.eq(b.value(count.width)));
            m.for_each("beat_inputs", self.load, |m, i| {
                let zero = sint(self.tile.input_width).lit(0);
                x.next_when(m, b * self.load + i, placed | here, mux(placed, zero, io.input.x.at(i)));
            });
        });
        x.q
    }

    fn macros(
        &self,
        m: &mut Module,
        io: &DcimLinearPorts,
        (place, take, x): (&Place, Signal, Array),
        (head, captures): (&Place, Signal),
    ) -> Macros {
        let cells = &self.tile.cells;
        let all = self.rows * self.columns;
        let macros = Macros {
            ready: m.nets("macro_ready", bit(), all),
            valid: m.nets("macro_valid", bit(), all),
            sums: m.nets("macro_sum", self.tile.sum(), all * cells.outputs),
        };
        let written = m.nets("write_ready", bit(), all);
        let (wide, inner) = (io.write.row.width(), cells.row().width);
        m.for_each("row", self.rows, |m, r| {
            let behind = m.wire("behind", io.write.row.wrapping_sub((r * cells.inputs).value(wide)));
            let all = u64::from(cells.inputs) == 1 << wide;
            let of_row = if all { bit().lit(1) } else { behind.lt(cells.inputs) };
            let of_row = m.wire("of_row", of_row);
            let within = m.wire("row_within", behind.truncate(inner));
            m.for_each("column", self.columns, |m, c| {
                let number = r * self.columns + c;
                let u = m.instance("u_macro", self.tile.clone());
                let here = m.wire("of_macro", of_row & io.write.column.eq(c.value(io.write.column.width())));
                let used = m.wire("used", place.rows.at(r) & place.columns.at(c));
                let asked = m.wire("asked", head.rows.at(r) & head.columns.at(c));
                m.connect(u.clear_i, io.clear_i);
                m.connect(u.write.valid, io.write.valid & here);
                m.connect(u.write.row, within);
                m.connect_each("weights", u.write.weights, io.write.weights);
                m.connect(written.at(number), u.write.ready | !here);
                m.connect(u.input.valid, take & used);
                m.for_each("inputs", cells.inputs, |m, i| {
                    m.connect(u.input.x.at(i), x.at(r * cells.inputs + i));
                });
                m.connect(macros.ready.at(number), u.input.ready | !used);
                m.connect(u.output.ready, captures & asked);
                m.connect(macros.valid.at(number), u.output.valid | !asked);
                m.for_each("sums", cells.outputs, |m, k| {
                    m.connect(macros.sums.at(number * cells.outputs + k), u.output.sums.at(k));
                });
            });
        });
        m.connect(io.write.ready, written.packed().all());
        macros
    }

    /// Sums over the rows of macros, as beats of all columns.
    fn sums(&self, m: &mut Module, macros: &Macros, (head, captures): (&Place, Signal)) -> Array {
        let outputs = self.tile.cells.outputs;
        let beats = m.grid("lane", sint(SUM), self.drain, self.columns * self.column_beats());
        m.for_each("output", self.columns * self.column_beats(), |m, b| {
            m.for_each("lane", self.drain, |m, lane| {
                let terms = m.nets("term", self.tile.sum(), self.rows);
                m.for_each("term", self.rows, |m, r| {
                    let sum = macros.sums.at(r * (self.columns * outputs) + b * self.drain + lane);
                    m.connect(terms.at(r), mux(head.rows.at(r), sum, 0));
                });
                let sum = adder_tree(m, "sum", terms, |macros| self.sum_of(macros));
                let sum_q = m.reg("sum_q", sum.ty());
                sum_q.next_when(captures, sum);
                m.connect(beats.at((lane, b)), sum_q.q.extend(SUM));
            });
        });
        beats
    }

    /// For macros of one input and one output: sums are the product of the inputs with the weights at the time of
    /// taking, vectors are in order, and none is lost or doubled.
    fn properties(
        &self,
        m: &mut Module,
        io: &DcimLinearPorts,
        (place, x, take): (&Place, Array, Signal),
        (head, captures, beats): (&Place, Signal, Array),
        left_whole: Signal,
    ) {
        let cells = &self.tile.cells;
        if cells.inputs > 1 || cells.outputs > 1 || self.tile.input_width > 2 || cells.weight_width > 2 {
            return;
        }
        m.formal(|m| {
            let going = !io.clear_i;
            let sum = self.sum_of(self.rows);
            let each = |r: u32, c: u32| format!("{r}_{c}");
            let mut weights = Vec::new();
            for (r, c) in (0..self.rows).flat_map(|r| (0..self.columns).map(move |c| (r, c))) {
                let here = io.write.fire() & io.write.row.eq(r) & io.write.column.eq(c);
                let weight = m.reg(&format!("formal_weight_{}_q", each(r, c)), sint(cells.weight_width));
                weight.next_when(here, io.write.weights.at(0));
                let known = m.reg_init(&format!("formal_known_{}_q", each(r, c)), bit(), 0);
                known.next(known.q | here);
                weights.push((weight.q, known.q));
            }
            let of = |r: u32, c: u32| weights[(r * self.columns + c) as usize];
            m.comment("The results of the vectors inside: the oldest one first.");
            let count = uint(3);
            let inside = m.reg_init("formal_inside_q", count, 0);
            let left = inside.q.wrapping_sub(captures.extend(3));
            inside.next(mux(going, left.wrapping_add(take.extend(3)), 0));
            m.assert_always("no_vector_lost_or_doubled", inside.q.le(INSIDE) & (inside.q.any() | !captures));
            m.assert_always("sums_leave_before_the_next", !captures | left_whole);
            let captured = m.reg_init("formal_captured_q", bit(), 0);
            captured.next(captures & going);
            for c in 0..self.columns {
                let mut expected = sum.lit(0);
                let mut unknown = bit().lit(0);
                for r in 0..self.rows {
                    let (weight, known) = of(r, c);
                    let product = (x.at(r) * weight).extend(sum.width);
                    expected = expected.wrapping_add(mux(place.rows.at(r), product, 0));
                    unknown = unknown | (place.rows.at(r) & !known);
                }
                let used = place.columns.at(c) & !unknown;
                let entry = m.wire(&format!("formal_entry_{c}"), cat(&[used, expected.as_uint()]));
                let queue = m.regs(&format!("formal_queue_{c}"), entry.ty(), INSIDE);
                for n in 0..INSIDE {
                    let next = if n + 1 < INSIDE { queue.q.at(n + 1) } else { entry };
                    let kept = mux(captures, next, queue.q.at(n));
                    queue.next(m, n, mux(take & left.eq(n), entry, kept));
                }
                let first = m.reg(&format!("formal_first_{c}_q"), entry.ty());
                first.next(queue.q.at(0));
                let wanted = first.q.slice(0..sum.width).as_sint().extend(SUM);
                let right = !first.q.msb() | beats.at((0, c)).eq(wanted);
                m.assert_always(&format!("sums_of_column_{c}"), !captured.q | right);
                let agrees = !queue.q.at(0).msb() | head.columns.at(c);
                m.assert_always(&format!("order_of_column_{c}"), !captures | agrees);
            }
            m.cover("a_vector_overtakes_none", take & captures);
            m.cover("weights_change_inside", io.write.fire() & inside.q.any());
        });
    }
}

impl CatalogBlock for DcimLinear {
    const SAMPLE: &'static [(&'static str, u32)] = &[
        ("tile.input_width", 2),
        ("tile.cells.inputs", 2),
        ("tile.cells.outputs", 2),
        ("tile.cells.weight_width", 2),
        ("rows", 2),
        ("columns", 3),
        ("load", 1),
        ("drain", 1),
    ];

    fn configurations() -> Vec<Self> {
        let set = |(inputs, outputs, input_width), (rows, columns), (load, drain)| {
            let cells = DcimCells { inputs, outputs, ..DcimCells::default() };
            Self { tile: DcimMacro { input_width, cells }, rows, columns, load, drain }
        };
        vec![
            set((1, 1, 2), (1, 1), (1, 1)),
            set((4, 2, 8), (2, 3), (2, 1)),
            set((6, 3, 5), (3, 2), (3, 3)),
            set((8, 4, 8), (3, 4), (8, 2)),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let cells = DcimCells { inputs: 1, outputs: 1, weight_width: 2, ..DcimCells::default() };
        let tile = DcimMacro { input_width: 2, cells };
        let of = |rows, columns| {
            let block = Self { tile: tile.clone(), rows, columns, load: 1, drain: 1 };
            Proof { block, depth: 11, cover_depth: 14, induction: false }
        };
        vec![of(2, 1), of(1, 2)]
    }
}
