../modules/ram_d128_w8_g8_inferred.v
../modules/eviction_controller_n128.v
