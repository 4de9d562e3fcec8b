../modules/stream_fork_w32_n2.v
