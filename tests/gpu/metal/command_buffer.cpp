// Follows Apple's documentation of MTLCommandBuffer, MTLCommandQueue and MTLCommandEncoder; like Metal's validation
// layer, the stand-in ends a program that breaks a rule.
#include "tests/gpu/metal/command_buffer.h"

#include <memory>

#include "tests/gpu/metal/encoders.h"
#include "tests/gpu/metal/foundation.h"

namespace tern::emulator::metal {
namespace {

enum Status : std::uint64_t { kNotEnqueued = 0, kCommitted = 2, kCompleted = 4, kError = 5 };  // MTLCommandBufferStatus

template <class... F>
struct Match : F... {
  using F::operator()...;
};
template <class... F>
Match(F...) -> Match<F...>;

Class& command_buffer_class() {
  static Class& type =
      make_class("MTLCommandBuffer", destroy<CommandBuffer>,
                 {{"computeCommandEncoderWithDispatchType:", method<&CommandBuffer::compute_encoder>()},
                  {"blitCommandEncoder", method<&CommandBuffer::blit_encoder>()},
                  {"encodeSignalEvent:value:", method<&CommandBuffer::signal>()},
                  {"encodeWaitForEvent:value:", method<&CommandBuffer::wait_for>()},
                  {"addCompletedHandler:", method<&CommandBuffer::add_handler>()},
                  {"commit", method<&CommandBuffer::commit>()},
                  {"waitUntilCompleted", method<&CommandBuffer::wait>()},
                  {"status", method<&CommandBuffer::status>()},
                  {"error", method<&CommandBuffer::error>()},
                  {"GPUStartTime", method<&CommandBuffer::begin_time>()},
                  {"GPUEndTime", method<&CommandBuffer::end_time>()}});
  return type;
}

std::uint64_t new_event(const Queue& queue) {
  Machine& machine = Machine::get();
  return machine.create_event(machine.stream(queue.stream)->context, 0, true);
}

double seconds(std::uint64_t event) {
  return static_cast<double>(Machine::get().event(event)->record->time) * 1e-6;
}

}  // namespace

CommandBuffer::CommandBuffer(Queue& queue) : Object(command_buffer_class()), queue(&queue) {}

CommandBuffer::~CommandBuffer() {
  if (!is_completed) --queue->open;
  for (std::uint64_t event : {begin, end})
    if (event != 0) Machine::get().destroy_event(event);
  for (Block* handler : handlers) end_block(handler);
}

// Allows a single open encoder, signals and waits only between encoders, and no encoding after commit.
void CommandBuffer::need_open(const char* what) const {
  if (is_committed) fatal("%s: the command buffer was committed", what);
  if (encoder != nullptr) fatal("%s: an encoder of the command buffer is open (endEncoding)", what);
}

Object* CommandBuffer::compute_encoder(std::uint64_t dispatch_type) {
  // MTLDispatchTypeConcurrent lets commands of an encoder overlap; the stand-in has only serial encoders.
  if (dispatch_type != 0) fatal("%s: the stand-in has serial encoders only", current_method());
  need_open(current_method());
  return encoder = new_compute_encoder(*this);
}
Object* CommandBuffer::blit_encoder() {
  need_open(current_method());
  return encoder = new_blit_encoder(*this);
}

void CommandBuffer::signal(Object* event, std::uint64_t value) {
  need_open(current_method());
  add(EventSignal{Ref(static_cast<SharedEvent*>(event)), value});
}
void CommandBuffer::wait_for(Object* event, std::uint64_t value) {
  need_open(current_method());
  add(EventWait{Ref(static_cast<SharedEvent*>(event)), value});
}

void CommandBuffer::add(Command command) {
  commands.push_back(std::move(command));
}

void CommandBuffer::add_handler(const Block* handler) {
  if (is_committed) fatal("addCompletedHandler: the command buffer was committed");
  handlers.push_back(copy_block(handler));
}

// Work goes into the machine's stream, and runs as late as possible.
void CommandBuffer::commit() {
  need_open("commit");
  is_committed = true;
  Machine& machine = Machine::get();
  if (fails("commit")) failure = "the emulated GPU fails, as TERN_EMULATOR_FAIL asks";
  begin = new_event(*queue.get());
  machine.record(begin, queue->stream);
  for (const Command& command : commands) {
    std::visit(Match{[&](const Launch& launch) {
                       if (failure.empty()) machine.launch(launch, queue->stream);
                     },
                     [&](const BufferCopy& copy) {
                       if (failure.empty())
                         machine.copy(Direction::device_to_device, copy.target, copy.source, copy.bytes, queue->stream);
                     },
                     [&](const EventSignal& signal) {
                       // After a failure only the host signals, in a handler.
                       if (!failure.empty() && handlers.empty()) return;
                       const std::uint64_t event = new_event(*queue.get());
                       machine.record(event, queue->stream);
                       signal.event->add_signal(signal.value, event);
                     },
                     [&](const EventWait& wait) { machine.wait(queue->stream, wait.event->need_signal(wait.value)); }},
               command);
  }
  end = new_event(*queue.get());
  machine.record(end, queue->stream);
  queue->committed.emplace_back(this);
}

bool CommandBuffer::finished() const {
  return is_completed || (end != 0 && Machine::get().event(end)->record->is_complete);
}

void CommandBuffer::run() {
  Machine::get().synchronize_event(end);
}

void CommandBuffer::completed() {
  is_completed = true;
  --queue->open;
  retained.clear();
  commands.clear();
  for (Block* handler : std::exchange(handlers, {})) {
    call_block(handler, this);
    end_block(handler);
  }
}

void CommandBuffer::wait() {
  if (!is_committed) fatal("waitUntilCompleted: the command buffer was never committed, so it never completes");
  run();
  const Ref<Queue> held = queue;
  held->reap();
}

std::uint64_t CommandBuffer::status() {
  if (!is_committed) return kNotEnqueued;
  if (!finished()) {
    try {
      Machine::get().query_event(end);  // each further query runs another command
    } catch (const Failure&) {
      return kCommitted;
    }
  }
  const Ref<Queue> held = queue;
  held->reap();
  return failure.empty() ? kCompleted : kError;
}

Object* CommandBuffer::error() {
  if (failure.empty() || !finished()) return nullptr;
  Object* made = nullptr;
  give_error(&made, failure);
  return made;
}

// GPUStartTime and GPUEndTime: zero before the command buffer has completed.
double CommandBuffer::begin_time() {
  return finished() ? seconds(begin) : 0;
}
double CommandBuffer::end_time() {
  return finished() ? seconds(end) : 0;
}

}  // namespace tern::emulator::metal
