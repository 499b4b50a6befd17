// Contexts: creation, the current context of a thread, and destruction with all owned objects.
#include <deque>
#include <mutex>
#include <vector>

#include "tests/gpu/machine/machine.h"
#include "tests/gpu/machine/settings.h"

namespace tern::emulator {
namespace {

constexpr unsigned kMultiprocessors = 132;  // number of an H100

/// The contexts of this thread. Other thread-local objects may call the driver during their destruction, so the stacks
/// outlive all threads, like a driver's.
std::vector<std::shared_ptr<Context>>& stack() {
  static std::mutex mutex;
  static auto& all = *new std::deque<std::vector<std::shared_ptr<Context>>>;
  thread_local std::vector<std::shared_ptr<Context>>* const own = [] {
    const std::lock_guard lock(mutex);
    return &all.emplace_back();
  }();
  return *own;
}

}  // namespace

Machine& Machine::get() {
  static Machine* machine = new Machine;
  return *machine;
}

Machine::Machine() = default;

void Machine::initialize() {
  if (settings().devices == 0) refuse(Status::no_device, "TERN_EMULATOR_DEVICES is 0");
  initialized_ = true;
}

int Machine::check_device(int device) const {
  if (device < 0 || device >= settings().devices) {
    refuse(Status::invalid_device, "device %d of %d", device, settings().devices);
  }
  return device;
}

uint64_t Machine::retain_primary(int device) {
  check_device(device);
  // CUDA_ERROR_DEVICE_UNAVAILABLE: "Devices are often unavailable due to use of CU_COMPUTEMODE_EXCLUSIVE_PROCESS or
  // CU_COMPUTEMODE_PROHIBITED."
  if (("," + settings().busy + ",").find("," + std::to_string(device) + ",") != std::string::npos)
    refuse(Status::device_unavailable, "another process uses device %d exclusively", device);
  std::shared_ptr<Context>& primary = primaries_[device];
  if (!primary) {
    primary = std::make_shared<Context>();
    primary->device = device;
    primary->resources.multiprocessors = kMultiprocessors;
    primary->handle = contexts_.add(primary);
  }
  ++primary->retained;
  return primary->handle;
}

// cuDevicePrimaryCtxRelease: "Releasing a primary context that has not been previously retained will fail with
// CUDA_ERROR_INVALID_CONTEXT"; "The context is automatically reset once the last reference to it is released"; "this
// method does not pop the context from stack in any circumstances."
void Machine::release_primary(int device) {
  auto at = primaries_.find(check_device(device));
  if (at == primaries_.end()) refuse(Status::invalid_context, "the primary context is not retained");
  if (--at->second->retained != 0) return;
  std::shared_ptr<Context> primary = at->second;
  primaries_.erase(at);
  end_context(*primary);
}

// A reset destroys all objects of the context. Pending work never runs: its results are invisible.
void Machine::end_context(Context& context) {
  auto count = [&](const char* what, uint64_t number) {
    if (number != 0) counters.leaked[what] += number;
  };
  auto of_context = [&](const auto& object) { return object.context && same_primary(*object.context, context); };
  for (const auto& stream : streams_.objects()) {
    if (of_context(*stream)) stream->queue.clear(), stream->capture = nullptr;
  }
  std::erase_if(orphans_, [&](const auto& stream) { return of_context(*stream); });
  count("streams", streams_.remove_if(of_context));
  count("events", events_.remove_if(of_context));
  for (const auto& module : modules_.objects()) {
    if (of_context(*module)) module->loaded = false;
  }
  count("modules", modules_.remove_if(of_context));
  functions_.remove_if([](const Function& function) { return function.module.expired(); });
  count("allocations", memory.free_all(context));
  count("parts", partitions_.remove_if([&](const Context& part) { return same_primary(part, context); }));
  contexts_.remove_if([&](Context& other) {
    if (!same_primary(other, context)) return false;
    other.alive = false;
    return true;
  });
}

std::shared_ptr<Context> Machine::context(uint64_t handle) const {
  if (!contexts_.live(handle) && kind_of(handle) == static_cast<uint64_t>(Kind::context)) {
    refuse(Status::context_destroyed, "the context was destroyed earlier");
  }
  try {
    return contexts_.get(handle);
  } catch (Failure& failure) {
    failure.status = Status::invalid_context;
    throw;
  }
}

void Machine::set_current(uint64_t handle) {
  // cuCtxSetCurrent: "If there exists a CUDA context stack on the calling CPU thread, this will replace the top of that
  // stack with ctx. If ctx is NULL then this will be equivalent to popping the top of the calling CPU thread's CUDA
  // context stack (or a no-op if the calling CPU thread's CUDA context stack is empty)."
  const std::shared_ptr<Context> next = handle == 0 ? nullptr : context(handle);
  if (!stack().empty()) stack().pop_back();
  if (next) stack().push_back(next);
}

void Machine::push_current(uint64_t handle) {
  stack().push_back(context(handle));
}

uint64_t Machine::pop_current() {
  if (stack().empty()) refuse(Status::invalid_context, "this thread has no context to pop");
  const uint64_t handle = stack().back()->handle;
  stack().pop_back();
  return handle;
}

uint64_t Machine::current_or_null() const {
  return stack().empty() ? 0 : stack().back()->handle;
}

std::shared_ptr<Context> Machine::current() const {
  if (stack().empty()) refuse(Status::invalid_context, "no context is current on this thread");
  if (!stack().back()->alive)
    refuse(Status::context_destroyed, "the context that is current on this thread is destroyed");
  return stack().back();
}

// cuGreenCtxCreate: "This API will retain the primary context on device dev, which will is released when the green
// context is destroyed."
uint64_t Machine::create_partition(int device, const Descriptor& of) {
  auto part = std::make_shared<Context>();
  part->primary = context(retain_primary(device));
  part->device = device;
  part->resources = of;
  part->handle = contexts_.add(part);
  part->green_handle = partitions_.add(part);
  return part->green_handle;
}

// cuGreenCtxDestroy: "The API does not destroy streams [...] Once the green context is destroyed, any subsequent API
// calls involving these streams will return CUDA_ERROR_STREAM_DETACHED with the exception of [...] cuStreamDestroy.
// Additionally, the API will invalidate all active captures on these streams."
void Machine::destroy_partition(uint64_t handle) {
  if (kind_of(handle) == static_cast<uint64_t>(Kind::partition) && !partitions_.live(handle)) {
    refuse(Status::context_destroyed, "the green context was destroyed earlier");
  }
  const std::shared_ptr<Context> part = partitions_.remove(handle);
  for (const auto& stream : streams_.objects()) {
    if (stream->context != part) continue;
    stream->detached = true;
    if (stream->capture) invalidate(*stream->capture, "its green context was destroyed");
  }
  contexts_.remove(part->handle);
  part->alive = false;
  release_primary(part->device);
}

uint64_t Machine::add_descriptor(const Descriptor& of) {
  return descriptors_.add(std::make_shared<Descriptor>(of));
}

void Machine::count() {
  tern_emulator_figures& figures = counters.figures;
  figures.contexts = contexts_.size();
  figures.streams = streams_.size();
  figures.events = events_.size();
  figures.modules = modules_.size();
  figures.graphs = 0;
  for (const auto& graph : graphs_.objects()) figures.graphs += graph->owned ? 0 : 1;
  figures.executables = executables_.size();
  figures.queued = 0;
  for (const auto& stream : streams_.objects()) figures.queued += stream->queue.size();
  for (const auto& stream : orphans_) figures.queued += stream->queue.size();
}

}  // namespace tern::emulator
