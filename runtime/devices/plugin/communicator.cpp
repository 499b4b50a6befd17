#include "runtime/devices/plugin/communicator.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/collective/call.h"
#include "runtime/collective/transport_group.h"
#include "runtime/devices/plugin/call_timeout.h"
#include "runtime/devices/plugin/stream.h"

namespace tern {
namespace {

/// Tells this process from all others.
std::int64_t process_number() {
  static const std::int64_t number = [] {
    std::random_device random;
    return static_cast<std::int64_t>(random()) << 32 | static_cast<std::int64_t>(random());
  }();
  return number;
}

/// The same in every process of every host (FNV-1a), and never 0.
std::int64_t number_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<std::int64_t>(hash | 1);
}

/// The plugin's end of a group, which another thread may abort while it is in use.
class Place {
 public:
  explicit Place(PluginDevice& device) : device_(device), functions_(*device.tables().collectives) {}
  void join(const std::uint8_t* id, int rank, int ranks) {
    device_.check(functions_.join(device_.index(), id, rank, ranks, &handle_), "joining a communicator");
    const std::lock_guard lock(mutex_);
    here_ = true;
  }
  void abort(const std::string& why) noexcept {
    const std::lock_guard lock(mutex_);
    if (here_ && functions_.abort != nullptr) functions_.abort(device_.index(), handle_, why.c_str());
  }
  void leave() noexcept {
    const std::lock_guard lock(mutex_);
    if (std::exchange(here_, false)) functions_.leave(device_.index(), handle_);
  }
  tern_device_communicator handle() const { return handle_; }

 private:
  PluginDevice& device_;
  const tern_device_collective_functions& functions_;
  tern_device_communicator handle_ = nullptr;
  std::mutex mutex_;
  bool here_ = false;
};

class PluginCommunicator : public DeviceCommunicator {
 public:
  PluginCommunicator(PluginStream& stream, ProcessGroup& group);
  ~PluginCommunicator() override { leave(); }
  PluginCommunicator(const PluginCommunicator&) = delete;
  PluginCommunicator& operator=(const PluginCommunicator&) = delete;
  bool run(const Collective& call) override;
  bool run_batch(std::span<const Collective> calls) override;
  void abort(const std::string& why) noexcept override { place_->abort(why); }

 private:
  void leave() noexcept;
  bool done(tern_device_status status, const Collective& call);
  PluginStream& stream_;
  const tern_device_collective_functions& functions_;
  std::shared_ptr<Place> place_;
  std::shared_ptr<void> on_failure_;
  std::optional<CallTimeout> timeout_;
  std::vector<tern_device_collective> batch_;
};

tern_device_collective for_plugin(const Collective& c) {
  tern_device_collective call{};
  call.size = sizeof call;
  call.kind = static_cast<std::int32_t>(c.kind);
  call.reduction = static_cast<std::int32_t>(c.reduce);
  call.dtype = static_cast<std::int32_t>(c.dtype);
  call.root = c.root;
  call.count = static_cast<std::uint64_t>(c.count);
  call.in = reinterpret_cast<tern_device_address>(c.in);
  call.out = reinterpret_cast<tern_device_address>(c.out);
  if (!c.in_parts.empty()) call.in_parts = c.in_parts.data();
  if (!c.out_parts.empty()) call.out_parts = c.out_parts.data();
  return call;
}

PluginCommunicator::PluginCommunicator(PluginStream& stream, ProcessGroup& group)
    : stream_(stream),
      functions_(*stream.device().tables().collectives),
      place_(std::make_shared<Place>(stream.device())) {
  PluginDevice& device = stream.device();
  auto* const known = dynamic_cast<TransportGroup*>(&group);
  if (known != nullptr) on_failure_ = known->on_failure([p = place_](const std::string& why) { p->abort(why); });
  std::array<std::uint8_t, TERN_DEVICE_GROUP_ID_BYTES> id{};
  if (group.rank() == 0) device.check(functions_.unique_id(device.index(), id.data()), "beginning a communicator");
  group.run(
      {.kind = CollectiveKind::broadcast, .dtype = DType::u8, .count = id.size(), .in = id.data(), .out = id.data()});
  place_->join(id.data(), group.rank(), group.size());
  try {
    // No rank continues before all have arrived.
    const std::uint8_t here = 1;
    std::vector<std::uint8_t> all(static_cast<std::size_t>(group.size()));
    group.run({.kind = CollectiveKind::all_gather, .dtype = DType::u8, .count = 1, .in = &here, .out = all.data()});
  } catch (...) {
    leave();
    throw;
  }
  if (known == nullptr || functions_.abort == nullptr) return;
  timeout_.emplace(stream, known->timeout(), [known, p = place_](const std::string& what) {
    const std::string why = fmt::format("group '{}': rank {} has waited {} ms in {} of its device", known->name(),
                                        known->rank(), known->timeout().count(), what);
    known->abort(why);
    p->abort(why);
  });
}

void PluginCommunicator::leave() noexcept {
  stream_.settle();
  timeout_.reset();
  on_failure_.reset();
  place_->leave();
}

bool PluginCommunicator::done(tern_device_status status, const Collective& call) {
  if (status == TERN_DEVICE_UNSUPPORTED) return false;
  stream_.device().check(status, "communicating");
  if (timeout_) timeout_->add(fmt::format("{}, at {}", describe(call), call.where));
  return true;
}

bool PluginCommunicator::run(const Collective& c) {
  // The table has no others; parts of all_to_all came with messages.
  const auto last = functions_.run_batch == nullptr ? CollectiveKind::broadcast : CollectiveKind::all_to_all;
  if (c.kind > last || c.reduce > ReduceOp::bxor) return false;
  const tern_device_collective call = for_plugin(c);
  return done(functions_.run(stream_.device().index(), stream_.used(), place_->handle(), &call), c);
}

bool PluginCommunicator::run_batch(std::span<const Collective> calls) {
  if (functions_.run_batch == nullptr || calls.empty()) return false;
  batch_.clear();
  for (const Collective& c : calls) batch_.push_back(for_plugin(c));
  return done(functions_.run_batch(stream_.device().index(), stream_.used(), place_->handle(), batch_.data(),
                                   static_cast<std::uint32_t>(batch_.size())),
              calls[0]);
}

}  // namespace

DeviceRank::Offer PluginRank::offer() const {
  const PluginDevice& device = stream_.device();
  return {number_of(device.plugin().name), process_number(), device.index()};
}

std::unique_ptr<DeviceCommunicator> PluginRank::join(ProcessGroup& group) {
  return std::make_unique<PluginCommunicator>(stream_, group);
}

}  // namespace tern
