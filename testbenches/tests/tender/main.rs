//! The blocks of Tender, a file each.

mod multi_scale_array;
mod tender_pe;
mod weight_stationary_array;
