../modules/row_normaliser_w96.v
../modules/row_normaliser_w16.v
../modules/row_adder_w48_sub.v
../modules/row_adder_w48.v
../modules/root_digit.v
../modules/inverse_root_n16_d96_p24.v
