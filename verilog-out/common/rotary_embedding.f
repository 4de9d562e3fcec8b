../modules/stream_fifo_w133_d10_registers.v
../modules/float_mul_fp16_s2_ieee.v
../modules/float_fma_fp16_fused_s5_ieee.v
../modules/rotary_embedding_l8_neighbours_m2_f5.v
