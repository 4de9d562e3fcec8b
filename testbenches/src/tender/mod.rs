//! Testbenches of Tender: power-of-two channel groups, and systolic arrays whose PEs only gain a shifter.
