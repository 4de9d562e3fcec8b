../modules/priority_encoder_w32.v
