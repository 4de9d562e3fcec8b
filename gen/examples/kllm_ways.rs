//! Cost of the ways to sum a column of the index-based MatMul, as Markdown for `docs/blocks/kllm-lane.md`. Ways that
//! can be chosen are parts of `pe_lane`. Of the other ways, only the arithmetic of one column is here, with a register
//! for the sums that it keeps and none inside.
//!
//! ```sh
//! cargo run --release -p senbazuru --example kllm_ways -- osu018
//! ```
//!
//! The library (a name or a Liberty file) gives areas. It takes some minutes.

use std::path::Path;

use hdl::blocks::kllm::pe_lane::column::LaneColumn;
use hdl::blocks::kllm::{PairProducts, PeLane};
use hdl::lang::{
    About, Block, In, InArray, Module, OutArray, Signal, choices, elaborate, or_all, parameters, ports, reduce, sint,
    uint,
};
use senbazuru::error::{Failure, Result};
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Options, synthesise};

choices! {
    /// The way in which a column sums its pairs.
    pub enum Way {
        /// A sum of weight centroids for each activation index.
        ActivationBins,
        /// A sum of activation centroids for each weight index.
        WeightBins,
        /// Counts times products, `inputs` of them.
        DrainBins,
        /// Counts times weight centroids, a row of 16, times an activation centroid.
        DrainRow,
    }
}

parameters! {
    /// A column.
    pub struct Column {
        /// Its way.
        way: Way = Way::ActivationBins;
        /// Pairs, or bins, a cycle.
        inputs: u32 = 16, in 1..=64, tag "n";
        /// Bits of a centroid.
        centroid: u32 = 12, in 2..=16, tag "c";
    }
}

ports! {
    /// Whatever a way needs.
    pub struct ColumnPorts(p: &Column) {
        /// Starts from zero.
        start_i: In = uint(1),
        /// Weight indices.
        w_i: InArray = uint(4).array(p.inputs),
        /// Pairs that count.
        present_i: InArray = uint(1).array(p.inputs),
        /// Numbers of inputs: activation centroids, counts.
        x_i: InArray = sint(14).array(p.inputs),
        /// Products.
        rows_i: InArray = sint(2 * p.centroid).array(p.inputs),
        /// Which bin an activation is in, decoded for all columns.
        here_i: InArray = uint(1).array(16 * p.inputs),
        /// The weights' codebook.
        codebook_i: InArray = sint(p.centroid).array(16),
        /// An activation centroid.
        factor_i: In = sint(p.centroid),
        /// The sums that are kept.
        sums_o: OutArray = sint(40).array(16),
    }
}

impl Column {
    fn choose(&self, m: &mut Module, name: &str, index: Signal, values: &[Signal]) -> Signal {
        let ty = values[0].ty();
        let chosen: Vec<_> = (0u32..)
            .zip(values)
            .map(|(v, &value)| {
                let here = m.wire(&format!("{name}_{v}"), index.eq(v));
                value.as_uint() & here.repeat(ty.width)
            })
            .collect();
        let chosen = or_all(uint(ty.width), &chosen);
        m.wire(&format!("{name}_chosen"), if ty.signed { chosen.as_sint() } else { chosen })
    }

    fn add(&self, m: &mut Module, io: &ColumnPorts, to: u32, width: u32, terms: &[Signal]) {
        let sum = m.reg(&format!("sum_{to}_q"), sint(width));
        let kept = sum.q & (!io.start_i).repeat(width).as_sint();
        let terms: Vec<_> = terms.iter().map(|t| t.extend(width)).chain([kept]).collect();
        let next = reduce(&terms, |a, b| a.wrapping_add(b)).unwrap_or(kept);
        sum.next(next);
        m.connect(io.sums_o.at(to), sum.q.extend(40));
    }
}

impl Block for Column {
    type Ports = ColumnPorts;
    const ABOUT: About = About { name: "column_way", summary: "a way to sum a column", contract: "", reference: "" };

    fn build(&self, m: &mut Module, io: &ColumnPorts) {
        let (n, c) = (self.inputs, self.centroid);
        let codebook: Vec<_> = io.codebook_i.elements();
        let mut bins = 1;
        let pick = |m: &mut Module, i: u32, value: Signal| {
            let kept = value.as_uint() & io.present_i.at(i).repeat(value.width());
            m.wire(&format!("term_{i}"), kept.as_sint())
        };
        match self.way {
            Way::ActivationBins => {
                bins = 16;
                let values: Vec<_> = (0..n)
                    .map(|i| {
                        let value = self.choose(m, &format!("w_{i}"), io.w_i.at(i), &codebook);
                        pick(m, i, value)
                    })
                    .collect();
                for b in 0..16 {
                    let terms: Vec<_> = (0..n)
                        .map(|i| {
                            let here = io.here_i.at(n * b + i);
                            values[i as usize] & here.repeat(c).as_sint()
                        })
                        .collect();
                    self.add(m, io, b, c + 13, &terms);
                }
            }
            Way::WeightBins => {
                bins = 16;
                for b in 0..16 {
                    let terms: Vec<_> = (0..n)
                        .map(|i| {
                            let here = m.wire(&format!("here_{b}_{i}"), io.w_i.at(i).eq(b));
                            io.x_i.at(i).truncate(c) & here.repeat(c).as_sint()
                        })
                        .collect();
                    self.add(m, io, b, c + 13, &terms);
                }
            }
            Way::DrainBins => {
                let terms: Vec<_> =
                    (0..n).map(|i| m.wire(&format!("product_{i}"), io.x_i.at(i) * io.rows_i.at(i))).collect();
                self.add(m, io, 0, 40, &terms);
            }
            Way::DrainRow => {
                let terms: Vec<_> =
                    (0..n).map(|i| m.wire(&format!("product_{i}"), io.x_i.at(i) * codebook[i as usize % 16])).collect();
                let row = reduce(&terms, |a, b| a + b).unwrap_or(io.factor_i);
                let held = m.reg("row_q", row.ty());
                held.next(row);
                let product = m.wire("row_product", held.q * io.factor_i);
                let product = if product.width() > 40 { product.truncate(40) } else { product };
                self.add(m, io, 0, 40, &[product]);
            }
        }
        for b in bins..16 {
            m.connect(io.sums_o.at(b), 0);
        }
        for unread in [io.w_i, io.present_i, io.x_i, io.rows_i, io.here_i, io.codebook_i] {
            m.unused(unread.packed());
        }
        m.unused(io.start_i);
        m.unused(io.factor_i);
    }
}

fn row<B: Block>(name: &str, block: &B, library: Option<&Path>) -> Result<()> {
    let design = elaborate(block).map_err(|e| Failure::Check(e.to_string()))?;
    let options = Options { liberty: library.map(Path::to_owned).into_iter().collect(), ..Options::default() };
    let report = synthesise(&Sources::from(&design), &design.manifest(), &options)?;
    let total = &report.total;
    let graph = report.aig.map_or_else(String::new, |a| format!("{} / {}", a.dc2.and_nodes, a.dc2.levels));
    let area = report.mapped.as_ref().map_or(0.0, |m| m.area);
    println!("| {name} | {} | {} | {graph} | {area:.0} |", total.gates, total.flip_flops);
    Ok(())
}

fn main() -> Result<()> {
    let library = std::env::args_os().nth(1);
    let library = library.as_deref().map(Path::new);
    println!("| part | gates | flip-flops | AND nodes / levels | area, um2 |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let column = |centroid_bits, products| LaneColumn { centroid_bits, products, ..LaneColumn::default() };
    for bits in [12, 8] {
        row(
            &format!("column of a lane, products looked up, {bits} bits"),
            &column(bits, PairProducts::Lookup),
            library,
        )?;
        row(&format!("the same, multiplied, {bits} bits"), &column(bits, PairProducts::Multiply), library)?;
    }
    let four = LaneColumn { inputs: 4, ..LaneColumn::default() };
    row("column of a lane of 4 inputs, products looked up, 12 bits", &four, library)?;
    // 64 outliers.
    let outlier_width = PeLane { outliers: 64, ..PeLane::default() }.outlier_width();
    let sparse = LaneColumn { outlier_width, ..LaneColumn::default() };
    row("column of a lane, products looked up, 12 bits, outliers", &sparse, library)?;
    let lane = PeLane { columns: 1, inputs: 1, outliers: 64, ..PeLane::default() };
    row("lane of one column of 1 input, outliers", &lane, library)?;
    // Logic that columns share grows with the inputs.
    for (inputs, name) in [(1, "lane of one column of 1 input"), (2, "the same, 2 inputs")] {
        row(name, &PeLane { columns: 1, inputs, ..PeLane::default() }, library)?;
    }
    let way = |way, inputs, centroid| Column { way, inputs, centroid };
    for bits in [12, 8] {
        row(
            &format!("sums of weight centroids in 16 activation bins, {bits} bits"),
            &way(Way::ActivationBins, 16, bits),
            library,
        )?;
        row(
            &format!("sums of activation centroids in 16 weight bins, {bits} bits"),
            &way(Way::WeightBins, 16, bits),
            library,
        )?;
        row(&format!("drain of a row of 16 bins, {bits} bits"), &way(Way::DrainRow, 16, bits), library)?;
    }
    row("drain of 4 bins a cycle, 12 bits", &way(Way::DrainBins, 4, 12), library)
}
