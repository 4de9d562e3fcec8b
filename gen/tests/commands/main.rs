//! The commands, as users run them.

#[path = "../support/mod.rs"]
mod support;

mod calibrate;
mod cli;
mod cli_errors;
mod compare;
mod default_runs;
mod diff;
mod energy;
mod eval;
mod explore;
mod fpga;
mod generate;
mod guide;
mod host;
mod install;
mod interrupt;
mod layout;
mod libraries;
mod models;
mod new;
mod odd_names;
mod own_models;
mod package;
mod python;
mod registers;
mod report;
mod run;
mod slurm;
mod sweep;
mod sweep_mistakes;
mod tensors;
mod timing;
mod unanswered;
mod wave;
mod work;
