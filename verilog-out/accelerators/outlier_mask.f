../modules/ram_d512_w8_g1_inferred.v
../modules/outlier_mask_d512_l8.v
