../modules/stream_arbiter_w32_n4_round_robin.v
