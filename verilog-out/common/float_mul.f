../modules/float_mul_fp16_s0_ieee.v
