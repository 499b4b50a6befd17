// Groups of processes: an engine moves the elements, and rank 0 tracks the state of all ranks.
#include <fmt/format.h>
#include <tern/error.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/collective/call.h"
#include "runtime/collective/control.h"
#include "runtime/collective/divider.h"
#include "runtime/collective/engines.h"
#include "runtime/collective/transport_group.h"

namespace tern {
namespace {

using std::chrono::milliseconds;

/// Time for the parent group to report a failure responsible for broken connections of its parts.
constexpr milliseconds kCause{200};

class EngineTransport : public Transport {
 public:
  /// Connects all ranks, or only `members` of the group of `parent`.
  EngineTransport(const tern_engine& engine, const GroupOptions& o, Control& control, tern_engine_group parent,
                  std::span<const std::int32_t> members)
      : engine_(engine) {
    Access access{control, {}};
    tern_engine_store store{};
    store.context = &access;
    store.set = [](void* context, const char* key, const void* value, std::uint64_t bytes) {
      return guarded(context, [&](Access& a) { a.control.set(key, {static_cast<const std::byte*>(value), bytes}); });
    };
    store.get = [](void* context, const char* key, void (*take)(void*, const void*, std::uint64_t), void* to) {
      return guarded(context, [&](Access& a) {
        const std::vector<std::byte> value = a.control.get(key);
        take(to, value.data(), value.size());
      });
    };
    tern_engine_place place{};
    place.size = sizeof place;
    place.rank = o.rank;
    place.ranks = o.size;
    place.timeout_ms = o.timeout.count();
    place.address = o.address.c_str();
    place.store = &store;
    place.parent = parent;
    place.members = members.data();
    if (engine.connect(&place, &group_) == TERN_ENGINE_OK && share(place, access)) return;
    const std::string said = access.failure.empty() ? engine.last_message() : access.failure;
    if (group_ != nullptr) {
      close();
      engine_.destroy(group_);
    }
    std::string why = control.failure(Control::kReasonComes);
    if (why.empty()) {
      why = fmt::format("group '{}': the engine {} does not connect rank {}: {}", o.name, engine.name, o.rank, said);
      control.stop(why);
    }
    fail(ErrorCode::io, why);
  }
  ~EngineTransport() override {
    close();
    engine_.destroy(group_);
  }
  EngineTransport(const EngineTransport&) = delete;
  EngineTransport& operator=(const EngineTransport&) = delete;

  Request send(int peer, std::uint64_t tag, const void* data, std::size_t bytes) override {
    tern_engine_request r = nullptr;
    check(engine_.send(group_, peer, tag, data, bytes, &r));
    return r;
  }
  Request receive(int peer, std::uint64_t tag, void* data, std::size_t bytes) override {
    tern_engine_request r = nullptr;
    check(engine_.receive(group_, peer, tag, data, bytes, &r));
    return r;
  }
  bool wait(Request request, milliseconds timeout) override {
    const auto status = engine_.wait(group_, static_cast<tern_engine_request>(request), timeout.count());
    if (status == TERN_ENGINE_TIMEOUT) return false;
    check(status);
    return true;
  }
  void interrupt() noexcept override {
    interrupted_ = true;
    engine_.interrupt(group_);
  }
  bool interrupted() const noexcept override { return interrupted_; }
  std::span<std::byte* const> shared() const override { return shared_; }
  void close() noexcept override { engine_.close(group_); }
  tern_engine_group handle() const { return group_; }

 private:
  /// The engine's store during its connection, and the reason for a failure.
  struct Access {
    Control& control;
    std::string failure;
  };
  template <class Work>
  static tern_engine_status guarded(void* context, Work work) {
    auto& access = *static_cast<Access*>(context);
    try {
      work(access);
      return TERN_ENGINE_OK;
    } catch (const std::exception& e) {
      access.failure = e.what();
      return TERN_ENGINE_FAILED;
    }
  }
  void check(tern_engine_status status) const {
    if (status != TERN_ENGINE_OK) fail(ErrorCode::io, fmt::format("{}: {}", engine_.name, engine_.last_message()));
  }
  /// Returns false after a failure. Engines without shared memory succeed without memory.
  bool share(const tern_engine_place& place, Access& access) {
    const bool can = engine_.size >= offsetof(tern_engine, share) + sizeof engine_.share && engine_.share != nullptr;
    if (!can || place.ranks == 1) return true;
    std::vector<void*> addresses(static_cast<std::size_t>(place.ranks), nullptr);
    if (engine_.share(group_, &place, SharedSums::kBytes, addresses.data()) != TERN_ENGINE_OK) return false;
    if (addresses[0] == nullptr) return true;
    for (void* a : addresses) {
      if (reinterpret_cast<std::uintptr_t>(a) % SharedSums::kAlignment != 0)
        access.failure = "memory that it shares is not aligned as tern/engine.h says";
      shared_.push_back(static_cast<std::byte*>(a));
    }
    return access.failure.empty();
  }
  const tern_engine& engine_;
  tern_engine_group group_ = nullptr;
  std::vector<std::byte*> shared_;
  std::atomic<bool> interrupted_{false};
};

/// A kind of group: a name and the engine for its messages.
struct EngineGroupKind {
  std::string name;
  const tern_engine& engine;
};

std::shared_ptr<ProcessGroup> make_group(const EngineGroupKind& kind, const GroupOptions& options,
                                         std::unique_ptr<Control> control, tern_engine_group parent,
                                         std::span<const std::int32_t> members);

/// Divided groups have their own address, on the host of their first rank.
class EngineDivider : public Divider {
 public:
  EngineDivider(EngineGroupKind kind, GroupOptions options, Control& control, tern_engine_group group)
      : kind_(std::move(kind)),
        options_(std::move(options)),
        control_(control),
        host_(control.own_host()),
        group_(group) {}
  std::string invite(const SubgroupMembership&) override {
    listener_ = Socket::listen(host_ + ":0");
    return listener_.own_address();
  }
  std::shared_ptr<ProcessGroup> join(const SubgroupMembership& membership, const std::string& invitation) override {
    GroupOptions o = options_;
    o.rank = membership.rank;
    o.size = membership.size();
    o.name = membership.name;
    o.address = invitation;
    // A rank ending before its arrival fails the parent group.
    const auto lost = [this] { return control_.failure(milliseconds(0)); };
    try {
      return make_group(kind_, o, Control::connect(o, std::move(listener_), lost), group_, membership.members);
    } catch (const Error&) {
      if (const std::string why = control_.failure(kCause); !why.empty()) fail(ErrorCode::runtime, why);
      throw;
    }
  }

 private:
  EngineGroupKind kind_;
  GroupOptions options_;
  Control& control_;  ///< control of the parent group
  std::string host_;
  tern_engine_group group_;
  Socket listener_;  ///< open while this rank leads a group not yet joined
};

std::shared_ptr<ProcessGroup> make_group(const EngineGroupKind& kind, const GroupOptions& options,
                                         std::unique_ptr<Control> control, tern_engine_group parent,
                                         std::span<const std::int32_t> members) {
  auto transport = std::make_unique<EngineTransport>(kind.engine, options, *control, parent, members);
  auto divider = std::make_unique<EngineDivider>(kind, options, *control, transport->handle());
  Control& told = *control;
  EngineTransport& interrupted = *transport;
  auto group = std::make_shared<TransportGroup>(
      TransportGroup::Identity{options.rank, options.size, kind.name, options.name, options.timeout},
      std::move(transport), std::move(control), std::move(divider));
  // The transport stays alive while the group does; the group outlives the control thread.
  told.set_failure_callback([&interrupted] { interrupted.interrupt(); });
  return group;
}

}  // namespace

std::shared_ptr<ProcessGroup> connect_group(const std::string& engine, const GroupOptions& options) {
  check_rank(options.rank, options.size);
  const tern_engine& found = find_engine(engine);
  if (options.address.empty())
    fail(ErrorCode::invalid_argument, "connect_group: GroupOptions::address is empty; it is \"HOST:PORT\" of rank 0");
  return make_group({engine, found}, options, Control::connect(options), nullptr, {});
}

}  // namespace tern
