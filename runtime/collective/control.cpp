#include "runtime/collective/control.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/collective/call.h"
#include "runtime/collective/control_wire.h"

namespace tern {

namespace control {

Message receive(const Socket& from, Deadline end) {
  Message m;
  from.receive(std::as_writable_bytes(std::span(&m.header, 1)), end);
  if (m.header.magic != Header::kMagic || m.header.bytes > kMaxBodyBytes)
    fail(ErrorCode::io, "received data that is not a message of a group");
  m.body.resize(m.header.bytes);
  from.receive(m.body, end);
  return m;
}

}  // namespace control

namespace {

using control::Message;
using control::MessageKind;
using std::chrono::milliseconds;

/// Reports a call to rank 0 after this time.
constexpr milliseconds kControlSlow{500};
constexpr milliseconds kBrief{5000};            ///< timeout of short messages
constexpr milliseconds kHello{500};             ///< timeout of a partly received hello
constexpr milliseconds kLateRankTimeout{2000};  ///< time for late ranks to learn of a failure

Deadline deadline_in(milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}
std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text.data(), std::min<std::size_t>(text.size(), 4096)));
}

/// Wire format of a rank's current call.
struct Status {
  std::uint64_t number, fingerprint, nth;
  std::int64_t count;
  std::int32_t root, tag;
  std::uint8_t kind, reduce, dtype, reserved;
  char where[164];
};

Status status_of(const CallState& s) {
  Status t{};
  t.number = s.number;
  t.fingerprint = s.fingerprint;
  t.nth = s.nth;
  t.count = s.count;
  t.root = s.root;
  t.tag = s.tag;
  t.kind = static_cast<std::uint8_t>(s.kind);
  t.reduce = static_cast<std::uint8_t>(s.reduce);
  t.dtype = static_cast<std::uint8_t>(s.dtype);
  s.where.copy(t.where, sizeof t.where - 1);
  return t;
}
CallState state_of(const Status& t) {
  return {t.number,
          static_cast<CollectiveKind>(t.kind),
          static_cast<ReduceOp>(t.reduce),
          static_cast<DType>(t.dtype),
          t.count,
          t.root,
          t.fingerprint,
          t.where,
          t.tag,
          t.nth};
}

/// Wakes up another thread's poll().
class Bell {
 public:
  Bell() {
    if (!wake_.is_open()) fail(ErrorCode::io, "cannot make an event descriptor");
  }
  void ring() const { wake_.set(); }
  void silence() const { wake_.clear(); }
  platform::Polled polled() const { return {.handle = wake_.handle(), .wants_input = true}; }

 private:
  platform::Wake wake_;
};

/// Server of rank 0: one thread answers all ranks, rank 0 included.
class Server {
 public:
  Server(const GroupOptions& o, Socket listener, Control::Lost lost)
      : options_(o),
        lost_(std::move(lost)),
        listener_(listener.open() ? std::move(listener) : Socket::listen(o.address)),
        ranks_(static_cast<std::size_t>(o.size)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~Server() {
    thread_.request_stop();
    bell_.ring();
  }

 private:
  struct Rank {
    Socket socket;
    bool is_connected = false, has_left = false;
    std::uint64_t finished_calls = 0;  ///< calls made by a departed rank
    Status status{};
    std::vector<std::string> requested_keys;  ///< keys
  };

  void run(const std::stop_token& stop) {
    try {
      gather(stop);
      while (!stop.stop_requested() || pending()) poll_once(stop);
    } catch (const std::exception& e) {
      tell_failure(e.what());
    }
    // Waiting ranks learn of rank 0's departure from their closed connections.
  }
  /// True while rank 0 must wait for other ranks to finish calls already made by rank 0.
  bool pending() {
    if (!failure_.empty()) return false;
    return std::ranges::any_of(ranks_, [](const Rank& r) { return r.socket.open(); }) &&
           deadline_in(milliseconds(0)) < until_;
  }

  void gather(const std::stop_token& stop) {
    const Deadline end = deadline_in(options_.timeout);
    int missing = options_.size;
    while (missing > 0 && failure_.empty()) {
      Socket s;
      try {
        s = next_speaker(end);
      } catch (const Error& e) {
        fail(ErrorCode::io, fmt::format("'{}': {} of {} ranks are missing: {}", options_.address, missing,
                                        options_.size, list_missing()));
      }
      if (stop.stop_requested() && failure_.empty()) return;
      missing -= welcome(std::move(s), end);
    }
    // Late ranks receive the reason, too, even if rank 0 has received it and stops.
    for (const Deadline last = std::min(end, deadline_in(kLateRankTimeout)); missing > 0;)
      missing -= welcome(next_speaker(last), last);
    for (Rank& r : ranks_) send(r, MessageKind::all_joined, {});
  }
  /// Reads a connection's hello and answers with the group's failure, if any. Returns the number of new ranks (0 or 1).
  int welcome(Socket s, Deadline end) {
    try {
      const Message m = control::receive(s, std::min(end, deadline_in(kHello)));
      if (m.header.kind != MessageKind::hello) return 0;
      const std::string size = m.text();
      const int r = m.header.rank;
      const bool fits = r >= 0 && r < options_.size;
      if (!fits || size != std::to_string(options_.size))
        tell_failure(fmt::format("rank {} of {} does not fit a group of {}", r, size, options_.size));
      else if (rank(r).is_connected)
        tell_failure(
            fmt::format("rank {} is in the group '{}' twice: another process has connected as it", r, options_.name));
      if (!failure_.empty()) control::send(s, MessageKind::failure, 0, bytes_of_text(failure_), deadline_in(kBrief));
      if (!fits || std::exchange(rank(r).is_connected, true)) return 0;
      if (failure_.empty()) rank(r).socket = std::move(s);
      return 1;
    } catch (const Error&) {
      return 0;  // a foreign process or an ended rank
    }
  }
  /// Returns the first new connection with data to read, or a closed socket after a failure of the group.
  Socket next_speaker(Deadline end) {
    for (;;) {
      std::vector<platform::Polled> polls = {listener_.polled()};
      for (const Socket& s : strangers_) polls.push_back(s.polled());
      const auto remaining = std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now()).count();
      if (remaining <= 0) fail(ErrorCode::io, "timed out");
      if (const std::string why = lost_ ? lost_() : ""; !why.empty()) fail(ErrorCode::io, why);
      const std::size_t first = polls.size();
      for (const Rank& r : ranks_) polls.push_back(r.socket.polled());
      platform::poll(polls, milliseconds(std::min<std::int64_t>(remaining, 1000)));
      const bool was_well = failure_.empty();
      for (int r = 0; r < options_.size; ++r) {
        if (polls[first + static_cast<std::size_t>(r)].has_event()) hear(r);
      }
      if (was_well && !failure_.empty()) return {};
      for (std::size_t i = 0; i < strangers_.size(); ++i) {
        if (!polls[i + 1].has_event()) continue;
        Socket s = std::move(strangers_[i]);
        strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
        return s;
      }
      constexpr std::size_t kMaxStrangers = 128;
      if (strangers_.size() >= kMaxStrangers) strangers_.erase(strangers_.begin());
      if (polls[0].has_event()) strangers_.push_back(listener_.accept(end));
    }
  }
  std::string list_missing() const {
    std::string list;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!ranks_[r].is_connected) list += fmt::format("{}rank {}", list.empty() ? "" : ", ", r);
    }
    return list;
  }

  Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }

  void poll_once(const std::stop_token& stop) {
    std::vector<platform::Polled> polls = {bell_.polled()};
    std::vector<int> numbers;
    for (int r = 0; r < options_.size; ++r) {
      if (!rank(r).socket.open()) continue;
      polls.push_back(rank(r).socket.polled());
      numbers.push_back(r);
    }
    if (numbers.empty() && stop.stop_requested()) return;
    if (platform::poll(polls, milliseconds(1000)) <= 0) return;
    if (polls[0].has_event()) {
      bell_.silence();
      until_ = deadline_in(kBrief);
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (polls[i + 1].has_event()) hear(numbers[i]);
    }
  }

  void hear(int r) {
    Rank& from = rank(r);
    Message m;
    try {
      m = control::receive(from.socket, deadline_in(kBrief));
    } catch (const Error& e) {
      from.socket = Socket();
      if (!from.has_left) tell_failure(fmt::format("group '{}': rank {} has ended", options_.name, r));
      return;
    }
    switch (m.header.kind) {
      case MessageKind::set_value: {
        const std::string text = m.text();
        const std::size_t end = text.find('\0');
        if (end == std::string::npos) return;
        values_[text.substr(0, end)] = text.substr(end + 1);
        for (int q = 0; q < options_.size; ++q) answer(q);
        return;
      }
      case MessageKind::get_value:
        from.requested_keys.push_back(m.text());
        answer(r);
        return;
      case MessageKind::status:
        if (m.body.size() != sizeof(Status)) return;
        std::memcpy(&from.status, m.body.data(), sizeof(Status));
        from.status.where[sizeof from.status.where - 1] = 0;
        if (from.status.number != 0) compare(r);
        return;
      case MessageKind::leave:
        if (m.body.size() == sizeof from.finished_calls)
          std::memcpy(&from.finished_calls, m.body.data(), sizeof from.finished_calls);
        from.has_left = true;
        for (int q = 1; q < options_.size && r == 0; ++q) send(rank(q), MessageKind::leave, m.body);
        for (int q = 0; q < options_.size; ++q) compare(q);
        return;
      case MessageKind::bye:
        from.socket = Socket();
        from.status = {};
        return;
      case MessageKind::failure: return tell_failure(m.text());
      default: return;
    }
  }

  void answer(int r) {
    Rank& to = rank(r);
    std::erase_if(to.requested_keys, [&](const std::string& key) {
      const auto found = values_.find(key);
      if (found == values_.end()) return false;
      send(to, MessageKind::value, std::as_bytes(std::span(found->second)));
      return true;
    });
  }

  /// Fails the group if rank `r` waits for a call no other rank will make.
  void compare(int r) {
    const CallState mine = state_of(rank(r).status);
    if (mine.number == 0) return;
    for (int q = 0; q < options_.size; ++q) {
      if (q == r) continue;
      const Rank& other = rank(q);
      std::string why;
      if (other.status.number != 0) {
        const CallState theirs = state_of(other.status);
        why = r < q ? conflict(r, mine, q, theirs) : conflict(q, theirs, r, mine);
      }
      const bool needs = !is_point_to_point(mine.kind) || mine.root == q;
      if (why.empty() && other.has_left && needs &&
          (is_point_to_point(mine.kind) || other.finished_calls < mine.number))
        why = fmt::format("group '{}': rank {} is in {}, and rank {} has left the group after {} calls", options_.name,
                          r, describe(mine), q, other.finished_calls);
      if (!why.empty()) return tell_failure(why);
    }
  }

  void tell_failure(const std::string& why) {
    if (!failure_.empty()) return;
    failure_ = why;
    for (Rank& r : ranks_) send(r, MessageKind::failure, bytes_of_text(why));
  }
  void send(Rank& to, MessageKind kind, std::span<const std::byte> body) {
    try {
      if (to.socket.open()) control::send(to.socket, kind, 0, body, deadline_in(kBrief));
    } catch (const Error&) {
      // hear() finds out
    }
  }

  GroupOptions options_;
  Control::Lost lost_;  ///< used until all ranks have connected
  Socket listener_;
  std::vector<Socket> strangers_;  ///< connections without a hello yet
  std::vector<Rank> ranks_;
  std::map<std::string, std::string> values_;
  std::string failure_;
  Bell bell_;
  Deadline until_ = Deadline::max();
  std::jthread thread_;
};

/// Client of each rank: a thread listens to rank 0 and reports long calls.
class Client : public Control {
 public:
  Client(const GroupOptions& o, Socket listener, const Lost& lost) : options_(o) {
    if (o.rank == 0) server_ = std::make_unique<Server>(o, std::move(listener), lost);
    const auto go_on = [&] {
      if (const std::string why = lost ? lost() : ""; !why.empty())
        fail(ErrorCode::runtime,
             fmt::format("group '{}': rank {} of {} waits for the others, and {}", o.name, o.rank, o.size, why));
    };
    const Deadline end = deadline_in(o.timeout);
    try {
      socket_ = Socket::connect(o.address, end, go_on);
      control::send(socket_, MessageKind::hello, o.rank, bytes_of_text(std::to_string(o.size)), end);
      while (deadline_in(milliseconds(0)) < end + kBrief && !socket_.readable(deadline_in(kControlSlow))) go_on();
      const Message m = control::receive(socket_, end + kBrief);
      if (m.header.kind == MessageKind::failure) fail(ErrorCode::runtime, m.text());
    } catch (const Error& e) {
      if (e.code() != ErrorCode::io) throw;
      const bool is_broken = socket_.open() && deadline_in(milliseconds(0)) < end;
      fail(ErrorCode::io,
           fmt::format("group '{}': rank {} of {}, at rank 0's address '{}': {}", o.name, o.rank, o.size, o.address,
                       server_ != nullptr ? "not all ranks connected in time"
                       : is_broken        ? "rank 0 has ended"
                                          : e.what()));
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { listen(stop); });
  }
  ~Client() override {
    std::uint64_t finished_calls = 0;
    {
      const std::lock_guard lock(mutex_);
      finished_calls = finished_calls_;
    }
    send_to_server(MessageKind::leave, std::as_bytes(std::span(&finished_calls, 1)));
    thread_.request_stop();
    bell_.ring();
    thread_.join();
    socket_ = Socket();
    server_.reset();
  }

  void begin(const CallState& state) override {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) fail(ErrorCode::runtime, failure_);
    if (!is_point_to_point(state.kind)) {  // the message may be in flight already
      if (const std::string why = departure_conflict(state); !why.empty()) fail(ErrorCode::runtime, why);
    }
    current_ = state;
    since_ = std::chrono::steady_clock::now();
    has_reported_ = false;
  }
  void end() noexcept override {
    const std::lock_guard lock(mutex_);
    if (!is_point_to_point(current_.kind)) finished_calls_ = std::max(finished_calls_, current_.number);
    const bool awaited = has_reported_ || first_left_;
    current_ = {};
    if (awaited) bell_.ring();
  }
  void device_waits(const CallState& state) noexcept override {
    std::string why;
    {
      const std::lock_guard lock(mutex_);
      if (state.number != 0 && !is_point_to_point(state.kind)) why = departure_conflict(state);
    }
    if (!why.empty()) return stop(why);
    const Status s = state.number == 0 ? Status{} : status_of(state);
    send_to_server(MessageKind::status, std::as_bytes(std::span(&s, 1)));
  }
  void mark_finished(std::uint64_t number) noexcept override {
    const std::lock_guard lock(mutex_);
    finished_calls_ = std::max(finished_calls_, number);
  }
  std::string failure(milliseconds patience) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return !failure_.empty(); });
    return failure_;
  }
  void stop(const std::string& why) noexcept override {
    send_to_server(MessageKind::failure, bytes_of_text(why));
    set_failure(why);
  }
  std::string place_of(int rank) override { return {}; }
  std::string own_host() const override {
    const std::string address = socket_.own_address();
    return address.substr(0, address.rfind(':'));
  }
  FailureActs& acts() override { return acts_; }
  void set_failure_callback(std::function<void()> act) override {
    std::unique_lock lock(mutex_);
    if (failure_.empty()) {
      act_ = std::move(act);
      return;
    }
    lock.unlock();
    act();
  }

  void set(const std::string& key, std::span<const std::byte> value) override {
    std::vector<std::byte> body(key.size() + 1 + value.size());
    if (body.size() > control::kMaxBodyBytes)
      fail(ErrorCode::invalid_argument, fmt::format("'{}': the value has {} bytes; ranks exchange at most {}", key,
                                                    value.size(), control::kMaxBodyBytes - key.size() - 1));
    std::memcpy(body.data(), key.c_str(), key.size() + 1);
    std::ranges::copy(value, body.begin() + static_cast<std::ptrdiff_t>(key.size()) + 1);
    send_to_server(MessageKind::set_value, body);
  }
  std::vector<std::byte> get(const std::string& key) override {
    std::unique_lock lock(mutex_);
    value_.reset();
    send_to_server(MessageKind::get_value, bytes_of_text(key));
    const bool came = changed_.wait_for(lock, options_.timeout, [&] { return value_ || !failure_.empty(); });
    if (!failure_.empty()) fail(ErrorCode::runtime, failure_);
    if (!came) fail(ErrorCode::io, fmt::format("no rank sent '{}' in time", key));
    return std::move(*value_);
  }

 private:
  /// Explains why a call became impossible after the departure of rank 0.
  std::string departure_conflict(const CallState& call) const {
    const bool needs = is_point_to_point(call.kind) ? call.root == 0 : call.number > first_finished_calls_;
    if (!first_left_ || !needs || options_.rank == 0) return {};
    return fmt::format("group '{}': rank {} is in {}, and rank 0 has left the group after {} calls", options_.name,
                       options_.rank, describe(call), first_finished_calls_);
  }
  /// Rank 0 waits for finished ranks.
  bool has_finished() {
    const std::lock_guard lock(mutex_);
    return first_left_ && current_.number == 0 && finished_calls_ >= first_finished_calls_;
  }
  void hear_leave(const Message& m) {
    std::string why;
    {
      const std::lock_guard lock(mutex_);
      if (m.body.size() == sizeof first_finished_calls_)
        std::memcpy(&first_finished_calls_, m.body.data(), sizeof first_finished_calls_);
      first_left_ = true;
      if (current_.number != 0 && !is_point_to_point(current_.kind)) why = departure_conflict(current_);
    }
    if (!why.empty()) stop(why);
  }

  void listen(const std::stop_token& stop) {
    for (bool alone = false; !stop.stop_requested();) {
      if (!alone && has_finished()) {
        send_to_server(MessageKind::bye, {});
        alone = true;
      }
      platform::Polled polls[] = {bell_.polled(), alone ? platform::Polled() : socket_.polled()};
      const int ready = platform::poll(polls, kControlSlow / 2);
      if (polls[0].has_event()) bell_.silence();
      tell_status();
      if (ready <= 0 || !polls[1].has_event()) continue;
      try {
        Message m = control::receive(socket_, deadline_in(kBrief));
        if (m.header.kind == MessageKind::failure) set_failure(m.text());
        if (m.header.kind == MessageKind::leave) hear_leave(m);
        if (m.header.kind != MessageKind::value) continue;
        const std::lock_guard lock(mutex_);
        value_ = std::move(m.body);
        changed_.notify_all();
      } catch (const Error&) {
        std::unique_lock lock(mutex_);
        alone = first_left_;  // earlier messages of rank 0 may still be in flight
        if (alone) continue;
        lock.unlock();
        return set_failure(fmt::format("group '{}': rank 0 has ended", options_.name));
      }
    }
  }

  void tell_status() {
    Status s{};
    std::string why;
    {
      const std::lock_guard lock(mutex_);
      const bool slow = current_.number != 0 && std::chrono::steady_clock::now() - since_ >= kControlSlow;
      if (slow == has_reported_) return;
      has_reported_ = slow;
      if (slow) s = status_of(current_), why = departure_conflict(current_);
    }
    if (!why.empty()) return stop(why);
    send_to_server(MessageKind::status, std::as_bytes(std::span(&s, 1)));
  }

  void set_failure(const std::string& why) noexcept {
    std::function<void()> act;
    {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) return;
      failure_ = why;
      act = std::exchange(act_, nullptr);
      changed_.notify_all();
    }
    if (act) act();
    acts_.run(why);
  }
  void send_to_server(MessageKind kind, std::span<const std::byte> body) noexcept {
    try {
      const std::lock_guard lock(sending_);
      control::send(socket_, kind, options_.rank, body, deadline_in(kBrief));
    } catch (const std::exception&) {
      // `listen` finds out
    }
  }

  GroupOptions options_;
  std::unique_ptr<Server> server_;
  Socket socket_;
  Bell bell_;
  std::mutex sending_;  ///< guards sends of this rank
  std::mutex mutex_;    ///< guards the members below
  std::condition_variable changed_;
  CallState current_;
  std::chrono::steady_clock::time_point since_;
  bool has_reported_ = false, first_left_ = false;  ///< first_left_: rank 0 has left
  std::uint64_t finished_calls_ = 0, first_finished_calls_ = 0;
  std::string failure_;
  std::optional<std::vector<std::byte>> value_;
  std::function<void()> act_;
  FailureActs acts_;
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<Control> Control::connect(const GroupOptions& options, Socket listener, Lost lost) {
  return std::make_unique<Client>(options, std::move(listener), lost);
}

}  // namespace tern
