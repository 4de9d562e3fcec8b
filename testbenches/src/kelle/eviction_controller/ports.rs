//! The ports of the block.

sim::handles! {
    pub(super) struct Ports {
        pub clear: In = "clear_i",
        pub sink: In = "sink_i",
        pub window: In = "window_i",
        pub count: Out = "count_o",
        pub walk_valid: In = "walk_valid_i",
        pub walk_ready: Out = "walk_ready_o",
        pub entry_valid: Out = "entry_valid_o",
        pub entry_ready: In = "entry_ready_i",
        pub entry_slot: Out = "entry_slot_o",
        pub entry_recompute: Out = "entry_recompute_o",
        pub entry_guarded: Out = "entry_guarded_o",
        pub entry_last: Out = "entry_last_o",
        pub insert_valid: In = "insert_valid_i",
        pub insert_ready: Out = "insert_ready_o",
        pub insert_recompute: In = "insert_recompute_i",
        pub insert_found: In = "insert_found_i",
        pub insert_victim: In = "insert_victim_i",
        pub place_valid: Out = "place_valid_o",
        pub place_ready: In = "place_ready_i",
        pub place_slot: Out = "place_slot_o",
        pub place_evicted: Out = "place_evicted_o",
        pub place_refused: Out = "place_refused_o",
    }
}
