../modules/orizuru_tree_max_r16_w16_i0_given_l4.v
../modules/orizuru_tree_min_r16_w16_i0_given_l4.v
../modules/orizuru_unit_r16_p16_w16_l4.v
