// Follows Apple's documentation of Metal 4: no automatic retention or ordering, and kernels reach only the residency
// sets of the queue.
#include "tests/gpu/metal/metal4.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <set>

#include "tests/gpu/metal/bindings.h"
#include "tests/gpu/metal/block.h"
#include "tests/gpu/metal/buffer.h"
#include "tests/gpu/metal/classes.h"
#include "tests/gpu/metal/foundation.h"
#include "tests/gpu/metal/shared_event.h"
#include "tests/gpu/metal/system.h"

namespace tern::emulator::metal {
namespace {

using ull = unsigned long long;
constexpr std::uint64_t kDispatchAndBlit = 1ull << 27 | 1ull << 28;  // MTLStageDispatch, MTLStageBlit

struct ResidencySet : Object {
  ResidencySet();
  void add(Object* buffer) { next.emplace(static_cast<Buffer*>(buffer)->address, Ref(static_cast<Buffer*>(buffer))); }
  void remove(Object* buffer) { next.erase(static_cast<Buffer*>(buffer)->address); }
  // Changes count from here on.
  void commit() { now = next; }
  bool contains(std::uint64_t address) const {
    const auto after = now.upper_bound(address);
    if (after == now.begin()) return false;
    const Buffer& buffer = *std::prev(after)->second.get();
    return address < buffer.address + buffer.bytes;
  }
  std::map<std::uint64_t, Ref<Buffer>> next, now;  // keyed by host address
};

struct Allocator : Object {
  Allocator();
  // All its command buffers must have finished.
  void reset();
  std::uint64_t running = 0, open = 0;
};

struct ArgumentTable : Object {
  ArgumentTable();
  void set_address(std::uint64_t address, std::uint64_t index) {
    if (index >= addresses.size()) fatal("setAddress: index %llu; the table has 31", static_cast<ull>(index));
    addresses[index] = address;
  }
  std::array<std::uint64_t, shim::kBuffers> addresses{};
};

struct TableDescriptor : Object {
  TableDescriptor();
  Object* init() { return this; }
  void set_count(std::uint64_t value) { count = value; }
  std::uint64_t count = 0;
};

struct SetDescriptor : Object {
  SetDescriptor();
  Object* init() { return this; }
};

struct LaunchAt {
  Launch launch;
  std::vector<std::uint64_t> addresses;  // host addresses that must be resident
};
struct CopyAt {
  std::uint64_t target, source, bytes;
};
// Commands between two barriers, executable in any order.
using Group = std::vector<std::variant<LaunchAt, CopyAt>>;

struct CommandBuffer4 : Object {
  CommandBuffer4();
  void begin(Object* given);
  Object* encoder();
  void end();

  Ref<Allocator> allocator;  // held from begin to the next begin
  Object* open = nullptr;
  enum class State { fresh, recording, ended } state = State::fresh;
  std::vector<Group> groups;
};

struct ComputeEncoder4 : Object {
  explicit ComputeEncoder4(CommandBuffer4& buffer);
  ~ComputeEncoder4() {
    if (open) fatal("an encoder is released that was not ended (endEncoding)");
  }
  void end();
  void barrier_after_queue(std::uint64_t after, std::uint64_t before, std::uint64_t visibility);
  void barrier(std::uint64_t after, std::uint64_t before, std::uint64_t visibility);
  void set_table(Object* given) { table = Ref(static_cast<ArgumentTable*>(given)); }
  void set_pipeline(Object* given) { pipeline = Ref(static_cast<Pipeline*>(given)); }
  void dispatch(Size threads, Size group);
  void copy(Object* from, std::uint64_t from_offset, Object* to, std::uint64_t to_offset, std::uint64_t bytes);
  Group& group();

  Ref<CommandBuffer4> buffer;
  bool open = true, ordered = false;
  Ref<ArgumentTable> table;
  Ref<Pipeline> pipeline;
};

struct CommitOptions : Object {
  CommitOptions();
  ~CommitOptions() {
    if (block != nullptr) end_block(block);
  }
  Object* init() { return this; }
  void add_handler(const Block* given) {
    if (block != nullptr) fatal("addFeedbackHandler: the stand-in keeps one handler");
    block = copy_block(given);
  }
  Block* block = nullptr;
};

struct CommitFeedback : Object {
  CommitFeedback(std::string failure, double begin, double end);
  Object* error() {
    Object* made = nullptr;
    if (!failure.empty()) give_error(&made, failure);
    return made;
  }
  double begin_time() { return begin; }
  double end_time() { return end; }
  std::string failure;
  double begin, end;
};

// A possibly unfinished commit.
struct Commit {
  std::uint64_t begin, end;  // events of the machine
  std::string failure;
  Block* handler;  // null: none
  std::vector<Ref<Allocator>> allocators;
};

struct Queue4 : Object {
  explicit Queue4(int device);
  ~Queue4();
  void add_set(Object* set) { sets.emplace_back(static_cast<ResidencySet*>(set)); }
  void commit(Object* const* buffers, std::uint64_t count, Object* options);
  void signal(Object* event, std::uint64_t value);
  void wait(Object* event, std::uint64_t value);
  void submit(const CommandBuffer4& buffer);
  std::uint64_t new_event() const { return Machine::get().create_event(context_of(device), 0, true); }
  std::uint64_t recorded() const {
    const std::uint64_t event = new_event();
    Machine::get().record(event, stream);
    return event;
  }
  void feedback();

  int device;
  std::uint64_t stream;
  std::vector<Ref<ResidencySet>> sets;
  std::deque<Commit> commits;
};

std::set<Queue4*>& queues() {
  static auto& all = *std::make_unique<std::set<Queue4*>>().release();
  return all;
}

template <class T>
Class& create_class(const char* name, std::map<std::string, Imp> methods) {
  return make_class(name, destroy<T>, std::move(methods));
}

ResidencySet::ResidencySet()
    : Object([]() -> Class& {
        static Class& type =
            create_class<ResidencySet>("MTLResidencySet", {{"addAllocation:", method<&ResidencySet::add>()},
                                                           {"removeAllocation:", method<&ResidencySet::remove>()},
                                                           {"commit", method<&ResidencySet::commit>()}});
        return type;
      }()) {}
Allocator::Allocator()
    : Object([]() -> Class& {
        static Class& type = create_class<Allocator>("MTL4CommandAllocator", {{"reset", method<&Allocator::reset>()}});
        return type;
      }()) {}
ArgumentTable::ArgumentTable()
    : Object([]() -> Class& {
        static Class& type = create_class<ArgumentTable>(
            "MTL4ArgumentTable", {{"setAddress:atIndex:", method<&ArgumentTable::set_address>()}});
        return type;
      }()) {}
TableDescriptor::TableDescriptor()
    : Object([]() -> Class& {
        static Class& type = create_class<TableDescriptor>(
            "MTL4ArgumentTableDescriptor", {{"init", method<&TableDescriptor::init>()},
                                            {"setMaxBufferBindCount:", method<&TableDescriptor::set_count>()}});
        return type;
      }()) {}
SetDescriptor::SetDescriptor()
    : Object([]() -> Class& {
        static Class& type =
            create_class<SetDescriptor>("MTLResidencySetDescriptor", {{"init", method<&SetDescriptor::init>()}});
        return type;
      }()) {}
CommandBuffer4::CommandBuffer4()
    : Object([]() -> Class& {
        static Class& type = create_class<CommandBuffer4>(
            "MTL4CommandBuffer", {{"beginCommandBufferWithAllocator:", method<&CommandBuffer4::begin>()},
                                  {"computeCommandEncoder", method<&CommandBuffer4::encoder>()},
                                  {"endCommandBuffer", method<&CommandBuffer4::end>()}});
        return type;
      }()) {}
ComputeEncoder4::ComputeEncoder4(CommandBuffer4& buffer)
    : Object([]() -> Class& {
        static Class& type = create_class<ComputeEncoder4>(
            "MTL4ComputeCommandEncoder",
            {{"endEncoding", method<&ComputeEncoder4::end>()},
             {"barrierAfterQueueStages:beforeStages:visibilityOptions:",
              method<&ComputeEncoder4::barrier_after_queue>()},
             {"barrierAfterEncoderStages:beforeEncoderStages:visibilityOptions:", method<&ComputeEncoder4::barrier>()},
             {"setArgumentTable:", method<&ComputeEncoder4::set_table>()},
             {"setComputePipelineState:", method<&ComputeEncoder4::set_pipeline>()},
             {"dispatchThreads:threadsPerThreadgroup:", method<&ComputeEncoder4::dispatch>()},
             {"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", method<&ComputeEncoder4::copy>()}});
        return type;
      }()),
      buffer(&buffer) {}
CommitOptions::CommitOptions()
    : Object([]() -> Class& {
        static Class& type = create_class<CommitOptions>(
            "MTL4CommitOptions",
            {{"init", method<&CommitOptions::init>()}, {"addFeedbackHandler:", method<&CommitOptions::add_handler>()}});
        return type;
      }()) {}
CommitFeedback::CommitFeedback(std::string failure, double begin, double end)
    : Object([]() -> Class& {
        static Class& type =
            create_class<CommitFeedback>("MTL4CommitFeedback", {{"error", method<&CommitFeedback::error>()},
                                                                {"GPUStartTime", method<&CommitFeedback::begin_time>()},
                                                                {"GPUEndTime", method<&CommitFeedback::end_time>()}});
        return type;
      }()),
      failure(std::move(failure)),
      begin(begin),
      end(end) {}
Queue4::Queue4(int device)
    : Object([]() -> Class& {
        static Class& type =
            create_class<Queue4>("MTL4CommandQueue", {{"addResidencySet:", method<&Queue4::add_set>()},
                                                      {"commit:count:options:", method<&Queue4::commit>()},
                                                      {"signalEvent:value:", method<&Queue4::signal>()},
                                                      {"waitForEvent:value:", method<&Queue4::wait>()}});
        return type;
      }()),
      device(device),
      stream(Machine::get().create_stream(context_of(device), 0)) {
  queues().insert(this);
}
Queue4::~Queue4() {
  if (!commits.empty()) fatal("a queue of Metal 4 is released while command buffers run: it retains nothing");
  queues().erase(this);
  Machine::get().destroy_stream(stream);
}

// MTL4CommandAllocator reset: the memory of its command buffers is reused, so all must have finished.
void Allocator::reset() {
  if (running != 0 || open != 0) fatal("an allocator is reset while a command buffer of it runs or is open");
}

void CommandBuffer4::begin(Object* given) {
  if (state == State::recording) fatal("beginCommandBuffer: the command buffer has begun");
  allocator = Ref(static_cast<Allocator*>(given));
  if (allocator->open != 0) fatal("beginCommandBuffer: another command buffer of the allocator is open");
  ++allocator->open;
  groups.clear();
  state = State::recording;
}

Object* CommandBuffer4::encoder() {
  if (state != State::recording || open != nullptr)
    fatal("computeCommandEncoder: the command buffer is not ready for one");
  return open = autorelease(std::make_unique<ComputeEncoder4>(*this).release());
}

void CommandBuffer4::end() {
  if (state != State::recording || open != nullptr)
    fatal("endCommandBuffer: the command buffer has not begun, or an encoder is open");
  --allocator->open;
  state = State::ended;
}

void ComputeEncoder4::end() {
  if (!open) fatal("endEncoding: the encoder was ended");
  open = false;
  buffer->open = nullptr;
}

void ComputeEncoder4::barrier_after_queue(std::uint64_t after, std::uint64_t before, std::uint64_t visibility) {
  if (after != kDispatchAndBlit || before != kDispatchAndBlit || visibility != 1)
    fatal("%s: the stand-in has barriers of dispatches and blits, visible to the device", current_method());
  ordered = true;
}
void ComputeEncoder4::barrier(std::uint64_t after, std::uint64_t before, std::uint64_t visibility) {
  barrier_after_queue(after, before, visibility);
  buffer->groups.emplace_back();
}

Group& ComputeEncoder4::group() {
  if (!open) fatal("%s: the encoder was ended", current_method());
  // Work without a barrier overlaps with earlier command buffers; the stand-in does not support overlaps.
  if (!ordered) fatal("%s: no barrier orders it after the queue's earlier work", current_method());
  if (buffer->groups.empty()) buffer->groups.emplace_back();
  return buffer->groups.back();
}

void ComputeEncoder4::dispatch(Size threads, Size size) {
  Group& commands = group();
  if (!pipeline || !table) fatal("dispatchThreads: no pipeline or argument table was set");
  LaunchAt at;
  at.launch = launch_of(*pipeline.get(), threads, size, [&](std::uint32_t index) {
    const std::uint64_t address = table->addresses[index];
    if ((address & kGpuBit) == 0)
      fatal("dispatchThreads: index %u holds 0x%llx, which is no address of the GPU", index, static_cast<ull>(address));
    at.addresses.push_back(address & ~kGpuBit);
    return Bound{address & ~kGpuBit, {}};
  });
  commands.emplace_back(std::move(at));
}

void ComputeEncoder4::copy(Object* from, std::uint64_t from_offset, Object* to, std::uint64_t to_offset,
                           std::uint64_t bytes) {
  auto *source = static_cast<Buffer*>(from), *target = static_cast<Buffer*>(to);
  if (source == nullptr || target == nullptr || (from_offset | to_offset | bytes) % 4 != 0 || bytes == 0 ||
      from_offset + bytes > source->bytes || to_offset + bytes > target->bytes)
    fatal("copyFromBuffer: %llu bytes from offset %llu to offset %llu", static_cast<ull>(bytes),
          static_cast<ull>(from_offset), static_cast<ull>(to_offset));
  group().emplace_back(CopyAt{target->address + to_offset, source->address + from_offset, bytes});
}

// Commands not separated by a barrier run in reverse order.
void Queue4::submit(const CommandBuffer4& buffer) {
  const auto need = [&](std::uint64_t address, const char* what) {
    if (std::none_of(sets.begin(), sets.end(), [&](const auto& set) { return set->contains(address); }))
      fatal("%s uses 0x%llx, which no residency set of the queue holds", what, static_cast<ull>(address));
  };
  Machine& machine = Machine::get();
  for (const Group& group : buffer.groups) {
    for (auto at = group.rbegin(); at != group.rend(); ++at) {
      if (const auto* launch = std::get_if<LaunchAt>(&*at)) {
        for (const std::uint64_t address : launch->addresses) need(address, launch->launch.function->kernel->name);
        machine.launch(launch->launch, stream);
      } else {
        const auto& copy = std::get<CopyAt>(*at);
        for (const std::uint64_t address : {copy.target, copy.source}) need(address, "copyFromBuffer");
        machine.copy(Direction::device_to_device, copy.target, copy.source, copy.bytes, stream);
      }
    }
  }
}

void Queue4::commit(Object* const* buffers, std::uint64_t count, Object* options) {
  Commit made{recorded(), 0, "", nullptr, {}};
  if (fails("commit:count:options:")) made.failure = "the emulated GPU fails, as TERN_EMULATOR_FAIL asks";
  for (std::uint64_t i = 0; i < count; ++i) {
    auto& buffer = *static_cast<CommandBuffer4*>(buffers[i]);
    if (buffer.state != CommandBuffer4::State::ended)
      fatal("commit: a command buffer was not ended, or was committed before");
    buffer.state = CommandBuffer4::State::fresh;
    if (made.failure.empty()) submit(buffer);
    ++buffer.allocator->running;
    made.allocators.push_back(buffer.allocator);
  }
  made.end = recorded();
  if (options != nullptr) made.handler = std::exchange(static_cast<CommitOptions*>(options)->block, nullptr);
  commits.push_back(std::move(made));
}

// After a failure the queue may not signal: a handler of the feedback signals instead.
void Queue4::signal(Object* event, std::uint64_t value) {
  static_cast<SharedEvent*>(event)->add_signal(value, recorded());
}
void Queue4::wait(Object* event, std::uint64_t value) {
  Machine::get().wait(stream, static_cast<SharedEvent*>(event)->need_signal(value));
}

// Handlers run after the work, on a thread of Metal's. Here handlers run when a program next reads an event.
void Queue4::feedback() {
  Machine& machine = Machine::get();
  while (!commits.empty() && machine.event(commits.front().end)->record->is_complete) {
    Commit done = std::move(commits.front());
    commits.pop_front();
    const auto seconds = [&](std::uint64_t event) {
      const auto time = static_cast<double>(machine.event(event)->record->time) * 1e-6;
      machine.destroy_event(event);
      return time;
    };
    const double begin = seconds(done.begin), end = seconds(done.end);
    for (const auto& allocator : done.allocators) --allocator->running;
    if (done.handler == nullptr) continue;
    Object* given = std::make_unique<CommitFeedback>(done.failure, begin, end).release();
    call_block(done.handler, given);
    end_block(done.handler);
    release(given);
  }
}

template <class T>
Object* allocate(Object*, Selector) {
  const MethodCall call("alloc");
  return std::make_unique<T>().release();
}

}  // namespace

void give_feedback() {
  const std::set<Queue4*> all = queues();
  for (Queue4* queue : all) queue->feedback();
}

Object* new_queue4(int device) {
  return std::make_unique<Queue4>(device).release();
}
Object* new_allocator4() {
  return std::make_unique<Allocator>().release();
}
Object* new_command_buffer4() {
  return std::make_unique<CommandBuffer4>().release();
}
Object* new_argument_table4(Object* descriptor) {
  constexpr std::uint64_t kMost = 31;
  const std::uint64_t count = static_cast<TableDescriptor*>(descriptor)->count;
  if (count == 0 || count > kMost)
    fatal("an argument table of %llu buffers; 1 to 31 are possible", static_cast<ull>(count));
  return std::make_unique<ArgumentTable>().release();
}
Object* new_residency_set() {
  return std::make_unique<ResidencySet>().release();
}

void add_metal4_classes() {
  add_class_object("MTL4ArgumentTableDescriptor", {{"alloc", reinterpret_cast<Imp>(&allocate<TableDescriptor>)}});
  add_class_object("MTL4CommitOptions", {{"alloc", reinterpret_cast<Imp>(&allocate<CommitOptions>)}});
  add_class_object("MTLResidencySetDescriptor", {{"alloc", reinterpret_cast<Imp>(&allocate<SetDescriptor>)}});
}

}  // namespace tern::emulator::metal
