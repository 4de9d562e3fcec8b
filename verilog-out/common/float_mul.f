../modules/float_mul_fp16_s0.v
