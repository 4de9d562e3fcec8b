../modules/float_reciprocal_fp16_s0_ieee.v
