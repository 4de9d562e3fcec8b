//! A line of a catalogue: a block, its bench, and what else there is to say of it.

use std::marker::PhantomData;
use std::path::Path;

use hdl::lang::{About, Block, CatalogBlock, Design, Parameter};
#[cfg(feature = "standard")]
use models::cycles::{Costs, Counts};
#[cfg(feature = "standard")]
use models::schemes::{Choice, Settings};
use sim::kit::tensors::{Counted, FromTensors, Tensors, Wanted};
use sim::kit::{MakeBench, Work};
#[cfg(feature = "standard")]
use testbenches::accelerators::decoding::{Machine, Runs};

use super::{Entry, Params, ProofRun};
use crate::error::{Failure, Result};

/// A block, and how it is tested.
pub struct Line<B> {
    pub(super) family: &'static str,
    bench: MakeBench<B>,
    work: Option<Work<B>>,
    tensors: Option<FromTensors<B>>,
    #[cfg(feature = "standard")]
    runs: Option<Runs<B>>,
    #[cfg(feature = "standard")]
    counts: Option<Counts<B>>,
    block: PhantomData<fn() -> B>,
}

impl<B: CatalogBlock> Line<B> {
    /// A block that is tested by this bench.
    #[must_use]
    pub fn new(family: &'static str, bench: MakeBench<B>) -> Self {
        Self {
            family,
            bench,
            work: None,
            tensors: None,
            #[cfg(feature = "standard")]
            runs: None,
            #[cfg(feature = "standard")]
            counts: None,
            block: PhantomData,
        }
    }

    /// The bench takes tensors of a user as well.
    #[must_use]
    pub fn tensors(self, tensors: FromTensors<B>) -> Self {
        Self { tensors: Some(tensors), ..self }
    }

    /// Work whose cycles sweeps count.
    #[must_use]
    pub fn work(self, work: Work<B>) -> Self {
        Self { work: Some(work), ..self }
    }

    /// It runs language models.
    #[cfg(feature = "standard")]
    #[must_use]
    pub fn runs(self, runs: Runs<B>) -> Self {
        Self { runs: Some(runs), ..self }
    }

    /// Its costs of decoder layers are counted, so that it can be compared with others.
    #[cfg(feature = "standard")]
    #[must_use]
    pub fn counts(self, counts: Counts<B>) -> Self {
        Self { counts: Some(counts), ..self }
    }
}

impl<B: CatalogBlock> Entry for Line<B> {
    fn family(&self) -> &'static str {
        self.family
    }

    fn about(&self) -> About {
        B::ABOUT
    }

    fn is_accelerator(&self) -> bool {
        B::IS_ACCELERATOR
    }

    fn sample(&self) -> &'static [(&'static str, u32)] {
        B::SAMPLE
    }

    fn sample_vectors(&self) -> Option<u64> {
        B::SAMPLE_VECTORS
    }

    fn parameters(&self) -> Vec<Parameter> {
        B::default().list()
    }

    fn source(&self) -> &'static str {
        B::SOURCE
    }

    fn warnings(&self, params: &Params) -> Vec<String> {
        from_params::<B>(params).map(|b| b.warnings()).unwrap_or_default()
    }

    fn defaults(&self) -> Params {
        to_params(&B::default())
    }

    fn configurations(&self) -> Vec<Params> {
        std::iter::once(B::default()).chain(B::configurations()).map(|b| to_params(&b)).collect()
    }

    fn proofs(&self) -> Vec<ProofRun> {
        let run = |p: hdl::lang::Proof<B>| ProofRun {
            params: to_params(&p.block),
            depth: p.depth,
            cover_depth: p.cover_depth,
            induction: p.induction,
        };
        B::proofs().into_iter().map(run).collect()
    }

    fn accepts(&self, params: &Params) -> Result<(), String> {
        from_params::<B>(params).map(|_| ())
    }

    fn check(&self, params: &Params) -> Vec<hdl::lang::ParamError> {
        let checked = from_params::<B>(params).map(|block| block.check());
        checked.ok().and_then(Result::err).map(|errors| errors.0).unwrap_or_default()
    }

    fn elaborate(&self, params: &Params) -> Result<Design> {
        let block = from_params::<B>(params).map_err(Failure::Usage)?;
        Ok(hdl::lang::elaborate(&block)?)
    }

    fn bench(&self, params: &Params) -> Result<Box<dyn sim::Bench>> {
        let block = from_params::<B>(params).map_err(Failure::Usage)?;
        (self.bench)(&block).map_err(|e| Failure::Usage(format!("{}: {e:#}", B::ABOUT.name)))
    }

    fn tensors(&self, params: &Params) -> Result<Vec<Wanted>> {
        let block = from_params::<B>(params).map_err(Failure::Usage)?;
        let Some(tensors) = &self.tensors else { return Ok(Vec::new()) };
        (tensors.wanted)(&block).map_err(|e| Failure::Usage(format!("{}: {e:#}", B::ABOUT.name)))
    }

    fn bench_of_tensors(&self, params: &Params, folder: &Path) -> Result<Counted> {
        let block = from_params::<B>(params).map_err(Failure::Usage)?;
        let refused = |e| Failure::Usage(format!("{}: {e:#}", B::ABOUT.name));
        let Some(tensors) = &self.tensors else {
            return Err(Failure::Usage(format!("the bench of {} takes no tensors", B::ABOUT.name)));
        };
        let wanted = (tensors.wanted)(&block).map_err(refused)?;
        let given = Tensors::read(folder, &wanted).map_err(|e| Failure::Usage(e.to_string()))?;
        (tensors.bench)(&block, &given).map_err(refused)
    }

    fn work_columns(&self) -> &'static [&'static str] {
        self.work.as_ref().map(|work| work.columns).unwrap_or_default()
    }

    fn work(&self, params: &Params) -> Result<Vec<(&'static str, f64)>> {
        let name = B::ABOUT.name;
        let Some(work) = &self.work else {
            return Err(Failure::Check(format!(
                "{name} has no work to count the cycles of; complete accelerators have"
            )));
        };
        let block = from_params::<B>(params).map_err(Failure::Usage)?;
        let cycles = (work.cycles)(&block).map_err(|e| Failure::Check(format!("{name}: {e:#}")))?;
        Ok(work.columns.iter().copied().zip(cycles).collect())
    }

    #[cfg(feature = "standard")]
    fn runs(&self) -> Option<(&'static str, Params)> {
        self.runs.as_ref().map(|runs| (runs.name, to_params(&(runs.block)())))
    }

    #[cfg(feature = "standard")]
    fn counts(&self) -> Option<(Params, Vec<Choice>)> {
        self.counts.as_ref().map(|counts| (to_params(&(counts.block)()), (counts.choices)()))
    }

    #[cfg(feature = "standard")]
    fn costs(&self, params: &Params, settings: &Settings, latency: u32) -> Result<Box<dyn Costs>> {
        let name = B::ABOUT.name;
        let Some(counts) = &self.counts else {
            return Err(Failure::Usage(format!("nobody counts the costs of decoder layers on {name}")));
        };
        let block = from_params::<B>(params).map_err(Failure::Usage)?;
        block.check().map_err(|e| Failure::Usage(format!("{name}: {e}")))?;
        (counts.costs)(&block, settings, latency).map_err(|e| Failure::Usage(format!("{name}: {e:#}")))
    }

    #[cfg(feature = "standard")]
    fn machine(&self, params: &Params) -> Result<Machine> {
        let name = B::ABOUT.name;
        let Some(runs) = &self.runs else {
            return Err(Failure::Usage(format!("{name} runs no language model")));
        };
        let block = from_params::<B>(params).map_err(Failure::Usage)?;
        block.check().map_err(|e| Failure::Usage(format!("{name}: {e}")))?;
        (runs.machine)(block).map_err(|e| Failure::Usage(format!("{name}: {e:#}")))
    }
}

/// Parameters by name. Parameters of nested structs have dotted names.
fn to_params<B: Block>(block: &B) -> Params {
    hdl::lang::flatten(&block.values()).into_iter().collect()
}

fn from_params<B: CatalogBlock>(params: &Params) -> Result<B, String> {
    B::from_values(&hdl::lang::nest(params)).map_err(|e| e.to_string())
}
