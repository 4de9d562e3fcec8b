library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

-- What gen/tests/commands/wave/files.rs draws from a GHW file.
entity counter is
end entity;

architecture test of counter is
  signal clk_i   : std_logic := '0';
  signal go_i    : std_logic := 'U';
  signal count_o : unsigned(7 downto 0) := (others => '0');
  signal flags   : std_logic_vector(0 to 3) := "0001";
  signal load    : real := 0.0;
  signal total   : integer := 0;
  type state_t is (idle, busy);
  signal state   : state_t := idle;
begin
  clock : process
  begin
    for i in 1 to 6 loop
      wait for 5 ns;
      clk_i <= '1';
      wait for 5 ns;
      clk_i <= '0';
    end loop;
    wait;
  end process;

  count : process (clk_i)
  begin
    if rising_edge(clk_i) then
      go_i <= '1';
      state <= busy;
      count_o <= count_o + 3;
      flags <= flags(1 to 3) & flags(0);
      load <= load + 0.25;
      total <= total - 1;
    end if;
  end process;
end architecture;
