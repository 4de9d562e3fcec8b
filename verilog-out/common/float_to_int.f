../modules/float_to_int_fp16_w16_signed_nearest_even_s0.v
