../modules/refresh_controller_m128_w23_i43000_p256_t8_c32.v
../modules/score_register_file_m128_s4_a5.v
../modules/ram_128x64.v
../modules/edram_bank_128x64.v
../modules/kv_bank_group_msb_b8x8_m128_s4_a5_w23_i43000_p256_t8.v
