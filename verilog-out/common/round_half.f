../modules/row_normaliser_w29.v
../modules/round_half_w29_e11.v
