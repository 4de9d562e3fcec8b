#include "cpu.h"

#define DEVICE 0x40000000u
#define IRQ_DEVICE (1u << 4)
/* A verdict that no result of a program is: an interrupt that nobody asked for. */
#define UNEXPECTED 100u

/* In start.S. */
uint32_t cpu_mask(uint32_t mask);
void cpu_wait(void);

/* At an address of the linker script. */
extern volatile struct {
  uint32_t done; /* last of all: 1 */
  uint32_t result;
  uint32_t interrupts;
  uint32_t tag;
  uint32_t descriptors;
} verdict;

static volatile uint32_t interrupts;

static volatile uint32_t *device(uint32_t offset) { return (volatile uint32_t *)(uintptr_t)(DEVICE + offset); }

/* Words of whatever type. */
typedef uint32_t __attribute__((may_alias)) word;

/* What compilers call. */
void *memcpy(void *to, const void *from, size_t count) {
  uint8_t *target = to;
  const uint8_t *source = from;
  if (((uintptr_t)to | (uintptr_t)from) % sizeof(word) == 0)
    for (; count >= sizeof(word); count -= sizeof(word), target += sizeof(word), source += sizeof(word))
      *(word *)(void *)target = *(const word *)(const void *)source;
  while (count-- > 0)
    *target++ = *source++;
  return to;
}

void *memset(void *to, int value, size_t count) {
  uint8_t *target = to;
  while (count-- > 0)
    *target++ = (uint8_t)value;
  return to;
}

static void say(uint32_t result) {
  verdict.result = result;
  verdict.interrupts = interrupts;
  verdict.done = 1;
}

/* Called by start.S. */
void interrupt(uint32_t pending) {
  uint32_t status = *device(VECTOR_TOP_STATUS);
  if (pending != IRQ_DEVICE || status & VECTOR_TOP_STATUS_BUSY_MASK) {
    say(UNEXPECTED | pending << 16);
    for (;;)
      ;
  }
  *device(VECTOR_TOP_IRQ_ENABLE) = 0;
  interrupts++;
}

static int read32(void *context, uint32_t offset, uint32_t *value) {
  (void)context;
  *value = *device(offset);
  return 0;
}

static int write32(void *context, uint32_t offset, uint32_t value) {
  (void)context;
  *device(offset) = value;
  return 0;
}

/* There are no caches, and PicoRV32 waits for the answer to every access. The compiler must not keep bytes either. */
static int read_mem(void *context, uint64_t address, void *bytes, size_t count) {
  (void)context;
  __asm__ volatile("" ::: "memory");
  memcpy(bytes, (const void *)(uintptr_t)address, count);
  return 0;
}

static int write_mem(void *context, uint64_t address, const void *bytes, size_t count) {
  (void)context;
  memcpy((void *)(uintptr_t)address, bytes, count);
  __asm__ volatile("" ::: "memory");
  return 0;
}

/* The interrupt is let through here only, so none is lost between a look at the counter and the wait. */
static int wait_irq(void *context) {
  uint32_t before = interrupts;
  (void)context;
  while (interrupts == before) {
    cpu_wait();
    cpu_mask(0);
    cpu_mask(IRQ_DEVICE);
  }
  return 0;
}

const struct vector_bus cpu_bus = {0, read32, write32, read_mem, write_mem, wait_irq};

void cpu_begin(void) { cpu_mask(IRQ_DEVICE); }

void cpu_say(int result, const struct vector_end *end) {
  verdict.tag = end->tag;
  verdict.descriptors = end->descriptors;
  say((uint32_t)result);
}
