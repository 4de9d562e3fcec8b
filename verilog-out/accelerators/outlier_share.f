../modules/outlier_share_o16_s17.v
