//! All blocks of the catalogue: both engines, proofs, faults, costs.

#[path = "../support/mod.rs"]
mod support;

mod areas;
mod arrayed_elements;
mod catalogue;
mod clocks;
mod event_energy;
mod events;
mod float_costs;
mod kelle_size;
mod kllm_cost;
mod lockstep;
mod mutant_parts;
mod mutants;
mod mutation;
mod netlist;
mod proofs;
mod reduce;
mod refusals;
mod refuted_accelerators;
mod refuted_baselines;
mod refuted_bus;
mod refuted_float;
mod refuted_kelle;
mod refuted_kllm;
mod refuted_row;
mod refuted_tender;
mod refuted_titanus;
mod tender_cost;
mod tensors;
mod trust;
mod yosys;
