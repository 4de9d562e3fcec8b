../modules/float_from_int_fp16_int32_s0.v
