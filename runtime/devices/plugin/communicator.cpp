#include "runtime/devices/plugin/communicator.h"

#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

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

class PluginCommunicator : public DeviceCommunicator {
 public:
  PluginCommunicator(PluginStream& stream, ProcessGroup& group);
  ~PluginCommunicator() override { leave(); }
  PluginCommunicator(const PluginCommunicator&) = delete;
  PluginCommunicator& operator=(const PluginCommunicator&) = delete;
  bool run(const Collective& call) override;

 private:
  void leave() noexcept;
  PluginStream& stream_;
  const tern_device_collective_functions& functions_;
  tern_device_communicator handle_ = nullptr;
};

PluginCommunicator::PluginCommunicator(PluginStream& stream, ProcessGroup& group)
    : stream_(stream), functions_(*stream.device().tables().collectives) {
  PluginDevice& device = stream.device();
  std::array<std::uint8_t, TERN_DEVICE_GROUP_ID_BYTES> id{};
  if (group.rank() == 0) device.check(functions_.unique_id(device.index(), id.data()), "beginning a communicator");
  group.run(
      {.kind = CollectiveKind::broadcast, .dtype = DType::u8, .count = id.size(), .in = id.data(), .out = id.data()});
  device.check(functions_.join(device.index(), id.data(), group.rank(), group.size(), &handle_),
               "joining a communicator");
  try {
    // No rank continues before all have arrived.
    const std::uint8_t here = 1;
    std::vector<std::uint8_t> all(static_cast<std::size_t>(group.size()));
    group.run({.kind = CollectiveKind::all_gather, .dtype = DType::u8, .count = 1, .in = &here, .out = all.data()});
  } catch (...) {
    leave();
    throw;
  }
}

void PluginCommunicator::leave() noexcept {
  stream_.settle();
  functions_.leave(stream_.device().index(), handle_);
}

bool PluginCommunicator::run(const Collective& c) {
  // The table has no others yet.
  if (c.kind > CollectiveKind::broadcast || c.reduce > ReduceOp::bxor) return false;
  tern_device_collective call{};
  call.size = sizeof call;
  call.kind = static_cast<std::int32_t>(c.kind);
  call.reduction = static_cast<std::int32_t>(c.reduce);
  call.dtype = static_cast<std::int32_t>(c.dtype);
  call.root = c.root;
  call.count = static_cast<std::uint64_t>(c.count);
  call.in = reinterpret_cast<tern_device_address>(c.in);
  call.out = reinterpret_cast<tern_device_address>(c.out);
  PluginDevice& device = stream_.device();
  const tern_device_status status = functions_.run(device.index(), stream_.used(), handle_, &call);
  if (status == TERN_DEVICE_UNSUPPORTED) return false;
  device.check(status, "communicating");
  return true;
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
