// collective, exchange, wait: run by the session, the owner of groups and device.
#include <tern/collective.h>
#include <tern/error.h>

#include "kernels/kernel.h"

namespace tern {
namespace {

void run(KernelCall& c) {
  if (c.groups == nullptr) fail(ErrorCode::internal, "a collective can only run in a session");
  c.groups->run(c);
}

/// No other kind may work in place: ranks read the operand while results are written.
int in_place(const Node& node, std::size_t) {
  const auto kind = static_cast<CollectiveKind>(node.integer(AttrKey::kind));
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::broadcast ? 0 : -1;
}

}  // namespace

void register_collective(KernelTable& t) {
  t.set(Op::collective, {.run = run, .in_place_input = in_place});
  t.set(Op::exchange, {.run = run});
  t.set(Op::wait, {.run = run, .in_place = 0});
}

}  // namespace tern
