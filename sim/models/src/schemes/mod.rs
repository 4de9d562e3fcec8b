//! Schemes: ways to compute a decoder, in floats or in the numbers of an accelerator. Each says its name, its options
//! and its meaning itself; `senbazuru eval` measures whatever is in the [`registry`].
//!
//! ```
//! use models::schemes::{Chosen, registry};
//!
//! let schemes = registry();
//! let chosen = Chosen::parse(&schemes, "tender:bits=4")?;
//! assert_eq!(chosen.canonical(), "tender:bits=4,groups=8,outliers=0,ranges=text");
//! // Products of one scheme, and a cache of two others: how it is stored, and which tokens stay.
//! let combined = Chosen::parse(&schemes, "integers+cache:bits=4+kelle:tokens=64")?;
//! assert!(combined.canonical().ends_with("+cache:bits=4+kelle:policy=aerp,tokens=64"));
//! # Ok::<(), anyhow::Error>(())
//! ```

mod bench;
mod chosen;
mod combined;
mod learning;
mod options;
mod plain;
mod scheme;
mod written;

use std::sync::Arc;

use anyhow::{Context, Result, ensure};

use crate::baselines;

pub use bench::{Bench, Given, NothingToLearnFrom};
pub use chosen::Chosen;
pub use combined::{Part, Prepared};
pub use learning::Learning;
pub use options::{Choice, Kind, Settings};
pub use plain::{BYTES, KEPT};
pub use scheme::{Amount, Found, Passage, Reader, Scheme, Tally, is_surprise};
pub use written::Written;

/// Schemes, each with a name of its own.
pub type Registry = Vec<Arc<dyn Scheme>>;

/// Checks what a scheme says of itself: name, and the defaults of its options.
///
/// # Errors
/// Names the scheme and what is wrong.
pub fn check(scheme: &dyn Scheme) -> Result<()> {
    let name = scheme.name();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    ensure!(!name.is_empty() && name.chars().all(fits), "scheme `{name}`: allowed are `a` to `z`, digits, `_` and `-`");
    let settings = Settings::parse(&scheme.choices(), "");
    settings.with_context(|| format!("scheme `{name}`"))?;
    Ok(())
}

/// All schemes of this crate, one line each.
#[must_use]
pub fn registry() -> Registry {
    vec![
        Arc::new(plain::Plain),
        Arc::new(crate::tender::schemes::Integers),
        Arc::new(crate::tender::schemes::Tender),
        Arc::new(crate::kllm::scheme::Kllm),
        Arc::new(baselines::rtn::Rtn),
        Arc::new(baselines::smooth::SmoothQuant),
        Arc::new(baselines::gptq::Gptq),
        Arc::new(baselines::quarot::QuaRot),
        Arc::new(baselines::atom::Atom),
        Arc::new(baselines::ant::Ant),
        Arc::new(baselines::olive::Olive),
        Arc::new(baselines::blocks::Blocks),
        Arc::new(plain::Cache),
        Arc::new(baselines::rotated_cache::RotatedCache),
        Arc::new(baselines::kivi::Kivi),
        Arc::new(baselines::tokens::HeavyHitters),
        Arc::new(baselines::tokens::Window),
        Arc::new(crate::titanus::scheme::Titanus),
        Arc::new(crate::kelle::schemes::Kelle),
        Arc::new(crate::kelle::schemes::Flips),
        Arc::new(crate::kelle::schemes::Refreshed),
    ]
}

#[cfg(test)]
mod tests;
