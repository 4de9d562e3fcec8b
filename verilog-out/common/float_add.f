../modules/float_add_fp16_s0.v
