../modules/float_rsqrt_fp16_s0_ieee.v
