../modules/skew_lines_n16_w6_skew.v
../modules/skew_lines_n16_w5_skew.v
../modules/ws_pe_w4_a32.v
../modules/ws_accumulator_d64_a32_s16.v
../modules/weight_stationary_array_16x16_w4_a32_d64.v
