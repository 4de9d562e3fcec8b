//! Blocks that a command is for.

use crate::catalogue::{Catalogue, Known, Params};
use crate::error::{Failure, Result};
use crate::params::ParamArgs;

/// A block and its parameters.
#[derive(Debug, clap::Args)]
pub(super) struct Target {
    /// Block, see `senbazuru list`
    pub(super) block: String,
    #[command(flatten)]
    pub(super) params: ParamArgs,
}

impl Target {
    pub(super) fn resolve(&self, catalogue: &Catalogue) -> Result<(Known, Params)> {
        let entry = catalogue.find(&self.block)?.clone();
        let params = self.params.resolve(&*entry)?;
        Ok((entry, params))
    }
}

/// One block with its parameters, several blocks with their defaults, or all blocks.
#[derive(Debug, clap::Args)]
pub(super) struct Targets {
    /// Blocks, see `senbazuru list`; `--set` and `--config` go with one block
    #[arg(required_unless_present = "all", value_name = "BLOCK")]
    blocks: Vec<String>,
    /// All blocks, with their default parameters
    #[arg(long, conflicts_with_all = ["blocks", "set", "config"])]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) params: ParamArgs,
}

impl Targets {
    pub(super) fn resolve(&self, catalogue: &Catalogue) -> Result<Vec<(Known, Params)>> {
        if self.all {
            return Ok(catalogue.all().iter().map(|e| (e.clone(), e.defaults())).collect());
        }
        if let Some((_, twice)) = self.blocks.iter().enumerate().find(|(n, b)| self.blocks[..*n].contains(b)) {
            return Err(Failure::Usage(format!("block `{twice}` is named twice")));
        }
        if self.blocks.len() > 1 && !self.params.is_default() {
            return Err(Failure::Usage("--set and --config go with one block: name one, or leave them out".into()));
        }
        let resolve = |block: &String| {
            let entry = catalogue.find(block)?.clone();
            let params = self.params.resolve(&*entry)?;
            Ok((entry, params))
        };
        self.blocks.iter().map(resolve).collect()
    }
}
