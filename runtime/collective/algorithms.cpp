#include "runtime/collective/algorithms.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/collective/call.h"
#include "runtime/collective/reduce.h"

namespace tern {
namespace {

/// Largest input in bytes for the one-step reduction: every rank receives all inputs and reduces them itself.
constexpr std::size_t kSmall = 8192;
/// Target size of a piece in bytes, and the number of pieces in flight: the next piece travels during the reduction of
/// the current piece. Each message costs its ranks one or two thread switches, so long shares have large pieces.
constexpr std::int64_t kMinPiece = std::int64_t{1} << 19, kMaxPiece = std::int64_t{1} << 20;
constexpr std::int64_t kWindow = 2;

constexpr std::size_t kAlgorithmsTile = 8192;  ///< bytes of a partial sum

enum SharedStep : std::uint32_t { kInputStep = 0, kResultStep = 1u << 30, kLengthStep = 2u << 30 };

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

std::size_t rank_index(int r) {
  return static_cast<std::size_t>(r);
}

}  // namespace

const Algorithms::Offsets& Algorithms::offsets_of(std::span<const std::int64_t> lengths, Offsets& offsets) const {
  offsets.assign(1, 0);
  for (const std::int64_t n : lengths) offsets.push_back(offsets.back() + n);
  return offsets;
}
const Algorithms::Offsets& Algorithms::equal_offsets(std::int64_t length) {
  offsets_.resize(rank_index(ranks_) + 1);
  for (int r = 0; r <= ranks_; ++r) offsets_[rank_index(r)] = length * r;
  return offsets_;
}
const Algorithms::Offsets& Algorithms::share_offsets(std::int64_t count) {
  offsets_.resize(rank_index(ranks_) + 1);
  for (int r = 0; r <= ranks_; ++r)
    offsets_[rank_index(r)] = count / ranks_ * r + std::min<std::int64_t>(count % ranks_, r);
  return offsets_;
}
std::byte* Algorithms::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return scratch_.data();
}

void Algorithms::run(const Collective& call, std::uint64_t tag, std::chrono::steady_clock::time_point end) {
  messages_.begin(tag, end);
  Collective c = call;
  if (reduces(c.kind) && c.reduce == ReduceOp::premul_sum) {
    scaled_.resize(bytes_of(c, c.count));
    copy_bytes(scaled_.data(), c.input, scaled_.size());
    scale(c.dtype, scaled_.data(), c.count, c.factor);
    c.input = scaled_.data();
  }
  switch (c.kind) {
    case CollectiveKind::all_reduce: all_reduce(c, tag, end); break;
    case CollectiveKind::reduce: join_shares(c, share_offsets(c.count), nullptr, false); break;
    case CollectiveKind::reduce_scatter:
      join_shares(c, equal_offsets(c.count / ranks_), static_cast<std::byte*>(c.output), false);
      break;
    case CollectiveKind::reduce_scatter_v:
      join_shares(c, offsets_of(c.input_splits, offsets_), static_cast<std::byte*>(c.output), false);
      break;
    case CollectiveKind::all_gather: gather_segments(c, equal_offsets(c.count), true); break;
    case CollectiveKind::all_gather_v: gather_segments(c, offsets_of(c.output_splits, offsets_), true); break;
    case CollectiveKind::gather: gather_segments(c, equal_offsets(c.count), false); break;
    case CollectiveKind::broadcast: broadcast(c); break;
    case CollectiveKind::scatter: scatter(c); break;
    case CollectiveKind::all_to_all: all_to_all(c); break;
    case CollectiveKind::barrier: barrier(); break;
    case CollectiveKind::send: messages_.send(c.root, kInputStep, c.input, bytes_of(c, c.count)); break;
    case CollectiveKind::receive: messages_.receive(c.root, kInputStep, c.output, bytes_of(c, c.count)); break;
  }
  messages_.wait_all();
}

void Algorithms::run_batch(std::span<const Collective> calls, std::span<const std::uint64_t> tags,
                           std::chrono::steady_clock::time_point end, const std::function<void(std::size_t)>& waits) {
  messages_.begin(0, end);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Collective& c = calls[i];
    messages_.retag(tags[i]);
    if (c.kind == CollectiveKind::send) {
      messages_.send(c.root, kInputStep, c.input, bytes_of(c, c.count));
    } else {
      messages_.receive(c.root, kInputStep, c.output, bytes_of(c, c.count));
    }
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    waits(i);
    messages_.wait(i);
  }
}

void Algorithms::all_reduce(const Collective& c, std::uint64_t tag, std::chrono::steady_clock::time_point end) {
  if (shared_sums_.supports_size(bytes_of(c, c.count))) return shared_sums_.all_reduce(c, tag, end);
  if (bytes_of(c, c.count) <= kSmall) return join_all(c);
  join_shares(c, share_offsets(c.count), static_cast<std::byte*>(c.output), true);
}

/// Sends all elements of every rank to all other ranks.
void Algorithms::join_all(const Collective& c) {
  const std::size_t bytes = bytes_of(c, c.count);
  std::byte* const inputs = scratch(bytes * rank_index(ranks_));
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) messages_.receive(r, kInputStep, inputs + bytes * rank_index(r), bytes);
  }
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) messages_.send(r, kInputStep, c.input, bytes);
  }
  copy_bytes(inputs + bytes * rank_index(rank_), c.input, bytes);
  messages_.wait_all();  // `out` may alias `in`
  for (int r = 1; r < ranks_; ++r) join(c.reduce, c.dtype, inputs, inputs, inputs + bytes * rank_index(r), c.count);
  finish(c.reduce, c.dtype, inputs, c.count, ranks_);
  copy_bytes(c.output, inputs, bytes);
}

/// Reduces one share of the elements on each rank. The result goes to all ranks (`everywhere`), to the root (reduce) or
/// only to `out`.
void Algorithms::join_shares(const Collective& c, const Offsets& begins, std::byte* out, bool everywhere) {
  const bool to_root = c.kind == CollectiveKind::reduce, receives_result = everywhere || (to_root && rank_ == c.root);
  const auto size = static_cast<std::int64_t>(bytes_of(c, 1));
  const auto* in = static_cast<const std::byte*>(c.input);
  auto* result = static_cast<std::byte*>(c.output);
  const auto share = [&](int r) { return begins[rank_index(r) + 1] - begins[rank_index(r)]; };
  const std::int64_t mine = share(rank_), first = begins[rank_index(rank_)];
  std::int64_t longest = 0;
  for (int r = 0; r < ranks_; ++r) longest = std::max(longest, share(r));
  const std::int64_t piece =
      std::max<std::int64_t>(1, std::clamp(longest * size / kWindow, kMinPiece, kMaxPiece) / size);
  const std::int64_t pieces = (longest + piece - 1) / piece, slots = std::min(kWindow, pieces);
  const auto length = [&](std::int64_t share_length, std::int64_t p) {
    return std::clamp<std::int64_t>(share_length - p * piece, 0, piece);
  };
  const auto bytes = [&](std::int64_t n) { return static_cast<std::size_t>(n * size); };
  // Receives this rank's share from the other ranks; the slot of this rank itself is spare.
  const std::int64_t slot_length = std::min(mine, piece);
  std::byte* const received = scratch(bytes(slot_length * slots) * rank_index(ranks_));
  const auto slot_of = [&](int r, std::int64_t p) { return received + (p % slots * ranks_ + r) * slot_length * size; };
  // Replaces this rank's own share of the input at once: no other rank reads that share.
  std::byte* const own_result = receives_result ? result + first * size : to_root ? nullptr : out;

  numbers_.assign(3 * rank_index(ranks_) * rank_index(static_cast<int>(slots)), 0);
  enum RequestKind { kInputReceived, kInputSent, kResultSent };
  const auto number = [&](RequestKind kind, int r, std::int64_t p) -> Messages::Number& {
    return numbers_[(3 * static_cast<std::size_t>(p % slots) + kind) * rank_index(ranks_) + rank_index(r)];
  };
  const auto begin = [&](std::int64_t p) {
    const auto step = static_cast<std::uint32_t>(p);
    for (int i = 1; i < ranks_; ++i) {  // a different first peer on each rank spreads the load
      const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
      number(kInputReceived, from, p) =
          messages_.receive(from, kInputStep | step, slot_of(from, p), bytes(length(mine, p)));
      number(kInputSent, to, p) = messages_.send(
          to, kInputStep | step, in + (begins[rank_index(to)] + p * piece) * size, bytes(length(share(to), p)));
    }
  };
  for (std::int64_t p = 0; p < slots; ++p) begin(p);
  for (std::int64_t p = 0; p < pieces; ++p) {
    const auto step = static_cast<std::uint32_t>(p);
    // Waits for the sends of elements about to be overwritten by results.
    for (int r = 0; r < ranks_; ++r) {
      if (r == rank_ || !receives_result) continue;
      messages_.wait(number(kInputSent, r, p));
      messages_.receive(r, kResultStep | step, result + (begins[rank_index(r)] + p * piece) * size,
                        bytes(length(share(r), p)));
    }
    const std::int64_t n = length(mine, p);
    std::byte* const joined = own_result == nullptr ? slot_of(rank_, p) : own_result + p * piece * size;
    const auto input = [&](int r) -> const std::byte* {
      if (r == rank_) return in + (first + p * piece) * size;
      messages_.wait(number(kInputReceived, r, p));
      return slot_of(r, p);
    };
    inputs_.clear();
    for (int r = 0; r < ranks_; ++r) inputs_.push_back(input(r));
    join_inputs(c, joined, n);
    if (n > 0) finish(c.reduce, c.dtype, joined, n, ranks_);
    for (int i = 1; i < ranks_ && n > 0; ++i) {
      const int to = (rank_ + i) % ranks_;
      if (everywhere || (to_root && to == c.root))
        number(kResultSent, to, p) = messages_.send(to, kResultStep | step, joined, bytes(n));
    }
    if (p + slots >= pieces) continue;
    if (own_result == nullptr) messages_.wait(number(kResultSent, c.root, p));  // the next piece reuses the sent buffer
    begin(p + slots);
  }
}

/// Reduces tile by tile to keep partial sums in the cache.
void Algorithms::join_inputs(const Collective& c, std::byte* joined, std::int64_t count) {
  alignas(64) std::array<std::byte, kAlgorithmsTile> sum;
  const auto size = static_cast<std::int64_t>(bytes_of(c, 1));
  const std::int64_t tile = static_cast<std::int64_t>(kAlgorithmsTile) / size;
  for (std::int64_t begin = 0; begin < count; begin += tile) {
    const std::int64_t n = std::min(tile, count - begin), offset = begin * size;
    const std::byte* so_far = inputs_[0] + offset;
    for (std::size_t r = 1; r < inputs_.size(); ++r) {
      // `joined` may alias an input not read yet.
      std::byte* const to = r + 1 == inputs_.size() ? joined + offset : sum.data();
      join(c.reduce, c.dtype, to, so_far, inputs_[r] + offset, n);
      so_far = to;
    }
  }
}

void Algorithms::gather_segments(const Collective& c, const Offsets& begins, bool everywhere) {
  auto* out = static_cast<std::byte*>(c.output);
  const auto segment = [&](int r) { return out + bytes_of(c, begins[rank_index(r)]); };
  const auto bytes = [&](int r) { return bytes_of(c, begins[rank_index(r) + 1] - begins[rank_index(r)]); };
  const bool receives_result = everywhere || rank_ == c.root;
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
    if (receives_result) messages_.receive(from, kInputStep, segment(from), bytes(from));
    if (everywhere || to == c.root) messages_.send(to, kInputStep, c.input, bytes(rank_));
  }
  if (receives_result) copy_bytes(segment(rank_), c.input, bytes(rank_));
}

/// Large tensors of several ranks are split into shares, exchanged by all ranks: the root sends each element about
/// twice.
void Algorithms::broadcast(const Collective& c) {
  const std::size_t bytes = bytes_of(c, c.count);
  auto* out = static_cast<std::byte*>(c.output);
  if (rank_ == c.root) copy_bytes(out, c.input, bytes);
  if (ranks_ == 2 || bytes <= kSmall * rank_index(ranks_)) {
    for (int r = 0; r < ranks_ && rank_ == c.root; ++r) {
      if (r != rank_) messages_.send(r, kInputStep, c.input, bytes);
    }
    if (rank_ != c.root) messages_.receive(c.root, kInputStep, out, bytes);
    return;
  }
  const Offsets& begins = share_offsets(c.count);
  const auto begin_of = [&](int r) { return bytes_of(c, begins[rank_index(r)]); };
  const auto length = [&](int r) { return begin_of(r + 1) - begin_of(r); };
  if (rank_ == c.root) {
    const auto* in = static_cast<const std::byte*>(c.input);
    for (int r = 0; r < ranks_; ++r) {
      if (r != rank_) messages_.send(r, kInputStep, in + begin_of(r), length(r));
    }
  } else {
    messages_.wait(messages_.receive(c.root, kInputStep, out + begin_of(rank_), length(rank_)));
  }
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
    if (rank_ != c.root) messages_.receive(from, kResultStep, out + begin_of(from), length(from));
    if (to != c.root) messages_.send(to, kResultStep, out + begin_of(rank_), length(rank_));
  }
}

void Algorithms::scatter(const Collective& c) {
  const std::size_t bytes = bytes_of(c, c.count / ranks_);
  const auto* in = static_cast<const std::byte*>(c.input);
  if (rank_ != c.root) {
    messages_.receive(c.root, kInputStep, c.output, bytes);
    return;
  }
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) messages_.send(r, kInputStep, in + bytes * rank_index(r), bytes);
  }
  copy_bytes(c.output, in + bytes * rank_index(rank_), bytes);
}

void Algorithms::all_to_all(const Collective& c) {
  const bool has_splits = !c.input_splits.empty();
  if (has_splits) check_splits(c);
  const Offsets& from_begins = has_splits ? offsets_of(c.input_splits, offsets_) : equal_offsets(c.count / ranks_);
  const Offsets& to_begins = has_splits ? offsets_of(c.output_splits, peer_splits_) : from_begins;
  const auto* in = static_cast<const std::byte*>(c.input);
  auto* out = static_cast<std::byte*>(c.output);
  const auto begin = [&](const Offsets& b, int r) { return bytes_of(c, b[rank_index(r)]); };
  const auto length = [&](const Offsets& b, int r) { return begin(b, r + 1) - begin(b, r); };
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
    messages_.receive(from, kInputStep, out + begin(to_begins, from), length(to_begins, from));
    messages_.send(to, kInputStep, in + begin(from_begins, to), length(from_begins, to));
  }
  copy_bytes(out + begin(to_begins, rank_), in + begin(from_begins, rank_), length(from_begins, rank_));
}

/// Exchanges the lengths of the ranks' parts: each rank knows only its own lengths.
void Algorithms::check_splits(const Collective& c) {
  peer_splits_.assign(rank_index(ranks_), 0);
  peer_splits_[rank_index(rank_)] = c.input_splits[rank_index(rank_)];
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
    messages_.receive(from, kLengthStep, &peer_splits_[rank_index(from)], sizeof(std::int64_t));
    messages_.send(to, kLengthStep, &c.input_splits[rank_index(to)], sizeof(std::int64_t));
  }
  messages_.wait_all();
  for (int r = 0; r < ranks_; ++r) {
    if (peer_splits_[rank_index(r)] != c.output_splits[rank_index(r)])
      fail(ErrorCode::runtime, fmt::format("rank {} sends {} elements to rank {}, which expects {}", r,
                                           peer_splits_[rank_index(r)], rank_, c.output_splits[rank_index(r)]));
  }
}

void Algorithms::barrier() {
  std::byte* const received = scratch(rank_index(ranks_));
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
    messages_.receive(from, kInputStep, received + rank_index(from), 1);
    messages_.send(to, kInputStep, received + rank_index(rank_), 1);
  }
}

}  // namespace tern
