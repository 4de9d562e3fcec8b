../modules/float_add_fp16_s0_ieee.v
