../modules/scale_zero_buffer_l32_t2_n16_w18.v
../modules/scale_zero_buffer_l32_t2_n16_w8.v
../modules/expander_l32_w8_open.v
../modules/dequantization_unit_l32_t2_n16.v
