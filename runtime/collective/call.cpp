#include "runtime/collective/call.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <limits>
#include <numeric>

#include "schema/kinds.h"
#include "schema/reductions.h"

namespace tern {
namespace {

bool has_root(CollectiveKind k) {
  return k == CollectiveKind::broadcast || k == CollectiveKind::gather || k == CollectiveKind::scatter ||
         k == CollectiveKind::reduce || is_point_to_point(k);
}

/// True if the parts are non-negative and sum to `count`.
bool is_division(std::span<const std::int64_t> lengths, std::int64_t count, int ranks) {
  if (lengths.size() != static_cast<std::size_t>(ranks)) return false;
  std::int64_t sum = 0;
  for (const std::int64_t n : lengths) {
    if (n < 0 || __builtin_add_overflow(sum, n, &sum)) return false;
  }
  return sum == count;
}

std::string text_of(std::span<const std::int64_t> lengths) {
  constexpr std::size_t kMaxListed = 8;
  std::string text = fmt::format("{}", fmt::join(lengths.first(std::min(lengths.size(), kMaxListed)), ", "));
  return lengths.size() > kMaxListed ? text + ", ..." : text;
}

}  // namespace

bool reduces(CollectiveKind k) {
  return k == CollectiveKind::all_reduce || k == CollectiveKind::reduce_scatter || k == CollectiveKind::reduce ||
         k == CollectiveKind::reduce_scatter_v;
}

bool is_point_to_point(CollectiveKind k) {
  return k == CollectiveKind::send || k == CollectiveKind::receive;
}

std::string describe(const Collective& c) {
  std::string text(collective_kind_name(static_cast<int>(c.kind)));
  if (c.kind == CollectiveKind::barrier) return text;
  if (reduces(c.kind)) text += fmt::format(" ({})", reduce_op_name(static_cast<int>(c.reduce)));
  text += fmt::format(" of {} {}", c.count, name_of(c.dtype));
  if (!c.input_splits.empty()) text += fmt::format(", {} for the ranks", text_of(c.input_splits));
  if (!c.output_splits.empty()) text += fmt::format(", {} from the ranks", text_of(c.output_splits));
  const bool to =
      c.kind == CollectiveKind::gather || c.kind == CollectiveKind::reduce || c.kind == CollectiveKind::send;
  if (has_root(c.kind)) text += fmt::format(" {} rank {}", to ? "to" : "from", c.root);
  return text;
}

void check_call(const Collective& c, int rank, int ranks) {
  const auto refuse = [&](const char* why) {
    fail(ErrorCode::invalid_argument, fmt::format("{} among {} ranks: {}", describe(c), ranks, why));
  };
  if (static_cast<int>(c.kind) >= kCollectiveKinds || static_cast<int>(c.reduce) >= kReduceOps)
    refuse("this collective does not exist");
  if (c.kind == CollectiveKind::barrier) return;
  const int size = element_size(c.dtype);
  if (size == 0 || elements_per_byte(c.dtype) != 1) refuse("this element type is not supported");
  if (c.count < 0 || c.count > std::numeric_limits<std::int64_t>::max() / size / ranks)
    refuse("the elements do not fit in memory");
  if (reduces(c.kind) && !is_reducible(c.reduce, c.dtype)) refuse("the reduction is not defined for this type");
  const bool divides = c.kind == CollectiveKind::reduce_scatter || c.kind == CollectiveKind::scatter ||
                       (c.kind == CollectiveKind::all_to_all && c.input_splits.empty());
  if (divides && c.count % ranks != 0) refuse("the ranks cannot have equal parts");
  if (has_root(c.kind) && (c.root < 0 || c.root >= ranks)) refuse("the root rank does not exist");
  if (is_point_to_point(c.kind) && c.root == rank) refuse("a rank cannot send to itself");
  if (c.kind == CollectiveKind::all_to_all && c.input_splits.empty() != c.output_splits.empty())
    refuse("parts are given for both the input and the output, or for neither");
  if ((c.kind == CollectiveKind::reduce_scatter_v || !c.input_splits.empty()) &&
      !is_division(c.input_splits, c.count, ranks))
    refuse("the parts of the input must be one number for each rank, and add up to its elements");
  if (c.kind == CollectiveKind::all_gather_v || !c.output_splits.empty()) {
    const std::int64_t all = std::accumulate(c.output_splits.begin(), c.output_splits.end(), std::int64_t{0});
    if (!is_division(c.output_splits, all, ranks)) refuse("the parts of the output must be one number for each rank");
    if (c.kind == CollectiveKind::all_gather_v && c.output_splits[static_cast<std::size_t>(rank)] != c.count)
      refuse("this rank's part of the output must be its input");
  }
  if (ranks == 1 && !c.input_splits.empty() && c.kind == CollectiveKind::all_to_all &&
      c.input_splits[0] != c.output_splits[0])
    refuse("a group of one rank must receive as much as it sends");
}

std::uint64_t fingerprint(const Collective& c) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t x) {
    hash = (hash ^ x) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  add(static_cast<std::uint64_t>(c.kind));
  if (c.kind == CollectiveKind::barrier) return hash;
  add(static_cast<std::uint64_t>(c.dtype));
  if (reduces(c.kind)) add(static_cast<std::uint64_t>(c.reduce));
  if (has_root(c.kind)) add(static_cast<std::uint64_t>(c.root));
  const bool same_count =
      (c.kind != CollectiveKind::all_to_all || c.input_splits.empty()) && c.kind != CollectiveKind::all_gather_v;
  if (same_count) add(static_cast<std::uint64_t>(c.count));
  const auto add_list = [&](std::span<const std::int64_t> parts) {
    for (const std::int64_t n : parts) add(static_cast<std::uint64_t>(n));
  };
  if (c.kind == CollectiveKind::reduce_scatter_v) add_list(c.input_splits);
  if (c.kind == CollectiveKind::all_gather_v) add_list(c.output_splits);
  return hash;
}

std::size_t bytes_of(const Collective& call, std::int64_t count) {
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(element_size(call.dtype));
}

std::int64_t results_of(const Collective& c, int rank, int ranks) {
  const auto r = static_cast<std::size_t>(rank);
  switch (c.kind) {
    case CollectiveKind::all_gather: return c.count * ranks;
    case CollectiveKind::gather: return rank == c.root ? c.count * ranks : 0;
    case CollectiveKind::reduce: return rank == c.root ? c.count : 0;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::scatter: return c.count / ranks;
    case CollectiveKind::reduce_scatter_v: return c.input_splits[r];
    case CollectiveKind::all_gather_v:
      return std::accumulate(c.output_splits.begin(), c.output_splits.end(), std::int64_t{0});
    case CollectiveKind::all_to_all:
      return c.output_splits.empty() ? c.count
                                     : std::accumulate(c.output_splits.begin(), c.output_splits.end(), std::int64_t{0});
    case CollectiveKind::barrier:
    case CollectiveKind::send: return 0;
    case CollectiveKind::all_reduce:
    case CollectiveKind::broadcast:
    case CollectiveKind::receive: return c.count;
  }
  return 0;
}

void check_rank(int rank, int ranks) {
  if (ranks < 1 || rank < 0 || rank >= ranks)
    fail(ErrorCode::invalid_argument, fmt::format("there is no rank {} in a group of {}", rank, ranks));
}

ProcessGroup::~ProcessGroup() = default;
void ProcessGroup::abort(const std::string& why) noexcept {}
void ProcessGroup::run_batch(std::span<const Collective> calls) {
  for (const Collective& c : calls) run(c);
}

}  // namespace tern
