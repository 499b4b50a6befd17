// Runs work: the operations of a stream in order, and before a wait the awaited work.
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/gpu/machine/fault.h"
#include "tests/gpu/machine/machine.h"
#include "tests/gpu/machine/pointer.h"
#include "tests/gpu/machine/settings.h"

namespace tern::emulator {
namespace {

template <class... F>
struct Match : F... {
  using F::operator()...;
};
template <class... F>
Match(F...) -> Match<F...>;

void set_conditional(void* machine, uint64_t handle, uint32_t value) {
  static_cast<Machine*>(machine)->set_condition(handle, value);
}

void trap(void* /*machine*/, const char* kernel, const char* why) {
  fatal("kernel %s: %s", kernel, why);
}

// True for a kernel that waits for other processes; meanwhile other threads may call the API, as with a real device.
bool waits(const Launch& launch) {
  return std::strcmp(launch.function->kernel->name, "stand_in_collective") == 0;
}

constexpr tern_emulated_services kServices = {set_conditional, trap};

// The counted clock: duration of work on a simple model device, in microseconds.
uint64_t duration(const Work& work) {
  if (const auto* copy = std::get_if<Copy>(&work)) return 1 + copy->bytes / 50000;
  if (const auto* fill = std::get_if<Fill>(&work)) return 1 + fill->count * fill->element / 1000000;
  const auto& launch = std::get<Launch>(work);
  return 2 + uint64_t{1} * launch.grid[0] * launch.grid[1] * launch.grid[2] / 132;
}

}  // namespace

void Machine::run_all(Stream& stream) {
  while (!stream.queue.empty() || stream.running) run_one(stream);
}

void Machine::run_until(const std::shared_ptr<Record>& record) {
  const std::shared_ptr<Stream> stream = record->stream;  // running may release the record's reference
  while (!record->is_complete) {
    if (stream->queue.empty() && !stream->running) fatal("work waits for an event of a context that was destroyed");
    run_one(*stream);
  }
}

// The lock is held only once: no API function calls another API function that runs work.
void Machine::give_way() {
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  lock.lock();
}

void Machine::run_one_beside(const std::shared_ptr<Stream>& stream) {
  if (stream->running) return;
  const auto* const work = stream->queue.empty() ? nullptr : std::get_if<Work>(&stream->queue.front());
  const auto* const launch = work == nullptr ? nullptr : std::get_if<Launch>(work);
  if (launch == nullptr || !waits(*launch)) return run_one(*stream);
  std::thread([this, stream] {
    const std::lock_guard guard(lock);
    if (!stream->running && !stream->queue.empty()) run_one(*stream);
  }).detach();
}

void Machine::run_one(Stream& stream) {
  if (stream.running) return give_way();  // another thread runs the stream
  stream.running = true;
  Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  std::visit(Match{[&](const Work& work) { run(work); },
                   [&](const Signal& signal) {
                     signal.record->is_complete = true;
                     signal.record->time = ++clock_;
                     signal.record->stream = nullptr;
                   },
                   [&](const Wait& wait) { run_until(wait.record); },
                   [&](const GraphRun& graph) {
                     for (const auto& condition : graph.executable->conditions) {
                       condition->defined = condition->assign;
                       condition->value = condition->first;
                     }
                     running_ = graph.executable.get();
                     running_launch_ = graph.number;
                     run(*graph.graph, *graph.executable);
                     running_ = nullptr;
                   }},
             operation);
  stream.running = false;
  if (stream.queue.empty()) {
    std::erase_if(orphans_, [&](const auto& orphan) { return orphan.get() == &stream; });
  }
}

void Machine::run(const Work& work) {
  const Running running(text(work));
  if (settings().protect) memory.open();
  clock_ += duration(work);
  if (const auto* launch = std::get_if<Launch>(&work)) {
    run_launch(*launch);
  } else if (const auto* copy = std::get_if<Copy>(&work)) {
    run_copy(*copy);
  } else {
    const Fill& fill = std::get<Fill>(work);
    const std::string wrong = memory.wrong(fill.target, fill.count * fill.element);
    if (!wrong.empty()) fatal("%s runs after its memory was given up: %s", text(work).c_str(), wrong.c_str());
    for (uint64_t i = 0; i < fill.count; ++i) {
      std::memcpy(pointer(fill.target) + i * fill.element, &fill.value, fill.element);
    }
    counters.figures.bytes_set += fill.count * fill.element;
  }
  if (settings().protect) memory.close();
}

void Machine::run_launch(const Launch& launch) {
  const tern_emulated_kernel& kernel = *launch.function->kernel;
  if (!launch.module->loaded) fatal("kernel %s runs after its module was unloaded", kernel.name);
  tern_emulated_launch call{};
  call.parameters = launch.parameters.data();
  for (int i = 0; i < 3; ++i) {
    call.grid[i] = launch.grid[i];
    call.block[i] = launch.block[i];
  }
  call.local_bytes = launch.local_bytes;
  call.services = &kServices;
  call.machine = this;
  counters.launch(kernel.name);
  if (counted.is_enabled()) return counted.run(launch, call, running_ != nullptr, memory);
  const bool others = waits(launch);
  if (others) lock.unlock();
  kernel.run(&call);
  if (others) lock.lock();
}

void Machine::run_copy(const Copy& copy) {
  auto check = [&](uint64_t address, const char* which) {
    const std::string wrong = memory.wrong(address, copy.bytes);
    if (!wrong.empty()) fatal("%s runs after its %s was given up: %s", text(copy).c_str(), which, wrong.c_str());
  };
  check(copy.target, "destination");
  if (!copy.staged) check(copy.source, "source");
  const void* from = copy.staged ? copy.staged->data() : pointer(copy.source);
  std::memmove(pointer(copy.target), from, copy.bytes);
  switch (copy.direction) {
    case Direction::in: counters.copy_in(copy.bytes); break;
    case Direction::out: counters.copy_out(copy.bytes); break;
    case Direction::device_to_device: counters.figures.bytes_over += copy.bytes; break;
  }
}

}  // namespace tern::emulator
