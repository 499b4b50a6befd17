// The kernel of the stand-in for cuDNN's attention: calls back into the library.
#include <cstring>

#include "tests/gpu/libraries/attention_call.h"
#include "tests/gpu/libraries/kernels.h"
#include "tests/gpu/machine/pointer.h"

namespace tern::stand_in {

void attention(const tern_emulated_launch* launch) {
  AttentionCall call{};
  std::memcpy(&call, launch->parameters, sizeof call);
  if (call.workspace != 0) std::memset(emulator::pointer(call.workspace), 0xA5, call.workspace_bytes);
  call.function(call.graph);
}

}  // namespace tern::stand_in
