// Runs the blocks of a grid, one after the other; and a thread's requests to the machine.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "tests/gpu/fibers/fibers.h"
#include "tests/gpu/ptx/device/counting.h"
#include "tests/gpu/ptx/device/device.h"

namespace {

// Makes reads of unwritten memory visible.
constexpr int kPoison = 0xa5;

// Shared memory ending at an inaccessible page, so that generic addresses past the end fault.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    usable_ = (bytes + page - 1) / page * page;
    mapped_bytes_ = usable_ + 2 * page;
    start_ = static_cast<char*>(mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (start_ == MAP_FAILED || (usable_ && mprotect(start_ + page, usable_, PROT_READ | PROT_WRITE))) {
      std::perror("shared memory of an emulated GPU");
      std::abort();
    }
    // Aligned to 1024 bytes like the hardware's, and as near to the end as possible.
    data_ = start_ + page + (usable_ - (bytes + 1023) / 1024 * 1024);
  }
  ~SharedMemory() { munmap(start_, mapped_bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  char* data() const { return data_; }

 private:
  char *start_, *data_;
  std::size_t usable_, mapped_bytes_;
};

struct Block {
  const tern_emulated_launch* launch;
  const tern_ptx_kernel* kernel;
  void (*body)(tern_thread*);
  tern_thread first;  // the block's values shared by all threads
};

void run_thread(void* user, uint32_t index) {
  const Block& block = *static_cast<const Block*>(user);
  tern_thread thread = block.first;
  thread.index = index;
  thread.thread[0] = index % thread.threads[0];
  thread.thread[1] = index / thread.threads[0] % thread.threads[1];
  thread.thread[2] = index / thread.threads[0] / thread.threads[1];
  block.body(&thread);
  tern_ptx_copy_end(&thread);
  if (thread.counting) static_cast<tern::emulated::Counting*>(thread.counting)->end_thread(thread);
}

void say_deadlock(void* user, const char* why) {
  Block& block = *static_cast<Block*>(user);
  tern_ptx_trap(&block.first, 0, why);
}

// TERN_EMULATOR_ORDER=reverse runs the last threads and blocks first: exposes dependence on order.
bool reversed() {
  const char* order = std::getenv("TERN_EMULATOR_ORDER");
  return order && std::strcmp(order, "reverse") == 0;
}

std::string numbers(const u32 (&of)[3]) {
  return "(" + std::to_string(of[0]) + ", " + std::to_string(of[1]) + ", " + std::to_string(of[2]) + ")";
}

}  // namespace

extern "C" {

void tern_ptx_run(const tern_emulated_launch* launch, const tern_ptx_kernel* kernel, void (*body)(tern_thread*)) {
  const std::uint64_t threads = std::uint64_t{launch->block[0]} * launch->block[1] * launch->block[2];
  const std::uint64_t blocks = std::uint64_t{launch->grid[0]} * launch->grid[1] * launch->grid[2];
  const std::uint64_t align = kernel->dynamic_align;
  const std::uint64_t dynamic =
      launch->local_bytes ? (kernel->shared_bytes + align - 1) / align * align : kernel->shared_bytes;
  Block block{launch, kernel, body, {}};
  tern_thread& first = block.first;
  first.parameters = launch->parameters;
  first.kernel = kernel;
  first.launch = launch;
  first.dynamic_shared = static_cast<u32>(dynamic);
  first.shared_bytes = static_cast<u32>(dynamic) + launch->local_bytes;
  std::copy_n(launch->block, 3, first.threads);
  std::copy_n(launch->grid, 3, first.blocks);
  if (kernel->most_threads && threads > kernel->most_threads) {
    const std::string why =
        "a block of " + std::to_string(threads) + " threads; .maxntid allows " + std::to_string(kernel->most_threads);
    tern_ptx_trap(&first, 0, why.c_str());
  }
  const SharedMemory shared(first.shared_bytes);
  first.shared = shared.data();
  std::optional<tern::emulated::Counting> counting;
  if (launch->counts) first.counting = &counting.emplace(*launch->counts, blocks);
  const bool backwards = reversed();
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t at = backwards ? blocks - 1 - i : i;
    if (counting && !counting->must_run(at)) continue;
    if (counting) counting->begin_block(at);
    first.block[0] = static_cast<u32>(at % first.blocks[0]);
    first.block[1] = static_cast<u32>(at / first.blocks[0] % first.blocks[1]);
    first.block[2] = static_cast<u32>(at / first.blocks[0] / first.blocks[1]);
    std::memset(first.shared, kPoison, first.shared_bytes);
    if (kernel->uses_groups) {
      const tern_fibers fibers{static_cast<u32>(threads), 32, backwards, run_thread, say_deadlock, &block};
      tern_fibers_run(&fibers);
    } else {
      for (std::uint64_t t = 0; t < threads; ++t) run_thread(&block, static_cast<u32>(backwards ? threads - 1 - t : t));
    }
    if (counting) counting->end_block();
  }
  if (counting) counting->finish();
}

void tern_ptx_trap(tern_thread* thread, int line, const char* why) {
  std::string text = why;
  if (line) {
    text += " at PTX line " + std::to_string(line);
    text += ", thread " + numbers(thread->thread) + " of block " + numbers(thread->block);
  }
  const tern_emulated_services* services = thread->launch->services;
  if (services && services->trap) services->trap(thread->launch->machine, thread->kernel->name, text.c_str());
  std::fprintf(stderr, "kernel %s: %s\n", thread->kernel->name, text.c_str());
  std::abort();
}

void tern_ptx_bad_address(tern_thread* thread, int line, const char* space, u64 address, u32 bytes) {
  char text[256];
  const bool shared = std::strcmp(space, "shared") == 0;
  const char* why = address % bytes ? "not aligned to its size"
                    : shared        ? "outside of the block's memory"
                                    : "null or nearly so";
  const int length = std::snprintf(text, sizeof text, "an access of %u bytes to %s address 0x%llx, which is %s", bytes,
                                   space, static_cast<unsigned long long>(address), why);
  if (shared)
    std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), " (it has %u bytes)",
                  thread->shared_bytes);
  tern_ptx_trap(thread, line, text);
}

void tern_ptx_assertion(tern_thread* thread, int line, u64 message, u64 file, u32 at, u64 function) {
  const std::string text = "assertion '" + std::string(reinterpret_cast<const char*>(message)) + "' failed in " +
                           reinterpret_cast<const char*>(function) + ", " + reinterpret_cast<const char*>(file) + ":" +
                           std::to_string(at) + ",";
  tern_ptx_trap(thread, line, text.c_str());
}

u64 tern_ptx_nanoseconds(void) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

u64 tern_ptx_clock(void) {
  return tern_ptx_nanoseconds();
}

void tern_ptx_set_conditional(tern_thread* thread, u64 handle, u32 value) {
  const tern_emulated_services* services = thread->launch->services;
  if (!services || !services->set_conditional) tern_ptx_trap(thread, 0, "cudaGraphSetConditional outside of a graph");
  services->set_conditional(thread->launch->machine, handle, value);
}

void tern_ptx_pause(tern_thread* thread) {
  // Spinning threads yield now and then; most callers do not spin.
  static thread_local unsigned calls = 0;
  if (thread->kernel->uses_groups && ++calls % 64 == 0) tern_fibers_yield();
}

}  // extern "C"
