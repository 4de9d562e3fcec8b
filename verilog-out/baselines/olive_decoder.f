../modules/olive_decoder_p1.v
