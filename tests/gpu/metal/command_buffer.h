// MTLCommandBuffer and its encoded commands.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tests/gpu/machine/work.h"
#include "tests/gpu/metal/block.h"
#include "tests/gpu/metal/buffer.h"
#include "tests/gpu/metal/queue.h"
#include "tests/gpu/metal/shared_event.h"

namespace tern::emulator::metal {

struct BufferCopy {
  std::uint64_t target, source, bytes;
};
struct EventSignal {
  Ref<SharedEvent> event;
  std::uint64_t value;
};
struct EventWait {
  Ref<SharedEvent> event;
  std::uint64_t value;
};
using Command = std::variant<Launch, BufferCopy, EventSignal, EventWait>;

struct CommandBuffer : Object {
  explicit CommandBuffer(Queue& queue);
  ~CommandBuffer();

  Object* compute_encoder(std::uint64_t dispatch_type);
  Object* blit_encoder();
  void signal(Object* event, std::uint64_t value);
  void wait_for(Object* event, std::uint64_t value);
  void add_handler(const Block* handler);
  void commit();
  void wait();
  std::uint64_t status();
  Object* error();
  double begin_time();
  double end_time();

  // For encoders.
  void add(Command command);
  void retain_object(Object* object) { retained.emplace_back(object); }

  bool finished() const;
  void run();
  void completed();

  Ref<Queue> queue;
  Object* encoder = nullptr;  // the open encoder
  std::vector<Command> commands;
  std::vector<Ref<Object>> retained;  // held until completion: buffers, pipelines
  bool is_committed = false, is_completed = false;
  std::string failure;
  std::uint64_t begin = 0, end = 0;  // events of the machine
  std::vector<Block*> handlers;      // completion handlers

 private:
  void need_open(const char* what) const;
};

}  // namespace tern::emulator::metal
