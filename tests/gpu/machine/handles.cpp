#include "tests/gpu/machine/handles.h"

namespace tern::emulator {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::context: return "context";
    case Kind::stream: return "stream";
    case Kind::event: return "event";
    case Kind::module: return "module";
    case Kind::function: return "function";
    case Kind::graph: return "graph";
    case Kind::node: return "graph node";
    case Kind::executable: return "executable graph";
    case Kind::physical: return "memory object";
    case Kind::descriptor: return "resource descriptor";
    case Kind::conditional: return "conditional handle";
    case Kind::partition: return "part of a device (green context)";
  }
  return "object of an unknown kind";
}

}  // namespace tern::emulator
