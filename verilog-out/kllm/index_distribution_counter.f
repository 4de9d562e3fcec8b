../modules/index_distribution_counter_a4_b4_n16_k4096.v
