#include "runtime/collective/call.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <limits>

#include "schema/kinds.h"
#include "schema/reductions.h"

namespace tern {
namespace {

bool reduces(const Collective& c) {
  return c.kind == CollectiveKind::all_reduce || c.kind == CollectiveKind::reduce_scatter;
}

}  // namespace

std::string describe(const Collective& c) {
  std::string text(collective_kind_name(static_cast<int>(c.kind)));
  if (reduces(c)) text += fmt::format(" ({})", reduce_op_name(static_cast<int>(c.reduce)));
  text += fmt::format(" of {} {}", c.count, name_of(c.dtype));
  if (c.kind == CollectiveKind::broadcast) text += fmt::format(" from rank {}", c.root);
  return text;
}

void check_call(const Collective& c, int ranks) {
  const auto refuse = [&](const char* why) {
    fail(ErrorCode::invalid_argument, fmt::format("{} among {} ranks: {}", describe(c), ranks, why));
  };
  const int size = element_size(c.dtype);
  if (static_cast<int>(c.kind) >= kCollectiveKinds || static_cast<int>(c.reduce) >= kReduceOps)
    refuse("this collective does not exist");
  if (size == 0 || elements_per_byte(c.dtype) != 1) refuse("this element type is not supported");
  if (c.count < 0 || c.count > std::numeric_limits<std::int64_t>::max() / size / ranks)
    refuse("the elements do not fit in memory");
  if (reduces(c) && !is_reducible(c.reduce, c.dtype)) refuse("the reduction is not defined for this type");
  if (c.kind == CollectiveKind::reduce_scatter && c.count % ranks != 0) refuse("the ranks' parts would not be equal");
  if (c.kind == CollectiveKind::broadcast && (c.root < 0 || c.root >= ranks)) refuse("the root rank does not exist");
}

bool is_same(const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.count == b.count && (!reduces(a) || a.reduce == b.reduce) &&
         (a.kind != CollectiveKind::broadcast || a.root == b.root);
}

void check_same(int rank_a, const Collective& a, int rank_b, const Collective& b) {
  if (is_same(a, b)) return;
  fail(ErrorCode::runtime,
       fmt::format("the ranks do not make the same call: rank {} {}, rank {} {}; they run the same program with the "
                   "same sizes, in the same order",
                   rank_a, describe(a), rank_b, describe(b)));
}

std::size_t bytes_of(const Collective& call, std::int64_t count) {
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(element_size(call.dtype));
}

void check_rank(int rank, int ranks) {
  if (ranks < 1 || rank < 0 || rank >= ranks)
    fail(ErrorCode::invalid_argument, fmt::format("there is no rank {} in a group of {}", rank, ranks));
}

ProcessGroup::~ProcessGroup() = default;
void ProcessGroup::abort(const std::string& why) noexcept {}

}  // namespace tern
