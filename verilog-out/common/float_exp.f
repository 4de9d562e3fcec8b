../modules/float_exp_fp16_s0_ieee.v
