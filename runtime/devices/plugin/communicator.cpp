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
#include "runtime/collective/flight.h"
#include "runtime/collective/transport_group.h"
#include "runtime/devices/plugin/call_timeout.h"
#include "runtime/devices/plugin/stream.h"

namespace tern {
namespace {

/// Distinguishes this process from all others.
std::int64_t process_number() {
  static const std::int64_t number = [] {
    std::random_device random;
    return static_cast<std::int64_t>(random()) << 32 | static_cast<std::int64_t>(random());
  }();
  return number;
}

/// Equal in every process on every host (FNV-1a), and never 0.
std::int64_t number_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<std::int64_t>(hash | 1);
}

/// The plugin's communicator of a group. Another thread may abort a communicator in use.
class CommunicatorPlace {
 public:
  explicit CommunicatorPlace(PluginDevice& device) : device_(device), functions_(*device.tables().collectives) {}
  void join(const std::uint8_t* id, int rank, int ranks) {
    device_.check(functions_.join(device_.index(), id, rank, ranks, &handle_), "joining a communicator");
    const std::lock_guard lock(mutex_);
    here_ = true;
  }
  void abort(const std::string& why) noexcept {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    if (here_ && functions_.abort != nullptr) functions_.abort(device_.index(), handle_, why.c_str());
  }
  void leave() noexcept {
    const std::lock_guard lock(mutex_);
    if (std::exchange(here_, false)) functions_.leave(device_.index(), handle_);
  }
  tern_device_communicator handle() const { return handle_; }
  bool aborted() {
    const std::lock_guard lock(mutex_);
    return aborted_;
  }

 private:
  PluginDevice& device_;
  const tern_device_collective_functions& functions_;
  tern_device_communicator handle_ = nullptr;
  std::mutex mutex_;
  bool here_ = false, aborted_ = false;
};

/// Library of a plugin as named in flight records.
std::string_view library_of(std::string_view plugin) {
  return plugin == "cuda" ? "nccl" : plugin == "rocm" ? "rccl" : plugin;
}

/// Reports a device's calls to the group and the flight recorder.
class CallReport : public CallListener {
 public:
  CallReport(TransportGroup& group, std::shared_ptr<CommunicatorPlace> place, std::string_view library)
      : group_(group),
        place_(std::move(place)),
        flight_{library, group.name(), group.rank(), group.size(), group.in_process()} {}
  /// Describes calls already on the stream.
  DeviceCall of(std::span<const Collective> calls, std::uint64_t number) const {
    FlightRecorder& flight = FlightRecorder::process();
    DeviceCall made{state_of(calls[0], number), {}};
    for (const Collective& c : calls) {
      made.records.push_back(flight.schedule(flight_, c, number));
      flight.start(made.records.back());
    }
    return made;
  }
  void ended(const DeviceCall& call) override {
    if (place_->aborted()) return;  // after an abort the stream has moved on
    for (const std::uint64_t r : call.records) FlightRecorder::process().complete(r);
    if (!is_point_to_point(call.state.kind)) group_.watch().made(call.state.number);
    if (std::exchange(waits_, false)) group_.watch().device_waits({});
  }
  void waits(const DeviceCall& call) override {
    waits_ = true;
    group_.watch().device_waits(call.state);
  }
  void expired(const DeviceCall& call) override {
    const std::string why = fmt::format("group '{}': rank {} has waited {} ms in {}, on its device", group_.name(),
                                        group_.rank(), group_.timeout().count(), describe(call.state));
    group_.stop(why);
    failed(why);
  }
  void failed(const std::string& why) {
    place_->abort(why);
    FlightRecorder::process().failed(flight_.in_process ? flight_.rank : -1);
  }
  std::uint64_t next_batch() { return group_.next_batch(); }

 private:
  TransportGroup& group_;
  std::shared_ptr<CommunicatorPlace> place_;
  FlightRecorder::Place flight_;
  bool waits_ = false;
};

class PluginCommunicator : public DeviceCommunicator {
 public:
  PluginCommunicator(PluginStream& stream, ProcessGroup& group);
  ~PluginCommunicator() override { leave(); }
  PluginCommunicator(const PluginCommunicator&) = delete;
  PluginCommunicator& operator=(const PluginCommunicator&) = delete;
  bool run(const Collective& call, std::uint64_t number) override;
  bool run_batch(std::span<const Collective> calls) override;
  void abort(const std::string& why) noexcept override { place_->abort(why); }

 private:
  void leave() noexcept;
  bool done(tern_device_status status) const;
  PluginStream& stream_;
  const tern_device_collective_functions& functions_;
  std::shared_ptr<CommunicatorPlace> place_;
  std::shared_ptr<CallReport> report_;  ///< null for groups implemented by the application
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
      place_(std::make_shared<CommunicatorPlace>(stream.device())) {
  PluginDevice& device = stream.device();
  auto* const known = dynamic_cast<TransportGroup*>(&group);
  if (known != nullptr) {
    report_ = std::make_shared<CallReport>(*known, place_, library_of(device.plugin().name));
    on_failure_ = known->on_failure([report = report_](const std::string& why) { report->failed(why); });
  }
  std::array<std::uint8_t, TERN_DEVICE_GROUP_ID_BYTES> id{};
  if (group.rank() == 0) device.check(functions_.unique_id(device.index(), id.data()), "beginning a communicator");
  group.run(
      {.kind = CollectiveKind::broadcast, .dtype = DType::u8, .count = id.size(), .in = id.data(), .out = id.data()});
  place_->join(id.data(), group.rank(), group.size());
  try {
    // No rank continues before the arrival of all ranks.
    const std::uint8_t here = 1;
    std::vector<std::uint8_t> all(static_cast<std::size_t>(group.size()));
    group.run({.kind = CollectiveKind::all_gather, .dtype = DType::u8, .count = 1, .in = &here, .out = all.data()});
  } catch (...) {
    leave();
    throw;
  }
  if (known != nullptr && functions_.abort != nullptr) timeout_.emplace(stream, known->timeout(), *report_);
}

void PluginCommunicator::leave() noexcept {
  stream_.settle();
  timeout_.reset();
  on_failure_.reset();
  place_->leave();
}

bool PluginCommunicator::done(tern_device_status status) const {
  if (status == TERN_DEVICE_UNSUPPORTED) return false;
  stream_.device().check(status, "communicating");
  return true;
}

bool PluginCommunicator::run(const Collective& c, std::uint64_t number) {
  // The table covers no other kinds; all_to_all with parts was added together with messages.
  const auto last = functions_.run_batch == nullptr ? CollectiveKind::broadcast : CollectiveKind::all_to_all;
  if (c.kind > last || c.reduce > ReduceOp::bxor) return false;
  const tern_device_collective call = for_plugin(c);
  if (!done(functions_.run(stream_.device().index(), stream_.used(), place_->handle(), &call))) return false;
  if (timeout_) timeout_->add(report_->of({&c, 1}, number));
  return true;
}

bool PluginCommunicator::run_batch(std::span<const Collective> calls) {
  if (functions_.run_batch == nullptr || calls.empty()) return false;
  batch_.clear();
  for (const Collective& c : calls) batch_.push_back(for_plugin(c));
  if (!done(functions_.run_batch(stream_.device().index(), stream_.used(), place_->handle(), batch_.data(),
                                 static_cast<std::uint32_t>(batch_.size()))))
    return false;
  if (timeout_) timeout_->add(report_->of(calls, report_->next_batch()));
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
