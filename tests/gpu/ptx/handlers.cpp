#include "tests/gpu/ptx/handlers.h"

namespace tern::emulated {

void handle(Decoder& instruction, FunctionWriter& writer) {
  for (const auto& handlers : {memory_handlers(), control_handlers(), comparison_handlers(), conversion_handlers(),
                               atomic_handlers(), group_handlers(), matrix_handlers(), carry_handlers()}) {
    for (const Handler& handler : handlers) {
      if (handler.opcode == instruction.opcode()) return handler.write(instruction, writer);
    }
  }
  if (!handle_arithmetic(instruction, writer)) writer.fail("unknown instruction");
}

}  // namespace tern::emulated
