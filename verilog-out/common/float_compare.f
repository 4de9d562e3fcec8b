../modules/float_compare_fp16_s0_ieee.v
