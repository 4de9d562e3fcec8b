../modules/float_sqrt_fp16_s0_ieee.v
