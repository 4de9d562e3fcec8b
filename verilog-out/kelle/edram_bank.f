../modules/ram_d128_w64_g64_inferred.v
../modules/edram_bank_m128_w64.v
