../modules/ram_d64_w32_g32_inferred.v
../modules/double_buffer_d64_w32_g32_inferred.v
