/* Reset at 0, interrupts at 16, as soc.v says. PicoRV32 has its own instructions for interrupts: q0 is where to go back to, q1
 * which interrupts there are; a bit of the mask keeps an interrupt off. No interrupt comes before `retirq`. */
.macro getq rd, q
  .insn r 0x0b, 4, 0, \rd, \q, x0
.endm
.macro retirq
  .insn r 0x0b, 0, 2, x0, x0, x0
.endm
.macro maskirq rd, rs
  .insn r 0x0b, 6, 3, \rd, \rs, x0
.endm
.macro waitirq rd
  .insn r 0x0b, 4, 4, \rd, x0, x0
.endm

  .section .text.start, "ax"
  .globl start
start:
  lui sp, %hi(stack_top)
  j begin

  .balign 16
  .irp register, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
  addi sp, sp, -4
  sw \register, 0(sp)
  .endr
  getq a0, x1
  call interrupt
  .irp register, a7, a6, a5, a4, a3, a2, a1, a0, t6, t5, t4, t3, t2, t1, t0, ra
  lw \register, 0(sp)
  addi sp, sp, 4
  .endr
  retirq

begin:
  la t0, zeros
  la t1, zeros_end
1:
  bgeu t0, t1, 2f
  sw zero, 0(t0)
  addi t0, t0, 4
  j 1b
2:
  call main
3:
  j 3b

/* uint32_t cpu_mask(uint32_t mask): the interrupts that stay away; returns those that did. */
  .globl cpu_mask
cpu_mask:
  maskirq a0, a0
  ret

/* void cpu_wait(void): stops until there is an interrupt, even one that is kept away. */
  .globl cpu_wait
cpu_wait:
  waitirq a0
  ret
