../modules/stream_fifo_w32_d16_registers.v
