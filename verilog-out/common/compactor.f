../modules/compactor_l32_w8.v
