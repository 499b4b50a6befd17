#include "tests/gpu/machine/fault.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tests/gpu/machine/machine.h"

namespace tern::emulator {
namespace {

constexpr size_t kStack = 64 << 10;

thread_local std::string running;
struct sigaction before_segv, before_bus;

// The handler needs its own stack: the fault may be an overflow of a fiber's stack.
void have_stack() {
  thread_local const std::unique_ptr<char[]> stack = [] {
    stack_t old{};
    if (sigaltstack(nullptr, &old) == 0 && (old.ss_flags & SS_DISABLE) == 0) return std::unique_ptr<char[]>();
    auto memory = std::make_unique<char[]>(kStack);
    stack_t mine{};
    mine.ss_sp = memory.get();
    mine.ss_size = kStack;
    sigaltstack(&mine, nullptr);
    return memory;
  }();
}

void handle(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const std::string history = Machine::get().memory.history(address);
  if (running.empty() && history.empty()) {
    const struct sigaction& before = signal == SIGSEGV ? before_segv : before_bus;
    sigaction(signal, &before, nullptr);
    return;  // the instruction faults again, for the handler of before
  }
  std::fprintf(stderr, "emulated GPU: %s touches 0x%llx: %s\n", running.empty() ? "code of the host" : running.c_str(),
               static_cast<unsigned long long>(address),
               history.empty() ? "no address of device memory or pinned memory" : history.c_str());
  if (!running.empty()) {
    std::fputs("emulated GPU: work runs as late as it may; what it uses has to live until it is waited for\n", stderr);
  }
  std::abort();
}

}  // namespace

void install_fault_handler() {
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
}

Running::Running(std::string what)
    : description_(std::move(what)), previous_description_(std::exchange(running, description_)) {
  have_stack();
}
Running::~Running() {
  running = previous_description_;
}

}  // namespace tern::emulator
