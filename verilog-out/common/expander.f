../modules/expander_l32_w8.v
