../modules/ram_d4_w49_g49_inferred.v
../modules/lane_results_r16_c16_w8_a48_d64_n4_b8.v
../modules/skew_lines_n16_w8_skew.v
../modules/reconfigurable_pe_w8_p21.v
../modules/byte_accumulator_w8_p21_a48_d64.v
../modules/reconfigurable_array_r16_c16_w8_a48_d64_n4_b8.v
