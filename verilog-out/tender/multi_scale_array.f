../modules/skew_lines_n16_w5_skew.v
../modules/tender_pe_w4_a32_adder_double.v
../modules/multi_scale_array_16x16_w4_a32_adder_double_int8.v
