../modules/channel_monitor_l32_t2_n16_g2.v
../modules/expander_l32_w8_open.v
../modules/max_min_finder_l32_t2.v
../modules/non_zero_quantizer_l32_g131.v
../modules/compactor_l32_w8.v
../modules/quantization_unit_l32_t2_n16_b32_y12.v
