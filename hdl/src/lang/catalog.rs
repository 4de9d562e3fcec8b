//! The additions that put a block into the catalogue: defaults, the parameter sets for its checks, its proofs.

use super::block::Block;

/// A block that the CLI, the sweeps and the checks over all blocks know.
pub trait CatalogBlock: Block + Default + Clone {
    /// Whether it is made of blocks that are in the catalogue, too. Mutants and coverage then count only modules that
    /// no other block contains.
    const IS_ACCELERATOR: bool = false;

    /// Mutants and coverage are measured with the smallest registered configuration, which may hardly use what the
    /// block has. These parameters, by name, get other values for the measurement.
    const SAMPLE: &'static [(&'static str, u32)] = &[];

    /// Vectors of such a measurement; without a number, as many as run in a moment.
    const SAMPLE_VECTORS: Option<u64> = None;

    /// Parameter sets every check runs on: the smallest, odd ones, every mode. The default is always checked too.
    fn configurations() -> Vec<Self>;

    /// The runs of `prove`.
    fn proofs() -> Vec<Proof<Self>> {
        Vec::new()
    }
}

/// One run of the prover on the `FORMAL` section of a block.
#[derive(Clone, Debug)]
pub struct Proof<B> {
    /// Parameters, small.
    pub block: B,
    /// Cycles from reset that are checked exhaustively.
    pub depth: u32,
    /// Cycles from reset within which every cover must be reached.
    pub cover_depth: u32,
    /// Prove for all time as well, by induction: with an invariant that the prover finds, or over `depth` cycles.
    pub induction: bool,
}
