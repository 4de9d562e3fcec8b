../modules/refresh_controller_m128_w23_i43000_p256_t8.v
