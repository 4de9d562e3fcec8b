../modules/ant_decoder_signed.v
