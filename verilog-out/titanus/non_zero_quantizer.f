../modules/non_zero_quantizer_l32_g8.v
