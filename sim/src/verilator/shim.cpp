// C interface between a verilated model and the Rust crate `sim`. One copy is compiled with each model.
//
// The build defines: SNB_PORTS(X) as X(member) for every port, and SNB_CLOCK as the member name of the clock if there is one.
// All symbols but `senbazuru_api` are hidden and the runtime is linked in, so models in one process share no state.

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "Vmodel.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif
#if VM_TRACE_FST
#include "verilated_fst_c.h"
using TraceFile = VerilatedFstC;
#elif VM_TRACE
#include "verilated_vcd_c.h"
using TraceFile = VerilatedVcdC;
#endif

namespace {

// Mirrored in model.rs.
enum Status : uint32_t { STOPPED = 1, FINISHED = 2, DEAD = 4 };

struct Instance {
    std::unique_ptr<VerilatedContext> context{new VerilatedContext};
    std::unique_ptr<Vmodel> model;
    uint32_t status = 0;
    std::string log;
    uint64_t cycle = 0;
#if VM_TRACE
    std::unique_ptr<TraceFile> trace;
#endif
};

// The runtime's call-backs carry no instance. Rust calls `bind` before a thread uses an instance that it did not use last.
thread_local Instance* t_current = nullptr;

void report(uint32_t flag, const char* what, const char* file, int line) {
    if (!t_current) return;
    t_current->status |= flag;
    if (file && file[0]) {
        t_current->log += std::string(file) + ":" + std::to_string(line) + ": ";
    }
    t_current->log += std::string(what) + "\n";
}

// A fatal error leaves the model in the middle of an evaluation; it cannot be used again.
template <typename F> uint32_t guarded(Instance* self, F&& body) {
    if (self->status & DEAD) return self->status;
    try {
        body();
    } catch (const std::exception& error) {
        self->status |= DEAD | STOPPED;
        self->log += std::string(error.what()) + "\n";
    }
    return self->status;
}

// Writes the present values to the waveform.
void dump(Instance* self) {
#if VM_TRACE
    if (self->trace) self->trace->dump(self->context->time());
#endif
}

// Time is 10 units a cycle: the rising edge that begins cycle k is at 10k, the falling edge, where its inputs appear, at
// 10k + 5. The low phase may be evaluated several times, so it is written only when the next edge ends it.
void eval_low(Instance* self) {
#ifdef SNB_CLOCK
    self->context->time(10 * self->cycle + 5);
    self->model->SNB_CLOCK = 0;
    self->model->eval();
#else
    self->context->time(10 * ++self->cycle);
    self->model->eval();
    dump(self);
#endif
}

void eval_high(Instance* self) {
#ifdef SNB_CLOCK
    dump(self);
    self->context->time(10 * ++self->cycle);
    self->model->SNB_CLOCK = 1;
    self->model->eval();
    dump(self);
#endif
}

Instance* create(uint32_t random, uint32_t seed) {
    Instance* self = new Instance;
    t_current = self;
    self->context->threads(1);
    self->context->randReset(random ? 2 : 0);
    if (random) self->context->randSeed(static_cast<int>(seed));
#if VM_TRACE
    self->context->traceEverOn(true);
#endif
    guarded(self, [&] { self->model.reset(new Vmodel{self->context.get(), "TOP"}); });
    return self;
}

void trace_close(Instance* self) {
#if VM_TRACE
    if (!self->trace) return;
#ifdef SNB_CLOCK
    self->context->time(10 * self->cycle + 5);
    dump(self);
#endif
    self->trace->close();
    self->trace.reset();
#endif
}

void destroy(Instance* self) {
    trace_close(self);
    guarded(self, [&] {
        if (self->model) self->model->final();
    });
    self->model.reset();
    if (t_current == self) t_current = nullptr;
    Verilated::threadContextp(Verilated::defaultContextp());
    delete self;
}

void bind(Instance* self) {
    t_current = self;
    Verilated::threadContextp(self->context.get());
}

void ports(Instance* self, void** out) {
#define SNB_ADDRESS(member) *out++ = &self->model->member;
    SNB_PORTS(SNB_ADDRESS)
#undef SNB_ADDRESS
}

uint32_t settle(Instance* self) {
    return guarded(self, [&] { eval_low(self); });
}

uint32_t rise(Instance* self) {
    return guarded(self, [&] { eval_high(self); });
}

// Runs until `count` cycles are done or the design stops; `done` receives the number of rising edges.
uint32_t cycles(Instance* self, uint64_t count, uint64_t* done) {
    *done = 0;
    return guarded(self, [&] {
        while (*done < count && !self->status) {
            eval_low(self);
            eval_high(self);
            ++*done;
        }
    });
}

const char* log_text(Instance* self) { return self->log.c_str(); }

void clear(Instance* self) {
    self->log.clear();
    self->status &= DEAD;
}

int32_t trace_open(Instance* self, const char* path) {
#if VM_TRACE
    if (self->trace) return 0;
    self->trace.reset(new TraceFile);
    self->model->trace(self->trace.get(), 99);
    self->trace->open(path);
    if (self->trace->isOpen()) return 1;
    self->trace.reset();
#endif
    return 0;
}

int32_t coverage_write(Instance* self, const char* path) {
#if VM_COVERAGE
    self->context->coveragep()->write(path);
    return 1;
#else
    return 0;
#endif
}

// Only models of the native engine have them.
void arrays(Instance*, void**) {}

struct Api {
    Instance* (*create)(uint32_t, uint32_t);
    void (*destroy)(Instance*);
    void (*bind)(Instance*);
    void (*ports)(Instance*, void**);
    uint32_t (*settle)(Instance*);
    uint32_t (*rise)(Instance*);
    uint32_t (*cycles)(Instance*, uint64_t, uint64_t*);
    const char* (*log)(Instance*);
    void (*clear)(Instance*);
    int32_t (*trace_open)(Instance*, const char*);
    void (*trace_close)(Instance*);
    int32_t (*coverage_write)(Instance*, const char*);
    void (*arrays)(Instance*, void**);
};

}  // namespace

// Replacements for the runtime's call-backs, which would end the process or write to standard output.

void vl_finish(const char* file, int line, const char*) VL_MT_UNSAFE { report(FINISHED, "$finish", file, line); }

void vl_stop(const char* file, int line, const char*) VL_MT_UNSAFE { report(STOPPED, "$stop", file, line); }

void vl_warn(const char* file, int line, const char*, const char* message) VL_MT_UNSAFE { report(0, message, file, line); }

// The caller would run on (for ever, when logic does not converge), so this leaves the evaluation by an exception.
void vl_fatal(const char* file, int line, const char*, const char* message) VL_MT_UNSAFE {
    report(STOPPED, "", file, line);
    throw std::runtime_error(message ? message : "fatal error");
}

extern "C" int senbazuru_print(const char* format, ...) {
    char text[4096];
    va_list args;
    va_start(args, format);
    const int length = std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (t_current && t_current->log.size() < (1 << 20)) t_current->log += text;
    return length;
}

extern "C" __attribute__((visibility("default"))) const Api* senbazuru_api() {
    static const Api api = {create, destroy, bind,  ports,      settle,      rise,
                            cycles, log_text, clear, trace_open, trace_close, coverage_write, arrays};
    return &api;
}
