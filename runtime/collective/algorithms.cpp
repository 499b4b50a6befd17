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
constexpr std::int64_t kLeastPiece = std::int64_t{1} << 19, kMostPiece = std::int64_t{1} << 20;
constexpr std::int64_t kWindow = 2;

constexpr std::size_t kAlgorithmsTile = 8192;  ///< bytes of a partial sum

enum SharedStep : std::uint32_t { kTake = 0, kGive = 1u << 30, kParts = 2u << 30 };

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

std::size_t at(int r) {
  return static_cast<std::size_t>(r);
}

}  // namespace

const Algorithms::Parts& Algorithms::begins_of(std::span<const std::int64_t> parts, Parts& begins) const {
  begins.assign(1, 0);
  for (const std::int64_t n : parts) begins.push_back(begins.back() + n);
  return begins;
}
const Algorithms::Parts& Algorithms::equal(std::int64_t each) {
  parts_.resize(at(ranks_) + 1);
  for (int r = 0; r <= ranks_; ++r) parts_[at(r)] = each * r;
  return parts_;
}
const Algorithms::Parts& Algorithms::shares(std::int64_t count) {
  parts_.resize(at(ranks_) + 1);
  for (int r = 0; r <= ranks_; ++r) parts_[at(r)] = count / ranks_ * r + std::min<std::int64_t>(count % ranks_, r);
  return parts_;
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
    case CollectiveKind::reduce: join_shares(c, shares(c.count), nullptr, false); break;
    case CollectiveKind::reduce_scatter:
      join_shares(c, equal(c.count / ranks_), static_cast<std::byte*>(c.output), false);
      break;
    case CollectiveKind::reduce_scatter_v:
      join_shares(c, begins_of(c.input_splits, parts_), static_cast<std::byte*>(c.output), false);
      break;
    case CollectiveKind::all_gather: gather_parts(c, equal(c.count), true); break;
    case CollectiveKind::all_gather_v: gather_parts(c, begins_of(c.output_splits, parts_), true); break;
    case CollectiveKind::gather: gather_parts(c, equal(c.count), false); break;
    case CollectiveKind::broadcast: broadcast(c); break;
    case CollectiveKind::scatter: scatter(c); break;
    case CollectiveKind::all_to_all: all_to_all(c); break;
    case CollectiveKind::barrier: barrier(); break;
    case CollectiveKind::send: messages_.send(c.root, kTake, c.input, bytes_of(c, c.count)); break;
    case CollectiveKind::receive: messages_.receive(c.root, kTake, c.output, bytes_of(c, c.count)); break;
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
      messages_.send(c.root, kTake, c.input, bytes_of(c, c.count));
    } else {
      messages_.receive(c.root, kTake, c.output, bytes_of(c, c.count));
    }
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    waits(i);
    messages_.wait(i);
  }
}

void Algorithms::all_reduce(const Collective& c, std::uint64_t tag, std::chrono::steady_clock::time_point end) {
  if (shared_sums_.takes(bytes_of(c, c.count))) return shared_sums_.all_reduce(c, tag, end);
  if (bytes_of(c, c.count) <= kSmall) return join_all(c);
  join_shares(c, shares(c.count), static_cast<std::byte*>(c.output), true);
}

/// Sends all elements of every rank to all other ranks.
void Algorithms::join_all(const Collective& c) {
  const std::size_t bytes = bytes_of(c, c.count);
  std::byte* const all = scratch(bytes * at(ranks_));
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) messages_.receive(r, kTake, all + bytes * at(r), bytes);
  }
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) messages_.send(r, kTake, c.input, bytes);
  }
  copy_bytes(all + bytes * at(rank_), c.input, bytes);
  messages_.wait_all();  // `out` may alias `in`
  for (int r = 1; r < ranks_; ++r) join(c.reduce, c.dtype, all, all, all + bytes * at(r), c.count);
  finish(c.reduce, c.dtype, all, c.count, ranks_);
  copy_bytes(c.output, all, bytes);
}

/// Reduces one share of the elements on each rank. The result goes to all ranks (`everywhere`), to the root (reduce) or
/// only to `out`.
void Algorithms::join_shares(const Collective& c, const Parts& begins, std::byte* out, bool everywhere) {
  const bool to_root = c.kind == CollectiveKind::reduce, takes = everywhere || (to_root && rank_ == c.root);
  const auto size = static_cast<std::int64_t>(bytes_of(c, 1));
  const auto* in = static_cast<const std::byte*>(c.input);
  auto* result = static_cast<std::byte*>(c.output);
  const auto share = [&](int r) { return begins[at(r) + 1] - begins[at(r)]; };
  const std::int64_t mine = share(rank_), first = begins[at(rank_)];
  std::int64_t longest = 0;
  for (int r = 0; r < ranks_; ++r) longest = std::max(longest, share(r));
  const std::int64_t piece =
      std::max<std::int64_t>(1, std::clamp(longest * size / kWindow, kLeastPiece, kMostPiece) / size);
  const std::int64_t pieces = (longest + piece - 1) / piece, slots = std::min(kWindow, pieces);
  const auto length = [&](std::int64_t of, std::int64_t p) {
    return std::clamp<std::int64_t>(of - p * piece, 0, piece);
  };
  const auto bytes = [&](std::int64_t n) { return static_cast<std::size_t>(n * size); };
  // Receives this rank's share from the other ranks; the slot of this rank itself is spare.
  const std::int64_t room = std::min(mine, piece);
  std::byte* const taken = scratch(bytes(room * slots) * at(ranks_));
  const auto place = [&](int r, std::int64_t p) { return taken + (p % slots * ranks_ + r) * room * size; };
  // Replaces this rank's own share of the input at once: no other rank reads that share.
  std::byte* const own = takes ? result + first * size : to_root ? nullptr : out;

  numbers_.assign(3 * at(ranks_) * at(static_cast<int>(slots)), 0);
  enum Which { kTaken, kSent, kGiven };
  const auto number = [&](Which which, int r, std::int64_t p) -> Messages::Number& {
    return numbers_[(3 * static_cast<std::size_t>(p % slots) + which) * at(ranks_) + at(r)];
  };
  const auto begin = [&](std::int64_t p) {
    const auto step = static_cast<std::uint32_t>(p);
    for (int i = 1; i < ranks_; ++i) {  // a different first peer on each rank spreads the load
      const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
      number(kTaken, from, p) = messages_.receive(from, kTake | step, place(from, p), bytes(length(mine, p)));
      number(kSent, to, p) =
          messages_.send(to, kTake | step, in + (begins[at(to)] + p * piece) * size, bytes(length(share(to), p)));
    }
  };
  for (std::int64_t p = 0; p < slots; ++p) begin(p);
  for (std::int64_t p = 0; p < pieces; ++p) {
    const auto step = static_cast<std::uint32_t>(p);
    // Waits for the sends of elements about to be overwritten by results.
    for (int r = 0; r < ranks_; ++r) {
      if (r == rank_ || !takes) continue;
      messages_.wait(number(kSent, r, p));
      messages_.receive(r, kGive | step, result + (begins[at(r)] + p * piece) * size, bytes(length(share(r), p)));
    }
    const std::int64_t n = length(mine, p);
    std::byte* const joined = own == nullptr ? place(rank_, p) : own + p * piece * size;
    const auto input = [&](int r) -> const std::byte* {
      if (r == rank_) return in + (first + p * piece) * size;
      messages_.wait(number(kTaken, r, p));
      return place(r, p);
    };
    inputs_.clear();
    for (int r = 0; r < ranks_; ++r) inputs_.push_back(input(r));
    join_inputs(c, joined, n);
    if (n > 0) finish(c.reduce, c.dtype, joined, n, ranks_);
    for (int i = 1; i < ranks_ && n > 0; ++i) {
      const int to = (rank_ + i) % ranks_;
      if (everywhere || (to_root && to == c.root))
        number(kGiven, to, p) = messages_.send(to, kGive | step, joined, bytes(n));
    }
    if (p + slots >= pieces) continue;
    if (own == nullptr) messages_.wait(number(kGiven, c.root, p));  // the next piece reuses the sent buffer
    begin(p + slots);
  }
}

/// Reduces tile by tile to keep partial sums in the cache.
void Algorithms::join_inputs(const Collective& c, std::byte* joined, std::int64_t count) {
  alignas(64) std::array<std::byte, kAlgorithmsTile> sum;
  const auto size = static_cast<std::int64_t>(bytes_of(c, 1));
  const std::int64_t tile = static_cast<std::int64_t>(kAlgorithmsTile) / size;
  for (std::int64_t at = 0; at < count; at += tile) {
    const std::int64_t n = std::min(tile, count - at), offset = at * size;
    const std::byte* so_far = inputs_[0] + offset;
    for (std::size_t r = 1; r < inputs_.size(); ++r) {
      // `joined` may alias an input not read yet.
      std::byte* const to = r + 1 == inputs_.size() ? joined + offset : sum.data();
      join(c.reduce, c.dtype, to, so_far, inputs_[r] + offset, n);
      so_far = to;
    }
  }
}

void Algorithms::gather_parts(const Collective& c, const Parts& begins, bool everywhere) {
  auto* out = static_cast<std::byte*>(c.output);
  const auto place = [&](int r) { return out + bytes_of(c, begins[at(r)]); };
  const auto bytes = [&](int r) { return bytes_of(c, begins[at(r) + 1] - begins[at(r)]); };
  const bool takes = everywhere || rank_ == c.root;
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
    if (takes) messages_.receive(from, kTake, place(from), bytes(from));
    if (everywhere || to == c.root) messages_.send(to, kTake, c.input, bytes(rank_));
  }
  if (takes) copy_bytes(place(rank_), c.input, bytes(rank_));
}

/// Large tensors of several ranks are split into shares, exchanged by all ranks: the root sends each element about
/// twice.
void Algorithms::broadcast(const Collective& c) {
  const std::size_t bytes = bytes_of(c, c.count);
  auto* out = static_cast<std::byte*>(c.output);
  if (rank_ == c.root) copy_bytes(out, c.input, bytes);
  if (ranks_ == 2 || bytes <= kSmall * at(ranks_)) {
    for (int r = 0; r < ranks_ && rank_ == c.root; ++r) {
      if (r != rank_) messages_.send(r, kTake, c.input, bytes);
    }
    if (rank_ != c.root) messages_.receive(c.root, kTake, out, bytes);
    return;
  }
  const Parts& begins = shares(c.count);
  const auto place = [&](int r) { return bytes_of(c, begins[at(r)]); };
  const auto length = [&](int r) { return place(r + 1) - place(r); };
  if (rank_ == c.root) {
    const auto* in = static_cast<const std::byte*>(c.input);
    for (int r = 0; r < ranks_; ++r) {
      if (r != rank_) messages_.send(r, kTake, in + place(r), length(r));
    }
  } else {
    messages_.wait(messages_.receive(c.root, kTake, out + place(rank_), length(rank_)));
  }
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
    if (rank_ != c.root) messages_.receive(from, kGive, out + place(from), length(from));
    if (to != c.root) messages_.send(to, kGive, out + place(rank_), length(rank_));
  }
}

void Algorithms::scatter(const Collective& c) {
  const std::size_t bytes = bytes_of(c, c.count / ranks_);
  const auto* in = static_cast<const std::byte*>(c.input);
  if (rank_ != c.root) {
    messages_.receive(c.root, kTake, c.output, bytes);
    return;
  }
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) messages_.send(r, kTake, in + bytes * at(r), bytes);
  }
  copy_bytes(c.output, in + bytes * at(rank_), bytes);
}

void Algorithms::all_to_all(const Collective& c) {
  const bool parts = !c.input_splits.empty();
  if (parts) check_parts(c);
  const Parts& from_begins = parts ? begins_of(c.input_splits, parts_) : equal(c.count / ranks_);
  const Parts& to_begins = parts ? begins_of(c.output_splits, others_) : from_begins;
  const auto* in = static_cast<const std::byte*>(c.input);
  auto* out = static_cast<std::byte*>(c.output);
  const auto begin = [&](const Parts& b, int r) { return bytes_of(c, b[at(r)]); };
  const auto length = [&](const Parts& b, int r) { return begin(b, r + 1) - begin(b, r); };
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
    messages_.receive(from, kTake, out + begin(to_begins, from), length(to_begins, from));
    messages_.send(to, kTake, in + begin(from_begins, to), length(from_begins, to));
  }
  copy_bytes(out + begin(to_begins, rank_), in + begin(from_begins, rank_), length(from_begins, rank_));
}

/// Exchanges the lengths of the ranks' parts: each rank knows only its own lengths.
void Algorithms::check_parts(const Collective& c) {
  others_.assign(at(ranks_), 0);
  others_[at(rank_)] = c.input_splits[at(rank_)];
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
    messages_.receive(from, kParts, &others_[at(from)], sizeof(std::int64_t));
    messages_.send(to, kParts, &c.input_splits[at(to)], sizeof(std::int64_t));
  }
  messages_.wait_all();
  for (int r = 0; r < ranks_; ++r) {
    if (others_[at(r)] != c.output_splits[at(r)])
      fail(ErrorCode::runtime, fmt::format("rank {} sends {} elements to rank {}, which expects {}", r, others_[at(r)],
                                           rank_, c.output_splits[at(r)]));
  }
}

void Algorithms::barrier() {
  std::byte* const here = scratch(at(ranks_));
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + ranks_ - i) % ranks_, to = (rank_ + i) % ranks_;
    messages_.receive(from, kTake, here + at(from), 1);
    messages_.send(to, kTake, here + at(rank_), 1);
  }
}

}  // namespace tern
