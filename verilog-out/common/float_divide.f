../modules/float_divide_fp16_s0_ieee.v
