../modules/ram_d128_w10_g10_inferred.v
../modules/score_memory_m128_s8_a9_h1_l2.v
../modules/refresh_controller_m128_w23_i43000_p256_t8.v
../modules/ram_d128_w64_g64_inferred.v
../modules/edram_bank_m128_w64.v
../modules/byte_banks_msb_b8_l8_r128.v
../modules/byte_banks_lsb_b8_l8_r128.v
../modules/kv_cache_b8_l8_m128_w23_i43000_p256_t8_h1_s8_a9.v
