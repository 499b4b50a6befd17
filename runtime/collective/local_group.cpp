// Groups of threads in one process: messages are copied directly from rank to rank.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/collective/call.h"
#include "runtime/collective/divider.h"
#include "runtime/collective/transport_group.h"

namespace tern {
namespace {

using std::chrono::milliseconds;

/// A message or a receiver waiting for a message.
struct Post {
  enum class State : std::uint8_t { waiting, moving, finished } state = State::waiting;
  bool sends = false;
  int owner = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::tuple<int, int, std::uint64_t> key;  ///< sender, receiver, tag
};

std::string departure_message(int rank) {
  return fmt::format("rank {} has left the group", rank);
}

/// State shared by all ranks.
struct LocalGroupState {
  explicit LocalGroupState(int size) : states(static_cast<std::size_t>(size)), has_left(states.size(), false) {}

  static constexpr std::size_t kRemembered = 64;  ///< calls a rank may be ahead of other ranks
  struct Rank {
    std::array<CallState, kRemembered> calls;
    CallState current;
    std::uint64_t last_finished = 0;  ///< the last call finished by this rank
    std::condition_variable changed;
  };

  std::mutex mutex;
  std::map<std::tuple<int, int, std::uint64_t>, std::vector<Post*>> posts;  ///< few of each
  std::vector<Rank> states;
  std::vector<bool> has_left;
  std::string failure;
  FailureActs acts;  ///< callbacks of all ranks

  /// A group of some of these ranks, not yet joined by all members.
  struct Child {
    std::shared_ptr<LocalGroupState> group;
    int missing;
  };
  std::map<std::string, Child> children;  ///< keyed by invitation
  std::uint64_t invitations = 0;

  void stop(const std::string& why) {
    if (failure.empty()) failure = why;
    acts.run(failure);
    for (Rank& r : states) r.changed.notify_all();
  }
};

class LocalTransport : public Transport {
 public:
  LocalTransport(std::shared_ptr<LocalGroupState> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~LocalTransport() override { LocalTransport::close(); }

  Request send(int peer, std::uint64_t tag, const void* data, std::size_t bytes) override {
    return post({.sends = true,
                 .owner = rank_,
                 .data = static_cast<std::byte*>(const_cast<void*>(data)),
                 .bytes = bytes,
                 .key = {rank_, peer, tag}});
  }
  Request receive(int peer, std::uint64_t tag, void* data, std::size_t bytes) override {
    return post({.owner = rank_, .data = static_cast<std::byte*>(data), .bytes = bytes, .key = {peer, rank_, tag}});
  }
  bool wait(Request request, milliseconds timeout) override {
    Post& p = *static_cast<Post*>(request);
    std::unique_lock lock(group_->mutex);
    std::condition_variable& changed = group_->states[static_cast<std::size_t>(rank_)].changed;
    changed.wait_for(lock, timeout, [&] { return p.state == Post::State::finished || !group_->failure.empty(); });
    // The moving thread is about to finish.
    changed.wait(lock, [&] { return p.state != Post::State::moving; });
    const bool finished = p.state == Post::State::finished;
    if (!finished && !group_->failure.empty()) fail(ErrorCode::io, group_->failure);
    if (finished) free_.push_back(&p);
    return finished;
  }
  void interrupt() noexcept override {}
  void close() noexcept override {
    std::unique_lock lock(group_->mutex);
    std::condition_variable& changed = group_->states[static_cast<std::size_t>(rank_)].changed;
    for (auto& [key, waiting] : group_->posts) std::erase_if(waiting, [&](const Post* p) { return p->owner == rank_; });
    for (Post& p : mine_) changed.wait(lock, [&] { return p.state != Post::State::moving; });
  }

 private:
  Request post(const Post& request) {
    std::unique_lock lock(group_->mutex);
    if (!group_->failure.empty()) fail(ErrorCode::io, group_->failure);
    Post* const p = fresh();
    *p = request;
    std::vector<Post*>& waiting = group_->posts[p->key];
    if (waiting.empty() || waiting.front()->sends == p->sends) {
      const int peer = p->sends ? std::get<1>(p->key) : std::get<0>(p->key);
      if (group_->has_left[static_cast<std::size_t>(peer)]) {
        group_->stop(departure_message(peer));
        fail(ErrorCode::io, group_->failure);
      }
      waiting.push_back(p);
      return p;
    }
    Post* const other = waiting.front();
    waiting.erase(waiting.begin());
    if (waiting.empty()) group_->posts.erase(p->key);
    p->state = other->state = Post::State::moving;
    lock.unlock();
    const Post &from = p->sends ? *p : *other, &to = p->sends ? *other : *p;
    std::memcpy(to.data, from.data, to.bytes);
    lock.lock();
    p->state = other->state = Post::State::finished;
    group_->states[static_cast<std::size_t>(other->owner)].changed.notify_all();
    return p;
  }
  Post* fresh() {
    if (free_.empty()) return &mine_.emplace_back();
    Post* const p = free_.back();
    free_.pop_back();
    return p;
  }

  std::shared_ptr<LocalGroupState> group_;
  int rank_;
  std::deque<Post> mine_;
  std::vector<Post*> free_;
};

class LocalWatch : public Watch {
 public:
  LocalWatch(std::shared_ptr<LocalGroupState> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~LocalWatch() override {
    const std::lock_guard lock(group_->mutex);
    group_->has_left[static_cast<std::size_t>(rank_)] = true;
    const std::uint64_t last_finished = me().last_finished;
    for (const LocalGroupState::Rank& r : group_->states) {
      if (!is_point_to_point(r.current.kind) && r.current.number > last_finished)
        group_->stop(departure_message(rank_));
    }
    for (const auto& [key, waiting] : group_->posts) {  // messages without a receiver from now on
      const bool mine = std::get<0>(key) == rank_ || std::get<1>(key) == rank_;
      if (mine && std::ranges::any_of(waiting, [&](const Post* p) { return p->owner != rank_; }))
        group_->stop(departure_message(rank_));
    }
  }
  void begin(const CallState& state) override {
    const std::lock_guard lock(group_->mutex);
    if (!group_->failure.empty()) fail(ErrorCode::runtime, group_->failure);
    me().current = state;
    const std::string why = compare(state);
    if (why.empty()) return;
    group_->stop(why);
    fail(ErrorCode::runtime, why);
  }
  void device_waits(const CallState& state) noexcept override {
    if (state.number == 0) return;
    const std::lock_guard lock(group_->mutex);
    if (const std::string why = compare(state); !why.empty()) group_->stop(why);
  }
  void mark_finished(std::uint64_t number) noexcept override {
    const std::lock_guard lock(group_->mutex);
    me().last_finished = std::max(me().last_finished, number);
  }
  void end() noexcept override {
    const std::lock_guard lock(group_->mutex);
    if (!is_point_to_point(me().current.kind)) me().last_finished = std::max(me().last_finished, me().current.number);
    me().current = {};
  }
  std::string failure(milliseconds patience) override {
    const std::lock_guard lock(group_->mutex);
    return group_->failure;
  }
  void stop(const std::string& why) noexcept override {
    const std::lock_guard lock(group_->mutex);
    group_->stop(why);
  }
  FailureActs& acts() override { return group_->acts; }
  std::string place_of(int rank) override {
    const std::lock_guard lock(group_->mutex);
    const LocalGroupState::Rank& r = group_->states[static_cast<std::size_t>(rank)];
    if (r.current.number != 0) return fmt::format(", which is in {}", describe(r.current));
    return fmt::format(", which has done {} calls", r.last_finished);
  }

 private:
  LocalGroupState::Rank& me() { return group_->states[static_cast<std::size_t>(rank_)]; }
  /// Remembers the call. Returns the reason if this rank and others can never finish, else an empty string.
  std::string compare(const CallState& state) {
    const bool p2p = is_point_to_point(state.kind);
    if (!p2p) me().calls[state.number % LocalGroupState::kRemembered] = state;
    std::string why;
    for (int r = 0; r < static_cast<int>(group_->states.size()) && why.empty(); ++r) {
      const LocalGroupState::Rank& other = group_->states[static_cast<std::size_t>(r)];
      if (r == rank_) continue;
      const CallState& call = p2p ? other.current : other.calls[state.number % LocalGroupState::kRemembered];
      why = r < rank_ ? conflict(r, call, rank_, state) : conflict(rank_, state, r, call);
      if (why.empty() && !p2p && group_->has_left[static_cast<std::size_t>(r)] && other.last_finished < state.number)
        why = departure_message(r);
    }
    return why;
  }
  std::shared_ptr<LocalGroupState> group_;
  int rank_;
};

class LocalDivider : public Divider {
 public:
  LocalDivider(std::shared_ptr<LocalGroupState> group, milliseconds timeout)
      : group_(std::move(group)), timeout_(timeout) {}
  std::string invite(const SubgroupMembership& membership) override {
    const std::lock_guard lock(group_->mutex);
    std::string number = std::to_string(++group_->invitations);
    group_->children[number] = {std::make_shared<LocalGroupState>(membership.size()), membership.size()};
    return number;
  }
  std::shared_ptr<ProcessGroup> join(const SubgroupMembership& membership, const std::string& invitation) override;

 private:
  std::shared_ptr<LocalGroupState> group_;
  milliseconds timeout_;
};

std::shared_ptr<ProcessGroup> enter(const std::shared_ptr<LocalGroupState>& group, int rank, const std::string& name,
                                    milliseconds timeout) {
  return std::make_shared<TransportGroup>(
      TransportGroup::Identity{rank, static_cast<int>(group->states.size()), "local", name, timeout},
      std::make_unique<LocalTransport>(group, rank), std::make_unique<LocalWatch>(group, rank),
      std::make_unique<LocalDivider>(group, timeout));
}

std::shared_ptr<ProcessGroup> LocalDivider::join(const SubgroupMembership& membership, const std::string& invitation) {
  std::shared_ptr<LocalGroupState> group;
  {
    const std::lock_guard lock(group_->mutex);
    const auto found = group_->children.find(invitation);
    if (found == group_->children.end()) fail(ErrorCode::internal, "the invitation does not exist");
    group = found->second.group;
    if (--found->second.missing == 0) group_->children.erase(found);
  }
  return enter(group, membership.rank, membership.name, timeout_);
}

}  // namespace

std::vector<std::shared_ptr<ProcessGroup>> local_group(int size, milliseconds timeout) {
  check_rank(0, size);
  auto group = std::make_shared<LocalGroupState>(size);
  std::vector<std::shared_ptr<ProcessGroup>> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(enter(group, r, "0", timeout));
  return ranks;
}

}  // namespace tern
