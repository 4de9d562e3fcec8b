/* A CPU beside an accelerator: the way to its registers and to memory, its interrupt, and a verdict for whoever looks at
 * memory. */
#ifndef CPU_H
#define CPU_H

#include "vector_job.h"

/* The way to the accelerator; its interrupt wakes the CPU. Ready after cpu_begin. */
extern const struct vector_bus cpu_bus;

void cpu_begin(void);

/* Leaves how a session ended, and the interrupts that came. */
void cpu_say(int result, const struct vector_end *end);

#endif
