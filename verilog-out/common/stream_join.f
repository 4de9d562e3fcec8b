../modules/stream_join_w32_n2.v
