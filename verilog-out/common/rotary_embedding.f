../modules/stream_fifo_w129_d10_registers_xf8a9e9e7.v
../modules/float_mul_fp16_s2_ieee.v
../modules/float_fma_fp16_fused_s5_ieee.v
../modules/rotary_embedding_l8_neighbours_m2_f5.v
