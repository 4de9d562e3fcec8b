../modules/event_counters_n6_w64_s16.v
