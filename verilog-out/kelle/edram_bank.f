../modules/ram_128x64.v
../modules/edram_bank_128x64.v
