// Ranks in threads of one process: each looks at the others' memory between two rendezvous of all.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "runtime/collective/call.h"
#include "runtime/collective/reduce.h"

namespace tern {
namespace {

using Bytes = std::vector<std::byte>;

/// What the members share.
class Rendezvous {
 public:
  Rendezvous(int size, std::chrono::milliseconds timeout)
      : calls(static_cast<std::size_t>(size)),
        parts(calls.size()),
        here_(calls.size()),
        looks_(calls.size()),
        timeout_(timeout) {}

  /// Returns when all ranks are here, and may look at each other's memory until they are at the next wait, or done.
  void wait(std::size_t rank, const Collective& call) {
    std::unique_lock lock(mutex_);
    if (!failure_.empty()) fail(ErrorCode::runtime, failure_);
    here_[rank] = true;
    looks_[rank] = false;
    if (++arrived_ == here_.size()) {
      here_.assign(here_.size(), false);
      looks_.assign(looks_.size(), true);
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    const std::uint64_t mine = round_;
    const bool in_time = changed_.wait_for(lock, timeout_, [&] { return round_ != mine || !failure_.empty(); });
    if (round_ != mine) return;
    if (!in_time)
      end(fmt::format("rank {} has waited {} ms in {} for {}", rank, timeout_.count(), describe(call), who()));
    fail(ErrorCode::runtime, failure_);
  }

  /// From here on every rank fails.
  void stop(const std::string& why) {
    const std::lock_guard lock(mutex_);
    end(why);
  }

  void done(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    looks_[rank] = false;
    changed_.notify_all();
  }
  /// From here on every rank fails. Returns when no rank reads this one's memory any more.
  void give_up(std::size_t rank, const std::string& why) {
    std::unique_lock lock(mutex_);
    looks_[rank] = false;
    end(why);
    changed_.wait(lock, [&] { return std::ranges::count(looks_, true) == 0; });
  }

  std::vector<Collective> calls;  ///< of each rank, between two rendezvous
  std::vector<Bytes> parts;       ///< of each rank: its share of what is joined

 private:
  void end(const std::string& why) {
    if (failure_.empty()) failure_ = why;
    changed_.notify_all();
  }
  /// Those that others wait for.
  std::string who() const {
    std::string list;
    for (std::size_t r = 0; r < here_.size(); ++r) {
      if (!here_[r]) list += fmt::format("{}rank {}", list.empty() ? "" : ", ", r);
    }
    return list;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> here_, looks_;
  std::size_t arrived_ = 0;
  std::uint64_t round_ = 0;
  std::string failure_;
  std::chrono::milliseconds timeout_;
};

class LocalRank : public ProcessGroup {
 public:
  LocalRank(std::shared_ptr<Rendezvous> rendezvous, int rank) : rendezvous_(std::move(rendezvous)), rank_(rank) {}
  ~LocalRank() override { rendezvous_->stop(fmt::format("rank {} has left the group", rank_)); }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(rendezvous_->calls.size()); }
  void abort(const std::string& why) noexcept override {
    rendezvous_->stop(fmt::format("rank {} has failed: {}", rank_, why));
  }

  void run(const Collective& call) override {
    try {
      check_call(call, size());
      meet(call);
      work(call);
      rendezvous_->done(index());
    } catch (const std::exception& e) {
      rendezvous_->give_up(index(), fmt::format("rank {} has failed: {}", rank_, e.what()));
      throw;
    }
  }

 private:
  std::size_t index() const { return static_cast<std::size_t>(rank_); }

  /// All ranks know all calls now.
  void meet(const Collective& call) {
    rendezvous_->calls[index()] = call;
    rendezvous_->wait(index(), call);
    for (int r = 1; r < size(); ++r)
      check_same(0, rendezvous_->calls[0], r, rendezvous_->calls[static_cast<std::size_t>(r)]);
  }

  void work(const Collective& c) {
    auto* out = static_cast<std::byte*>(c.out);
    const std::size_t bytes = bytes_of(c, c.count);
    switch (c.kind) {
      case CollectiveKind::broadcast: {
        const void* from = rendezvous_->calls[static_cast<std::size_t>(c.root)].in;
        if (bytes != 0 && out != from) std::memcpy(out, from, bytes);
        break;
      }
      case CollectiveKind::all_gather:
        for (const Collective& other : rendezvous_->calls) {
          if (bytes != 0) std::memcpy(out, other.in, bytes);
          out += bytes;
        }
        break;
      case CollectiveKind::reduce_scatter: join_part(c, out); break;
      case CollectiveKind::all_reduce: {
        Bytes& mine = rendezvous_->parts[index()];
        mine.resize(bytes_of(c, end_of(c, index()) - begin_of(c, index())));
        join_part(c, mine.data());
        rendezvous_->wait(index(), c);  // no rank needs inputs any more: results may use their memory
        for (std::size_t r = 0; r < rendezvous_->parts.size(); ++r) {
          const Bytes& part = rendezvous_->parts[r];
          if (!part.empty()) std::memcpy(out + bytes_of(c, begin_of(c, r)), part.data(), part.size());
        }
        break;
      }
    }
    rendezvous_->wait(index(), c);
  }

  /// Each rank joins its share of the elements.
  std::int64_t begin_of(const Collective& c, std::size_t r) const {
    return c.count / size() * static_cast<std::int64_t>(r) +
           std::min<std::int64_t>(c.count % size(), static_cast<std::int64_t>(r));
  }
  std::int64_t end_of(const Collective& c, std::size_t r) const { return begin_of(c, r + 1); }

  void join_part(const Collective& c, void* to) const {
    const std::int64_t begin = begin_of(c, index()), count = end_of(c, index()) - begin;
    if (count == 0) return;
    for (std::size_t r = 0; r < rendezvous_->calls.size(); ++r) {
      const auto* x = static_cast<const std::byte*>(rendezvous_->calls[r].in) + bytes_of(c, begin);
      if (r == 0) {
        std::memcpy(to, x, bytes_of(c, count));
      } else {
        join(c.reduce, c.dtype, to, x, count);
      }
    }
    finish(c.reduce, c.dtype, to, count, size());
  }

  std::shared_ptr<Rendezvous> rendezvous_;
  int rank_;
};

}  // namespace

std::vector<std::shared_ptr<ProcessGroup>> local_group(int size, std::chrono::milliseconds timeout) {
  check_rank(0, size);
  auto rendezvous = std::make_shared<Rendezvous>(size, timeout);
  std::vector<std::shared_ptr<ProcessGroup>> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(std::make_shared<LocalRank>(rendezvous, r));
  return ranks;
}

}  // namespace tern
