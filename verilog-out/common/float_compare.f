../modules/float_compare_fp16_s0.v
