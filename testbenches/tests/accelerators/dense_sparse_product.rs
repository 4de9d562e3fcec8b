//! [`DenseSparseProduct`] in its configurations, broken, and on the activations and weights of the real model.

use golden::accelerators::dense_sparse_product::{Block, Tile, outliers};
use golden::tender::calibration::{Calibration, Scheme, Sign, Weights};
use golden::tender::granularity::{product, relative_error};
use golden::tender::matmul::dequantize;
use hdl::accelerators::sparse::DenseSparseProduct;
use hdl::lang::CatalogBlock;
use models::tender::projection::projection;
use sim::Design;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::accelerators::dense_sparse_product::{bench, bench_of, cycles};

#[test]
fn all_configurations() {
    for report in run_all(bench, &options(24)).unwrap() {
        assert!(report.compared >= 40, "{report:?}");
    }
}

/// The cycles in `info` equal the contract, which the bench demands.
#[test]
fn stated_cycles_are_those_of_the_contract() {
    for p in std::iter::once(DenseSparseProduct::default()).chain(DenseSparseProduct::configurations()) {
        let wanted = p.outliers as usize;
        assert_eq!(u64::from(p.row_cycles()), cycles(&p).row((wanted, wanted)), "{p:?}");
    }
}

/// Rows and weights of a projection as integers: 32 tokens, 32 outputs, so many groups, ranges without the outliers.
struct Real {
    blocks: Vec<Block>,
    calibration: Calibration,
    weights: Weights,
    exact: Vec<Vec<f64>>,
}

impl Real {
    fn new(name: &str, p: &DenseSparseProduct, groups: usize, wanted: usize) -> Self {
        let projection = projection(name).unwrap();
        let (tokens, outputs) = (2 * p.rows as usize, 2 * p.columns as usize);
        let (x, rest) = (&projection.x[..tokens], &projection.w);
        let w: Vec<Vec<f64>> = rest.iter().map(|row| row[..outputs].to_vec()).collect();
        // Every float16 is a whole number of 2^-24.
        let whole = |row: &Vec<f64>| row.iter().map(|x| (x * 2f64.powi(24)) as i64).collect::<Vec<_>>();
        let apart: Vec<Vec<bool>> = x.iter().map(|row| outliers(&whole(row), (wanted, wanted))).collect();
        // Bias and group of a channel follow from its extremes alone.
        let extreme = |pick: fn(f64, f64) -> f64| -> Vec<f64> {
            let of = |k: usize| x.iter().zip(&apart).filter(move |(_, apart)| !apart[k]).map(move |(row, _)| row[k]);
            (0..w.len()).map(|k| of(k).reduce(pick).unwrap_or(0.0)).collect()
        };
        let extremes = [extreme(f64::min), extreme(f64::max)];
        let calibration = Calibration::of(&extremes, Scheme::new(4, groups, Sign::Signed).unwrap()).unwrap();
        let weights = Weights::quantize(&w, 4).unwrap();
        let (order, last) = (calibration.order(), calibration.scales.len() - 1);
        let limit = 2f64.powi(p.activation_width as i32 - 1);
        let integer = |row: &Vec<f64>, k: usize| {
            let steps = (row[k] - calibration.bias[k]) / calibration.scales[last];
            steps.round_ties_even().clamp(-limit, limit - 1.0) as i64
        };
        let rows: Vec<Vec<i64>> = x.iter().map(|row| order.iter().map(|&k| integer(row, k)).collect()).collect();
        let shifts: Vec<u32> = order.iter().map(|&k| (last - calibration.group[k]) as u32).collect();
        let tile = |left: usize| Tile {
            shifts: shifts.clone(),
            weights: order.iter().map(|&k| weights.values[k][left..left + p.columns as usize].to_vec()).collect(),
        };
        let tiles: Vec<Tile> = (0..outputs).step_by(p.columns as usize).map(tile).collect();
        let block = |rows: &[Vec<i64>]| Block {
            rows: rows.to_vec(),
            outliers: vec![(wanted, wanted); rows.len()],
            tiles: tiles.clone(),
        };
        let blocks = rows.chunks(p.rows as usize).map(block).collect();
        Self { blocks, exact: product(x, &weights.dequantize()), calibration, weights }
    }

    /// Relative squared error of the block's results, beside exact activations times the same weights.
    fn error(&self, width: u32) -> f64 {
        let row = |products: &[Vec<Vec<i64>>], r: usize| -> Vec<i128> {
            products.iter().flat_map(|tile| tile[r].iter().map(|&sum| sum.into())).collect()
        };
        let of = |block: &Block| {
            let products = block.products(width);
            (0..block.rows.len()).map(|r| row(&products, r)).collect::<Vec<_>>()
        };
        let sums: Vec<Vec<i128>> = self.blocks.iter().flat_map(of).collect();
        relative_error(&self.exact, &dequantize(&sums, &self.calibration, &self.weights))
    }
}

/// The real model's projections, bit by bit and cycle by cycle, and the gain from separate outliers.
#[test]
fn real_projections() {
    let channels = 576;
    let p =
        DenseSparseProduct { rows: 16, columns: 16, channels, lanes: 8, outliers: 3, ..DenseSparseProduct::default() };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap());
    for name in ["14 q", "2 gate"] {
        for groups in [1, 2, 4, 8] {
            let pair = [0, 3].map(|wanted| Real::new(name, &p, groups, wanted));
            let errors = pair.each_ref().map(|real| real.error(4));
            println!(
                "{name}, {groups} groups: error {:.2e}, with 3 outliers a side apart {:.2e}",
                errors[0], errors[1]
            );
        }
        for wanted in [0, 3] {
            let (real, cycles) = (Real::new(name, &p, 8, wanted), cycles(&p));
            let blocks = real.blocks.clone();
            sim::run(&*bench_of(&p, blocks).unwrap(), &design, &options(1)).unwrap_or_else(|e| panic!("{e}"));
            let apart = real.blocks[0].apart();
            let most = (0..channels as usize).map(|k| apart.iter().filter(|row| row[k]).count()).max();
            println!(
                "{name}, {wanted} a side: row {}, steps {}, tile {}; rows of one channel: {most:?}",
                cycles.row((wanted, wanted)),
                cycles.steps(&real.blocks[0].tiles[0], &apart)[1],
                cycles.tile(&real.blocks[0].tiles[0], &apart),
            );
        }
    }
}

#[test]
fn faults_are_found() {
    let [small, _, odd, ..] = &DenseSparseProduct::configurations()[..] else { panic!("some configurations") };
    let faults = [
        ("outliers of other rows are forgotten", Fault::net("rest", "1'b0")),
        ("an outlier stays in the array", Fault::net("marked[1]", "1'b0").into("u_array")),
    ];
    must_be_noticed(small, bench, 100, &faults);
    let faults = [
        ("ties go up", Fault::net("up", "half").module("group_quantizer")),
        ("a row begins from the tile before", Fault::net("begun_q", "3'd7")),
        ("sums of a lane are merged a cycle early", Fault::net("since_q", "right + 1'b1").into("g_lanes[1].leaves")),
        ("a scale may rise", Fault::net("scale", "weight_shift_i")),
        ("the last doublings are left out", Fault::net("last_step", "takes & last_channel")),
        ("a row is marked in the next one", Fault::net("row_here", "right << 1")),
        ("rows are given back with each tile", Fault::net("releases", "tile_ends")),
        ("a clear keeps the channel", Fault::net("clear_i", "1'b0").into("channel_q")),
        ("a clear keeps who was served", Fault::net("clear_i", "1'b0").into("served_q")),
        ("a word is read too late", Fault::net("read_word", "channel_q >> 2")),
    ];
    must_be_noticed(odd, bench, 60, &faults);
}
