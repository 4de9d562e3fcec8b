../modules/score_register_file_m128_s4_a5.v
