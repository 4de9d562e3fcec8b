../modules/compactor_l32_w1.v
../modules/popcount_w32.v
../modules/compactor_l32_w18.v
../modules/kv_packer_l32_b64.v
