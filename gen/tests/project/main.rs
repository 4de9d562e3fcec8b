//! The project itself: pages, site, scripts.

#[path = "../support/mod.rs"]
mod support;

mod documents;
mod housekeeping;
mod scripts;
mod site;
