// Contexts of the emulated machine, and the current context of a thread.
#pragma once

#include <cstdint>
#include <memory>

namespace tern::emulator {

// Resources of a green context.
struct Descriptor {
  unsigned multiprocessors = 0;
  unsigned queues = 0;  // limit of work queues; 0: the device's
};

struct Context {
  uint64_t handle = 0;
  uint64_t green_handle = 0;  // handle of a green context as such
  int device = 0;
  bool alive = true;
  uint64_t retained = 0;             // retain count of a primary context
  std::shared_ptr<Context> primary;  // null in a primary context
  Descriptor resources;              // a green context's
};

// The primary context behind either kind.
inline const Context* primary_of(const Context& context) {
  return context.primary ? context.primary.get() : &context;
}
inline bool same_primary(const Context& a, const Context& b) {
  return primary_of(a) == primary_of(b);
}

}  // namespace tern::emulator
