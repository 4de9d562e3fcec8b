../modules/compactor_l32_w8.v
../modules/pruning_unit_l32_y12.v
