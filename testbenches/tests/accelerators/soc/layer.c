/* The pass of a layer on a CPU: what `senbazuru lower` has written, by layer_job.c. */
#include "cpu.h"
#include "layer_job.h"

/* At addresses of the linker script. */
extern const uint8_t memory_file[], results_file[];

int main(void) {
  struct vector_end end = {0};
  int result;
  cpu_begin();
  result = layer_run(&cpu_bus, memory_file, results_file, 1, &end);
  cpu_say(result, &end);
  return 0;
}
