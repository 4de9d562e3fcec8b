../modules/ram_d256_w32_g32_inferred.v
../modules/single_port_ram_d256_w32_g32_inferred.v
