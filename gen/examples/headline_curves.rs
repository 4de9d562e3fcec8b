//! Draws docs/images/energy-over-dram.svg: energy efficiency over the energy of a DRAM bit, each curve next to the
//! figure that its paper prints.
//!
//! ```sh
//! cargo run -p senbazuru --example headline_curves -- docs/images/energy-over-dram.svg
//! ```

use models::headlines::energy::curves;
use senbazuru::error::{Failure, Result};
use senbazuru::present::page::lines;

/// Picojoules a bit, first and last.
const RANGE: [f64; 2] = [0.5, 64.0];

fn main() -> Result<()> {
    let Some(file) = std::env::args().nth(1) else {
        return Err(Failure::Usage("give the file to write".into()));
    };
    let all = curves();
    let mut series: Vec<(&str, Vec<[f64; 2]>)> = Vec::new();
    let mut papers = Vec::new();
    for curve in &all {
        let (printed, at) = curve.paper;
        let place = |k: u32| RANGE[0] * (RANGE[1] / RANGE[0]).powf(f64::from(k) / 28.0);
        series.push((curve.name, (0..=28).map(place).map(|x| [x, curve.at(x) / printed]).collect()));
        // Twice: points that stand alone.
        papers.extend([[at, 1.0]; 2]);
    }
    series.push(("the papers' own", papers));
    let drawing = lines("Energy efficiency : the paper's", ["pJ a bit of DRAM", "ratio"], &series)?;
    std::fs::write(&file, drawing).map_err(|e| Failure::Check(format!("{file}: {e}")))
}
