../modules/leading_zeros_w32.v
