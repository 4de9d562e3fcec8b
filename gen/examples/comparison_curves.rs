//! Draws docs/images/comparison.svg: cycles of a step of decoding over the bandwidth of memory, from the points that the example `comparison`
//! of `testbenches` writes.
//!
//! ```sh
//! cargo run -p senbazuru-testbenches --example comparison -- docs/comparison.md target/comparison.json
//! cargo run -p senbazuru --example comparison_curves -- target/comparison.json docs/images/comparison.svg
//! ```

use senbazuru::error::{Failure, Result};
use senbazuru::present::page::lines;

fn main() -> Result<()> {
    let mut files = std::env::args().skip(1);
    let (Some(points), Some(file)) = (files.next(), files.next()) else {
        return Err(Failure::Usage("give the points, and the file to write".into()));
    };
    let failed = |file: &str, e: &dyn std::fmt::Display| Failure::Check(format!("{file}: {e}"));
    let text = std::fs::read_to_string(&points).map_err(|e| failed(&points, &e))?;
    let curves: Vec<(String, Vec<[f64; 2]>)> = serde_json::from_str(&text).map_err(|e| failed(&points, &e))?;
    let series: Vec<_> = curves.iter().map(|(name, points)| (name.as_str(), points.clone())).collect();
    let drawing = lines("A token behind 1023, a layer of Llama-2-7B", ["bytes a cycle of memory", "cycles"], &series)?;
    std::fs::write(&file, drawing).map_err(|e| failed(&file, &e))
}
