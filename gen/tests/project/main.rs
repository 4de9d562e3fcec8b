//! The project itself: pages, site, scripts.

#[path = "../support/mod.rs"]
mod support;

mod comparison;
mod documents;
mod housekeeping;
mod ladders;
mod scripts;
mod site;
