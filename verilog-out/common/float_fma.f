../modules/float_fma_fp16_s0.v
