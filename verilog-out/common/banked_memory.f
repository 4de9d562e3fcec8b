../modules/ram_d256_w32_g32_inferred.v
../modules/stream_arbiter_w8_n4_round_robin.v
../modules/memory_bank_r4_w1_d256_w32_g32_inferred.v
../modules/banked_memory_b4_r4_w1_d256_w32_g32_inferred.v
