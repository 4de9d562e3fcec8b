../modules/channel_monitor_l32_t2_n16_g8.v
