../modules/context_memory_l32_t2_n128.v
