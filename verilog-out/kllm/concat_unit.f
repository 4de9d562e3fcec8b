../modules/concat_unit_a4_b4.v
