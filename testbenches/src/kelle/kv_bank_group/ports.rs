//! The ports of the block.

use sim::Sim;

sim::handles! {
    pub(super) struct Ports {
        pub access_valid: In = "access_valid_i",
        pub access_ready: Out = "access_ready_o",
        pub access_write: In = "access_write_i",
        pub access_row: In = "access_row_i",
        pub access_data: In = "access_data_i",
        pub data_valid: Out = "data_valid_o",
        pub data: Out = "data_o",
        pub evict_valid: In = "evict_valid_i",
        pub evict_row: In = "evict_row_i",
        pub update_valid: In = "update_valid_i",
        pub update_row: In = "update_row_i",
        pub update_amount: In = "update_amount_i",
        pub step: In = "step_i",
        pub threshold: In = "threshold_i",
        pub score_row: In = "score_row_i",
        pub score: Out = "score_o",
        pub config_valid: In = "config_valid_i",
        pub config_high: In = "config_high_i",
        pub config_low: In = "config_low_i",
        pub refused: Out = "config_refused_o",
        pub refresh_read: Out = "refresh_read_o",
        pub refresh_write: Out = "refresh_write_o",
        pub refresh_row: Out = "refresh_row_o",
        pub high: Out = "high_o",
        pub refreshes: Out = "refreshes_o",
        pub stalls: Out = "stalls_o",
    }
}

impl Ports {
    pub(super) fn quiet(&self, sim: &mut Sim) {
        for port in [self.access_valid, self.evict_valid, self.update_valid, self.step, self.config_valid] {
            sim.poke_u64(port, 0);
        }
    }
}
