ram_128x64.v
edram_bank_128x64.v
