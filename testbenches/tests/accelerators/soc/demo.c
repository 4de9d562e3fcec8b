/* The session of vector_job.c on a CPU. */
#include "cpu.h"

/* At an address of the linker script. */
extern uint8_t demo[];

int main(void) {
  struct vector_end end;
  int result;
  cpu_begin();
  /* One look at STATUS behind each interrupt: the job has ended. */
  result = vector_demo(&cpu_bus, (uintptr_t)demo, 1, &end);
  cpu_say(result, &end);
  return 0;
}
