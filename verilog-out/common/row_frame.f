../modules/ram_d32_w68_g68_inferred.v
../modules/stream_fifo_w68_d32_memory.v
../modules/ram_d32_w17_g17_inferred.v
../modules/stream_fifo_w17_d32_memory.v
../modules/ram_d6_w69_g69_inferred.v
../modules/stream_fifo_w69_d6_memory.v
../modules/row_frame_w64_l4_b16_k32_p0_a3_s2_memory.v
