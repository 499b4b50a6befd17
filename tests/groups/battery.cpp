#include "tests/groups/battery.h"

#include <algorithm>
#include <numeric>

#include "runtime/collective/call.h"
#include "schema/reductions.h"

namespace tern::testing {
namespace {

using Bytes = std::vector<std::byte>;
using Kind = CollectiveKind;

/// Finite numbers of every type: random low bits, with a medium exponent for floats.
Bytes numbers(DType t, std::int64_t count, int seed) {
  Bytes bytes(static_cast<std::size_t>(count) * static_cast<std::size_t>(element_size(t)));
  std::uint64_t state = static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(t);
  const auto next = [&] { return (state = state * 6364136223846793005 + 1442695040888963407) >> 33; };
  for (std::byte& b : bytes) b = static_cast<std::byte>(next());
  const auto size = static_cast<std::size_t>(element_size(t));
  for (std::size_t i = size - 1; i < bytes.size(); i += size) {
    if (t == DType::boolean) bytes[i] &= std::byte{1};
    if (is_floating(t) && size > 1) bytes[i] = (bytes[i] & std::byte{0x80}) | std::byte{0x3f};
  }
  return bytes;
}

class Battery {
 public:
  explicit Battery(ProcessGroup& group) : group_(group), rank_(group.rank()), ranks_(group.size()) {}

  std::vector<Bytes> run() {
    const std::int64_t n = ranks_;
    for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
                          DType::i8, DType::u8, DType::boolean}) {
      for (int op = 0; op <= static_cast<int>(ReduceOp::premul_sum); ++op) {
        const auto reduce = static_cast<ReduceOp>(op);
        if (!is_reducible(reduce, t)) continue;
        for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, 5 * n, 2600 * n + 1}) {
          call({.kind = Kind::all_reduce, .reduce = reduce, .dtype = t, .count = count, .factor = 0.5});
          call({.kind = Kind::reduce, .reduce = reduce, .dtype = t, .count = count, .root = ranks_ - 1, .factor = 2});
        }
        call({.kind = Kind::reduce_scatter, .reduce = reduce, .dtype = t, .count = 3 * n, .factor = 2});
        call({.kind = Kind::reduce_scatter_v,
              .reduce = reduce,
              .dtype = t,
              .count = n * (n - 1) / 2,
              .input_splits = rising(),
              .factor = 2});
      }
      for (const std::int64_t count : {std::int64_t{0}, std::int64_t{3}, std::int64_t{9001}}) {
        call({.kind = Kind::all_gather, .dtype = t, .count = count});
        call({.kind = Kind::gather, .dtype = t, .count = count, .root = 0});
        call({.kind = Kind::broadcast, .dtype = t, .count = 5 * count, .root = ranks_ / 2});
        call({.kind = Kind::scatter, .dtype = t, .count = count * n, .root = ranks_ - 1});
        call({.kind = Kind::all_to_all, .dtype = t, .count = count * n});
      }
      call({.kind = Kind::all_gather_v, .dtype = t, .count = rank_, .output_splits = rising()});
      uneven(t);
      neighbours(t);
    }
    // Up to four ranks: more pieces of a share than are in flight, in place.
    for (const Kind kind : {Kind::all_reduce, Kind::reduce})
      call({.kind = kind, .dtype = DType::f32, .count = 600'000 * std::min<std::int64_t>(n, 4) + 1}, true);
    call({.kind = Kind::barrier});
    return std::move(results_);
  }

 private:
  /// Rank r has r elements.
  const std::vector<std::int64_t>& rising() {
    rising_.resize(static_cast<std::size_t>(ranks_));
    std::iota(rising_.begin(), rising_.end(), 0);
    return rising_;
  }
  void call(Collective c, bool in_place = false) {
    const Bytes in = numbers(c.dtype == DType::invalid ? DType::u8 : c.dtype, c.count, ++calls_ * 100 + rank_);
    Bytes& out = results_.emplace_back(bytes_of(c, results_of(c, rank_, ranks_)));
    if (in_place) out = in;
    c.input = in_place ? out.data() : in.data();
    c.output = out.data();
    group_.run(c);
  }
  /// Rank r sends r + q elements to rank q, and rank 0 sends nothing to itself.
  void uneven(DType t) {
    std::vector<std::int64_t> parts(static_cast<std::size_t>(ranks_));
    std::iota(parts.begin(), parts.end(), rank_);
    Collective c{.kind = Kind::all_to_all, .dtype = t};
    c.count = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    c.input_splits = c.output_splits = parts;
    call(c);
  }
  /// Every rank sends two messages to the next rank and receives two from its predecessor.
  void neighbours(DType t) {
    if (ranks_ == 1) return;
    const int next = (rank_ + 1) % ranks_, before = (rank_ + ranks_ - 1) % ranks_;
    const Bytes one = numbers(t, 4, ++calls_ * 100 + rank_), two = numbers(t, 6000, ++calls_ * 100 + rank_);
    Bytes from_one(one.size()), from_two(two.size());
    const Collective batch[] = {
        {.kind = Kind::send, .dtype = t, .count = 4, .root = next, .input = one.data(), .tag = 7},
        {.kind = Kind::receive, .dtype = t, .count = 6000, .root = before, .output = from_two.data(), .tag = 8},
        {.kind = Kind::send, .dtype = t, .count = 6000, .root = next, .input = two.data(), .tag = 8},
        {.kind = Kind::receive, .dtype = t, .count = 4, .root = before, .output = from_one.data(), .tag = 7}};
    group_.run_batch(batch);
    results_.push_back(std::move(from_one));
    results_.push_back(std::move(from_two));
  }

  ProcessGroup& group_;
  int rank_, ranks_, calls_ = 0;
  std::vector<std::int64_t> rising_;
  std::vector<Bytes> results_;
};

}  // namespace

std::vector<std::vector<std::byte>> run_battery(ProcessGroup& group) {
  return Battery(group).run();
}

}  // namespace tern::testing
