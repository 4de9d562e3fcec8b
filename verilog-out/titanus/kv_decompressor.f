../modules/expander_l32_w1.v
../modules/expander_l32_w18.v
../modules/kv_unpacker_l32_b64.v
../modules/scale_zero_buffer_l32_t2_n16_w18.v
../modules/scale_zero_buffer_l32_t2_n16_w8.v
../modules/expander_l32_w8.v
../modules/dequantization_unit_l32_t2_n16.v
../modules/kv_decompressor_l32_t2_n16_k64.v
