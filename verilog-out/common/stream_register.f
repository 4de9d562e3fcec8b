../modules/stream_register_w32_both.v
