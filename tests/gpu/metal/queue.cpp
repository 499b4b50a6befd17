#include "tests/gpu/metal/queue.h"

#include <memory>

#include "tests/gpu/metal/command_buffer.h"
#include "tests/gpu/metal/system.h"

namespace tern::emulator::metal {
namespace {

// MTLDevice newCommandQueue: at most 64 uncompleted command buffers; another creation blocks.
constexpr std::uint64_t kMostOpen = 64;

Class& queue_class() {
  static Class& type =
      make_class("MTLCommandQueue", destroy<Queue>, {{"commandBuffer", method<&Queue::command_buffer>()}});
  return type;
}

}  // namespace

Queue::Queue(int device) : Object(queue_class()), device(device) {
  stream = Machine::get().create_stream(context_of(device), 0);
}
Queue::~Queue() {
  Machine::get().destroy_stream(stream);
}

Object* Queue::command_buffer() {
  reap();
  if (open >= kMostOpen) {
    if (committed.empty()) fatal("a queue has %d command buffers that were not committed: one more never comes", 64);
    committed.front()->run();
    reap();
  }
  ++open;
  return autorelease(std::make_unique<CommandBuffer>(*this).release());
}

void Queue::reap() {
  while (!committed.empty() && committed.front()->finished()) {
    const Ref<CommandBuffer> first = std::move(committed.front());
    committed.pop_front();
    first->completed();
  }
}

Object* new_queue(int device) {
  return std::make_unique<Queue>(device).release();
}

}  // namespace tern::emulator::metal
