../modules/popcount_w32.v
../modules/expander_l32_w1.v
../modules/expander_l32_w18.v
../modules/kv_unpacker_l32_b64.v
