../modules/max_min_finder_l32_t2.v
