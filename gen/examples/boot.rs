use std::process::ExitCode;
use hdl::accelerators::{reduce::ReduceTop, vector::VectorTop};
fn none<P>(_: &P) -> anyhow::Result<Box<dyn sim::Bench>> { anyhow::bail!("none") }
fn main() -> ExitCode {
    senbazuru::Catalogue::empty().block::<VectorTop>("systems", none).block::<ReduceTop>("systems", none).cli()
}
