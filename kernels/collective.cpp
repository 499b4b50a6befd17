// collective: the work is the session's, which knows its groups and its device.
#include <tern/error.h>

#include "kernels/kernel.h"

namespace tern {
namespace {

void run(KernelCall& c) {
  if (c.groups == nullptr) fail(ErrorCode::internal, "a collective runs in sessions alone");
  c.groups->run(c);
}

}  // namespace

void register_collective(KernelTable& t) {
  t.set(Op::collective, {.run = run, .in_place = 0});
}

}  // namespace tern
