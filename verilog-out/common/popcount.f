../modules/popcount_w32.v
