../modules/ram_d128_w10_g10_inferred.v
../modules/score_memory_m128_s8_a9_h1_l2.v
