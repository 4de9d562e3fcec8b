//! The catalogue: the blocks that the commands know.

mod line;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hdl::lang::{About, CatalogBlock, Design, Parameter};
#[cfg(feature = "standard")]
use models::cycles::Costs;
#[cfg(feature = "standard")]
use models::schemes::{Choice, Registry, Scheme, Settings};
use serde_json::{Map, Value};
use sim::kit::MakeBench;
use sim::kit::tensors::{Counted, Wanted};

#[cfg(feature = "standard")]
use testbenches::accelerators::decoding::Machine;

pub use line::Line;

use crate::error::{Failure, Result};

/// Parameters of a block by name, in the order of its struct.
pub type Params = Map<String, Value>;

/// A block of a catalogue.
pub type Known = Arc<dyn Entry>;

/// Blocks, each with its bench.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    entries: Vec<Known>,
    #[cfg(feature = "standard")]
    schemes: Registry,
    /// Errors in lines that were added.
    pub(crate) wrong: Vec<String>,
}

impl Catalogue {
    /// No block.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds a block. `family` groups blocks in lists and folders: letters, digits, `_` and `-`. A name that is there already
    /// is an error of [`cli`](Self::cli).
    #[must_use]
    pub fn block<B: CatalogBlock>(self, family: &'static str, bench: MakeBench<B>) -> Self {
        self.line(Line::new(family, bench))
    }

    /// Adds a block of which there is more to say.
    #[must_use]
    pub fn line<B: CatalogBlock>(mut self, line: Line<B>) -> Self {
        let (name, family) = (B::ABOUT.name, line.family);
        if !is_family(family) {
            self.wrong.push(format!("family `{family}` of block `{name}`, allowed: letters, digits, `_` and `-`"));
        }
        if self.get(name).is_some() {
            self.wrong.push(format!("two blocks are called `{name}`: give one of them another name in its `ABOUT`"));
        }
        self.entries.push(Arc::new(line));
        self
    }

    /// Adds a scheme, which `eval` measures language models with. A name that is there already is an error of
    /// [`cli`](Self::cli).
    #[cfg(feature = "standard")]
    #[must_use]
    pub fn scheme(mut self, scheme: Arc<dyn Scheme>) -> Self {
        let name = scheme.name();
        if let Err(error) = models::schemes::check(&*scheme) {
            self.wrong.push(format!("{error:#}"));
        }
        if self.schemes.iter().any(|other| other.name() == name) {
            self.wrong.push(format!("two schemes are called `{name}`: give one of them another name"));
        }
        self.schemes.push(scheme);
        self
    }

    /// All schemes, in the order in which they were added.
    #[cfg(feature = "standard")]
    #[must_use]
    pub fn schemes(&self) -> &Registry {
        &self.schemes
    }

    /// All blocks, in the order in which they were added.
    #[must_use]
    pub fn all(&self) -> &[Known] {
        &self.entries
    }

    /// The block called `name`, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Known> {
        self.entries.iter().find(|e| e.about().name == name)
    }

    /// The block called `name`, or the one that runs language models under this short name.
    ///
    /// # Errors
    /// Names similar blocks, or all of them.
    pub fn find(&self, name: &str) -> Result<&Known> {
        #[cfg(feature = "standard")]
        let short = || self.entries.iter().find(|e| e.runs().is_some_and(|(short, _)| short == name));
        #[cfg(not(feature = "standard"))]
        let short = || None;
        self.get(name).or_else(short).ok_or_else(|| {
            let names: Vec<_> = self.entries.iter().map(|e| e.about().name).collect();
            let near = similar(name, &names);
            let hint = match (near.is_empty(), names.is_empty()) {
                (_, true) => "the catalogue is empty".to_owned(),
                (true, _) => format!("the blocks are: {}", names.join(", ")),
                _ => format!("did you mean {}? `{} list` shows all blocks", near.join(" or "), crate::shell::program()),
            };
            Failure::Usage(format!("unknown block `{name}`; {hint}"))
        })
    }
}

/// A block without its Rust type: parameters are JSON.
pub trait Entry: Send + Sync {
    /// Paper or collection, the folder of the block.
    fn family(&self) -> &'static str;
    /// Name, contract, source.
    fn about(&self) -> About;
    /// Whether it is made of blocks that have benches of their own ([`CatalogBlock::IS_ACCELERATOR`]).
    fn is_accelerator(&self) -> bool;
    /// Parameters that are measured in place of the smallest ones ([`CatalogBlock::SAMPLE`]).
    fn sample(&self) -> &'static [(&'static str, u32)];
    /// Vectors of such a measurement ([`CatalogBlock::SAMPLE_VECTORS`]).
    fn sample_vectors(&self) -> Option<u64>;
    /// Documentation of the parameters.
    fn parameters(&self) -> Vec<Parameter>;
    /// Where the block is described.
    fn source(&self) -> &'static str;
    /// Warnings about parameters that are legal but hardly intended, in sentences.
    fn warnings(&self, params: &Params) -> Vec<String>;
    /// Default parameters.
    fn defaults(&self) -> Params;
    /// The parameter sets that every check runs on, the default first.
    fn configurations(&self) -> Vec<Params>;
    /// The proofs that `prove` runs.
    fn proofs(&self) -> Vec<ProofRun>;
    /// Checks that the parameters have the types of the block's struct; the text says which type is expected.
    fn accepts(&self, params: &Params) -> Result<(), String>;
    /// Checks the block's rules on parameters of the right types.
    fn check(&self, params: &Params) -> Vec<hdl::lang::ParamError>;
    /// The hardware.
    ///
    /// # Errors
    /// A refused parameter, or errors in the description of the block.
    fn elaborate(&self, params: &Params) -> Result<Design>;
    /// The testbench.
    ///
    /// # Errors
    /// A refused parameter.
    fn bench(&self, params: &Params) -> Result<Box<dyn sim::Bench>>;
    /// The tensors that [`bench_of_tensors`](Self::bench_of_tensors) takes; none where the bench takes no tensors.
    ///
    /// # Errors
    /// A refused parameter.
    fn tensors(&self, params: &Params) -> Result<Vec<Wanted>>;
    /// The testbench on the tensors of a folder.
    ///
    /// # Errors
    /// A block whose bench takes no tensors, a refused parameter, a tensor that is not as it should be.
    fn bench_of_tensors(&self, params: &Params, folder: &Path) -> Result<Counted>;
    /// Names of the numbers of [`work`](Self::work); none where there is no such work.
    fn work_columns(&self) -> &'static [&'static str];
    /// Cycles of a fixed piece of work, by the block's recurrence.
    ///
    /// # Errors
    /// A block without such work, or parameters that it does not fit on.
    fn work(&self, params: &Params) -> Result<Vec<(&'static str, f64)>>;
    /// The name under which the block runs language models, and its parameters where a user sets none. None of a block
    /// that runs none.
    #[cfg(feature = "standard")]
    fn runs(&self) -> Option<(&'static str, Params)>;
    /// Parameters with which costs of decoder layers are counted where a user sets none, and choices of the software.
    /// None of a block whose costs nobody counts.
    #[cfg(feature = "standard")]
    fn counts(&self) -> Option<(Params, Vec<Choice>)>;
    /// Costs of decoder layers with such choices, and with so many cycles until memory answers.
    ///
    /// # Errors
    /// A block whose costs nobody counts; a refused parameter.
    #[cfg(feature = "standard")]
    fn costs(&self, params: &Params, settings: &Settings, latency: u32) -> Result<Box<dyn Costs>>;
    /// The block at work on a language model.
    ///
    /// # Errors
    /// A block that runs none; a refused parameter.
    #[cfg(feature = "standard")]
    fn machine(&self, params: &Params) -> Result<Machine>;
}

/// One run of the prover.
#[derive(Clone, Debug)]
pub struct ProofRun {
    /// Parameters.
    pub params: Params,
    /// Cycles that are checked exhaustively.
    pub depth: u32,
    /// Cycles within which covers must be reached.
    pub cover_depth: u32,
    /// Prove for all time as well.
    pub induction: bool,
}

/// Whether a family can be the name of a folder.
pub(crate) fn is_family(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// The names close to `wanted`, closest first.
pub(crate) fn similar<'a>(wanted: &str, names: &[&'a str]) -> Vec<&'a str> {
    let score = |name: &str| strsim::jaro_winkler(&wanted.to_lowercase().replace('-', "_"), name);
    let mut near: Vec<_> = names.iter().map(|&n| (score(n), n)).filter(|(s, _)| *s > 0.8).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(3).map(|(_, n)| n).collect()
}

impl fmt::Debug for dyn Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about().name)
    }
}

#[cfg(all(test, feature = "standard"))]
mod tests {
    use hdl::blocks::common::Ram;
    use std::process::ExitCode;
    use testbenches::common::memory::ram::bench;

    use super::*;

    #[test]
    fn a_catalogue_that_cannot_be() {
        assert!(Catalogue::standard().wrong.is_empty());
        let twice = Catalogue::empty().block::<Ram>("a-b_3", bench).block::<Ram>("mine", bench);
        assert_eq!(twice.wrong, ["two blocks are called `ram`: give one of them another name in its `ABOUT`"]);
        let odd = Catalogue::empty().block::<Ram>("../mine", bench);
        assert_eq!(odd.wrong, ["family `../mine` of block `ram`, allowed: letters, digits, `_` and `-`"]);
        assert_eq!(format!("{:?}", odd.cli()), format!("{:?}", ExitCode::from(2)));
    }

    #[test]
    fn names_that_are_not_there() {
        let told = |catalogue: &Catalogue, name| catalogue.find(name).unwrap_err().to_string();
        assert_eq!(told(&Catalogue::empty(), "ram"), "unknown block `ram`; the catalogue is empty");
        let one = Catalogue::empty().block::<Ram>("mine", bench);
        assert_eq!(told(&one, "fifo"), "unknown block `fifo`; the blocks are: ram");
        assert!(told(&one, "rams").starts_with("unknown block `rams`; did you mean ram? `"));
        assert!(one.find("ram").is_ok());
    }
}
