// Ranks in processes, over TCP. A call: every rank tells rank 0 what it is about to do; where all agree, it says so,
// gets their elements, and sends each its result. A header stands before all that is sent.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "runtime/collective/call.h"
#include "runtime/collective/reduce.h"
#include "runtime/collective/socket.h"

namespace tern {
namespace {

using std::chrono::milliseconds;

struct Header {
  enum What : std::uint8_t { hello = 1, ready, call, failure };
  std::uint32_t magic = kMagic;
  std::uint8_t what = hello, kind = 0, reduce = 0, dtype = 0;
  std::int32_t rank = 0, root = 0;
  std::int64_t count = 0;  ///< of elements; of hello the ranks, of failure the bytes of a text that follows
  static constexpr std::uint32_t kMagic = 0x314e5254;  // "TRN1" where the lowest byte comes first
};
static_assert(sizeof(Header) == 24);

constexpr std::int64_t kLongestText = 4096;
constexpr milliseconds kBrief{2000};  ///< for what is short and should be under way

Header header_of(const Collective& c, int rank) {
  return {.what = Header::call,
          .kind = static_cast<std::uint8_t>(c.kind),
          .reduce = static_cast<std::uint8_t>(c.reduce),
          .dtype = static_cast<std::uint8_t>(c.dtype),
          .rank = rank,
          .root = c.root,
          .count = c.count};
}

Collective call_of(const Header& h) {
  return {static_cast<CollectiveKind>(h.kind), static_cast<ReduceOp>(h.reduce), static_cast<DType>(h.dtype), h.count,
          h.root};
}

void send(const Socket& to, const Header& h, Deadline end) {
  to.send(std::as_bytes(std::span(&h, 1)), end);
}

void send_failure(const Socket& to, int rank, const std::string& why) noexcept {
  try {
    const Deadline end = std::chrono::steady_clock::now() + kBrief;
    const auto text = std::as_bytes(std::span(why)).first(std::min<std::size_t>(why.size(), kLongestText));
    send(to, {.what = Header::failure, .rank = rank, .count = static_cast<std::int64_t>(text.size())}, end);
    to.send(text, end);
  } catch (const std::exception&) {
    // It has gone, too.
  }
}

/// The next header, which is `what`; what the other side has failed with fails here.
Header receive(const Socket& from, Header::What what, Deadline end) {
  Header h;
  from.receive(std::as_writable_bytes(std::span(&h, 1)), end);
  if (h.magic == Header::kMagic && h.what == Header::failure && h.count >= 0 && h.count <= kLongestText) {
    std::string why(static_cast<std::size_t>(h.count), ' ');
    from.receive(std::as_writable_bytes(std::span(why)), end);
    fail(ErrorCode::runtime, why);
  }
  if (h.magic != Header::kMagic || h.what != what)
    fail(ErrorCode::io, "received data that is not a message of a group");
  return h;
}

class ConnectedRank : public ProcessGroup {
 public:
  ConnectedRank(int rank, int size, milliseconds timeout)
      : rank_(rank), size_(size), timeout_(timeout), peers_(static_cast<std::size_t>(rank == 0 ? size : 1)) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  /// Rank 0: waits until all other ranks have connected. Refuses any other connection.
  void gather(const std::string& address) {
    const Socket listener = Socket::listen(address);
    const Deadline end = later();
    for (int missing = size_ - 1; missing > 0;) {
      Socket s;
      try {
        s = listener.accept(end);
      } catch (const Error& e) {
        fail(e.code(), fmt::format("'{}': {} of {} ranks are missing: {}", address, missing, size_, e.what()));
      }
      try {
        const Header h = receive(s, Header::hello, std::min(end, std::chrono::steady_clock::now() + kBrief));
        const bool fits = h.count == size_ && h.rank > 0 && h.rank < size_ && !peer(h.rank).open();
        if (!fits) {
          send_failure(s, 0,
                       fmt::format("rank {} of {} is already connected, or does not exist, in a group of {}", h.rank,
                                   h.count, size_));
          continue;
        }
        peer(h.rank) = std::move(s);
        --missing;
      } catch (const Error&) {
        continue;  // a stranger
      }
    }
    for (int r = 1; r < size_; ++r) send(peer(r), {.what = Header::ready}, end);
  }
  void join_others(const std::string& address) {
    const Deadline end = later();
    peers_[0] = Socket::connect(address, end);
    send(peers_[0], {.rank = rank_, .count = size_}, end);
    receive(peers_[0], Header::ready, end);
  }

  void run(const Collective& call) override {
    if (!failure_.empty()) fail(ErrorCode::runtime, failure_);
    try {
      check_call(call, size_);
      rank_ == 0 ? lead(call, later()) : follow(call, later());
    } catch (const std::exception& e) {
      stop(e.what());
      throw;
    }
  }
  void abort(const std::string& why) noexcept override { stop(fmt::format("rank {} has failed: {}", rank_, why)); }

 private:
  Deadline later() const { return std::chrono::steady_clock::now() + timeout_; }
  Socket& peer(int r) { return peers_[static_cast<std::size_t>(r)]; }

  /// Tells all connected ranks and ends the group.
  void stop(const std::string& why) noexcept {
    if (!failure_.empty()) return;
    failure_ = why;
    for (Socket& s : peers_) {
      if (s.open()) send_failure(s, rank_, why);
      s = Socket();
    }
  }

  /// What rank `r` does wrong has its name.
  template <class F>
  void with(int r, F f) {
    try {
      f(peer(r));
    } catch (const Error& e) {
      fail(e.code(), e.code() == ErrorCode::io ? fmt::format("rank {}: {}", r, e.what()) : e.what());
    }
  }

  void follow(const Collective& c, Deadline end) {
    const Socket& zero = peers_[0];
    const std::size_t bytes = bytes_of(c, c.count);
    try {
      send(zero, header_of(c, rank_), end);
      receive(zero, Header::ready, end);
      const bool sends = c.kind != CollectiveKind::broadcast || c.root == rank_;
      if (sends) zero.send({static_cast<const std::byte*>(c.in), bytes}, end);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::io) throw;
      // It may have said why it does not listen.
      tell_reason(e);
    }
    receive(zero, Header::ready, end);
    zero.receive({static_cast<std::byte*>(c.out), bytes_of(c, results_of(c))}, end);
  }
  [[noreturn]] void tell_reason(const Error& e) const {
    try {
      receive(peers_[0], Header::failure, std::chrono::steady_clock::now() + kBrief);
    } catch (const Error& reason) {
      if (reason.code() != ErrorCode::io) throw;
    }
    fail(e.code(), fmt::format("rank 0: {}", e.what()));
  }

  std::int64_t results_of(const Collective& c) const {
    if (c.kind == CollectiveKind::all_gather) return c.count * size_;
    return c.kind == CollectiveKind::reduce_scatter ? c.count / size_ : c.count;
  }

  void lead(const Collective& c, Deadline end) {
    for (int r = 1; r < size_; ++r)
      with(r, [&](Socket& s) { check_same(0, c, r, call_of(receive(s, Header::call, end))); });
    for (int r = 1; r < size_; ++r) with(r, [&](Socket& s) { send(s, {.what = Header::ready}, end); });
    const std::size_t bytes = bytes_of(c, c.count);
    const std::span<std::byte> out(static_cast<std::byte*>(c.out), bytes_of(c, results_of(c)));
    const auto put = [&](const void* from, std::span<std::byte> to) {
      if (!to.empty() && from != to.data()) std::memcpy(to.data(), from, to.size());
    };
    std::span<const std::byte> all = out;
    switch (c.kind) {
      case CollectiveKind::broadcast:
        if (c.root == 0) put(c.in, out);
        if (c.root != 0) with(c.root, [&](Socket& s) { s.receive(out, end); });
        break;
      case CollectiveKind::all_gather:
        put(c.in, out.first(bytes));
        for (int r = 1; r < size_; ++r)
          with(r, [&](Socket& s) { s.receive(out.subspan(bytes * static_cast<std::size_t>(r), bytes), end); });
        break;
      case CollectiveKind::all_reduce:
        put(c.in, out);
        join_all(c, c.out, end);
        break;
      case CollectiveKind::reduce_scatter:
        joined_.resize(bytes);
        put(c.in, joined_);
        join_all(c, joined_.data(), end);
        all = joined_;
        put(all.data(), out);
        break;
    }
    for (int r = 1; r < size_; ++r) {
      const bool part = c.kind == CollectiveKind::reduce_scatter;
      with(r, [&](Socket& s) {
        send(s, {.what = Header::ready}, end);
        s.send(part ? all.subspan(out.size() * static_cast<std::size_t>(r), out.size()) : all, end);
      });
    }
  }

  /// Joins what the others send, in the order of the ranks, some elements at a time.
  void join_all(const Collective& c, void* to, Deadline end) {
    constexpr std::int64_t kSome = 1 << 16;
    pieces_.resize(bytes_of(c, kSome));
    for (int r = 1; r < size_; ++r) {
      for (std::int64_t at = 0; at < c.count; at += kSome) {
        const std::int64_t n = std::min(kSome, c.count - at);
        with(r, [&](Socket& s) { s.receive(std::span(pieces_).first(bytes_of(c, n)), end); });
        join(c.reduce, c.dtype, static_cast<std::byte*>(to) + bytes_of(c, at), pieces_.data(), n);
      }
    }
    finish(c.reduce, c.dtype, to, c.count, size_);
  }

  int rank_, size_;
  milliseconds timeout_;
  std::vector<Socket> peers_;  ///< by rank; of all but rank 0: rank 0 alone
  std::vector<std::byte> joined_, pieces_;
  std::string failure_;
};

}  // namespace

std::shared_ptr<ProcessGroup> connect_group(const std::string& address, int rank, int size, milliseconds timeout) {
  check_rank(rank, size);
  constexpr int kMost = 1024;
  if (size > kMost) fail(ErrorCode::invalid_argument, fmt::format("a group over TCP has at most {} ranks", kMost));
  auto group = std::make_shared<ConnectedRank>(rank, size, timeout);
  if (rank == 0) {
    group->gather(address);
  } else {
    group->join_others(address);
  }
  return group;
}

}  // namespace tern
