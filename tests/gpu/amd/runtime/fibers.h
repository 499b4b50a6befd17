// Runs the threads of a block in turns, each on its own stack, until all threads wait or have ended. Part of run.h.
//
// Hardware executes the lanes of a wave in lockstep, and knows the active lanes. Fibers know only the position where
// each lane waits. So an exchange takes place when no lane of the wave can continue: the active lanes are the lanes
// waiting at the first position of the source (ir/block_order.h). A barrier opens when all running threads of the block
// wait at barriers. Lanes that exchange values through memory without exchange or barrier are not in lockstep.
#include <sys/mman.h>

enum tern_state { kRuns, kExchanges, kAtBarrier, kEnded };

struct tern_fiber {
  void* stack_pointer;
  enum tern_state state;
  uint32_t site;
  uint64_t given[2];  // values offered by a lane
  uint64_t taken[2];  // copies of `given` at the exchange
  uint64_t active;    // the lanes of the exchange
};

enum { kStack = 256 << 10, kPage = 4096 };

static _Thread_local struct {
  struct tern_fiber fibers[kMostThreads];
  void* scheduler;
  char* stacks;
} tern_block;

// Saves the callee-saved registers, and continues on another stack.
__attribute__((naked, noinline)) static void tern_switch(void** from, void* to) {
  __asm__(
      "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
      "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
      "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n retq");
}

static struct tern_fiber* tern_self(void) {
  return &tern_block.fibers[tern_now.linear];
}

static void tern_wait(enum tern_state state, uint32_t site) {
  struct tern_fiber* self = tern_self();
  self->state = state;
  self->site = site;
  tern_switch(&self->stack_pointer, tern_block.scheduler);
}

_Noreturn static void tern_fiber_main(void) {
  tern_now.program->thread(tern_now.launch->parameters);
  tern_wait(kEnded, 0);
  __builtin_unreachable();
}

static void tern_start_fiber(uint32_t thread) {
  struct tern_fiber* fiber = &tern_block.fibers[thread];
  // The six registers of tern_switch, then its return address; at a function's entry the stack is 8 bytes off.
  void** top = (void**)(tern_block.stacks + (size_t)(thread + 1) * kStack) - 8;
  memset(top, 0, 8 * sizeof *top);
  top[6] = (void*)tern_fiber_main;
  fiber->stack_pointer = top;
  fiber->state = kRuns;
}

static void tern_continue(uint32_t thread) {
  tern_set_thread(thread);
  tern_switch(&tern_block.scheduler, tern_block.fibers[thread].stack_pointer);
}

// The lanes waiting at the first exchange; 0 if none.
static uint64_t tern_next_exchange(const struct tern_fiber* wave, uint32_t lanes) {
  uint64_t active = 0;
  uint32_t first = UINT32_MAX;
  for (uint32_t i = 0; i < lanes; ++i) {
    if (wave[i].state != kExchanges || wave[i].site > first) continue;
    if (wave[i].site < first) active = 0;
    first = wave[i].site;
    active |= 1ull << i;
  }
  return active;
}

// Until all lanes of the wave are at a barrier or have ended.
static void tern_run_wave(uint32_t start, uint32_t lanes, bool backwards) {
  struct tern_fiber* wave = &tern_block.fibers[start];
  for (;;) {
    for (uint32_t i = 0; i < lanes; ++i) {
      const uint32_t lane = backwards ? lanes - 1 - i : i;
      if (wave[lane].state == kRuns) tern_continue(start + lane);
    }
    const uint64_t active = tern_next_exchange(wave, lanes);
    if (active == 0) return;
    for (uint32_t i = 0; i < lanes; ++i) {
      if (!(active >> i & 1)) continue;
      memcpy(wave[i].taken, wave[i].given, sizeof wave[i].taken);
      wave[i].active = active;
      wave[i].state = kRuns;
    }
  }
}

// False when all threads have ended.
static bool tern_pass_barrier(uint32_t threads) {
  bool waits = false;
  uint32_t site = 0;
  for (uint32_t t = 0; t < threads; ++t) {
    struct tern_fiber* fiber = &tern_block.fibers[t];
    if (fiber->state != kAtBarrier) continue;
    // "__syncthreads ... in conditional code, only if the condition evaluates identically across the entire thread
    // block"
    if (waits && fiber->site != site) tern_fail("deadlock: threads of a block wait at different barriers");
    waits = true;
    site = fiber->site;
    fiber->state = kRuns;
  }
  return waits;
}

// Number in the grid; an odd block begins backwards.
static uint32_t tern_block_number(void) {
  const uint32_t *block = tern_now.group, *grid = tern_now.launch->grid;
  return block[0] + grid[0] * (block[1] + grid[1] * block[2]);
}

static void tern_run_fibers(uint32_t threads) {
  uint32_t phase = tern_block_number();
  for (uint32_t t = 0; t < threads; ++t) tern_start_fiber(t);
  do {
    // Alternates forwards and backwards: a kernel with a missing barrier reads unwritten memory.
    const bool backwards = phase++ % 2 != 0;
    const uint32_t waves = (threads + kWave - 1) / kWave;
    for (uint32_t i = 0; i < waves; ++i) {
      const uint32_t start = (backwards ? waves - 1 - i : i) * kWave;
      tern_run_wave(start, threads - start < kWave ? threads - start : kWave, backwards);
    }
  } while (tern_pass_barrier(threads));
}

static void tern_make_stacks(uint32_t threads) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  tern_block.stacks = (char*)mmap(NULL, (size_t)threads * kStack, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (tern_block.stacks == MAP_FAILED) tern_fail("the host has no memory for the stacks of its threads");
  for (uint32_t t = 0; t < threads; ++t) mprotect(tern_block.stacks + (size_t)t * kStack, kPage, PROT_NONE);
}
static void tern_remove_stacks(uint32_t threads) {
  munmap(tern_block.stacks, (size_t)threads * kStack);
}

void tern_amdgcn_s_barrier(uint32_t site) {
  tern_wait(kAtBarrier, site);
}
