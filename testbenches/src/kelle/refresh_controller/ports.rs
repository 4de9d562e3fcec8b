//! The ports of the block.

use sim::Sim;

sim::handles! {
    pub(super) struct Ports {
        pub access_valid: In = "access_valid_i",
        pub access_ready: Out = "access_ready_o",
        pub access_write: In = "access_write_i",
        pub access_row: In = "access_row_i",
        pub look_row: Out = "look_row_o",
        pub valid: In = "valid_i",
        pub high: In = "high_i",
        pub promoted_valid: In = "promoted_valid_i",
        pub promoted_row: In = "promoted_row_i",
        pub config_valid: In = "config_valid_i",
        pub config_high: In = "config_high_i",
        pub config_low: In = "config_low_i",
        pub refused: Out = "config_refused_o",
        pub refresh_read: Out = "refresh_read_o",
        pub refresh_write: Out = "refresh_write_o",
        pub refresh_row: Out = "refresh_row_o",
        pub refreshes: Out = "refreshes_o",
        pub stalls: Out = "stalls_o",
    }
}

impl Ports {
    /// Validity and class of the row that is looked at in this cycle.
    pub(super) fn show(&self, sim: &mut Sim, valid: &[bool], high: &[bool]) {
        let row = sim.peek_u64(self.refresh_row) as usize;
        let of = |rows: &[bool]| rows.get(row).copied().unwrap_or(false).into();
        sim.poke_u64(self.valid, of(valid));
        sim.poke_u64(self.high, of(high));
    }
}
