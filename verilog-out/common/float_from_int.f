../modules/float_from_int_fp16_w32_signed_s0.v
