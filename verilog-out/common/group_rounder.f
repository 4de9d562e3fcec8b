../modules/group_rounder_l32_g32_w8.v
