../modules/scale_zero_buffer_l32_t2_n16_w18.v
