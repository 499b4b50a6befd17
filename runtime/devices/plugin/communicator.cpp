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

/// Random number that distinguishes this process from all others.
std::int64_t process_number() {
  static const std::int64_t number = [] {
    std::random_device random;
    return static_cast<std::int64_t>(random()) << 32 | static_cast<std::int64_t>(random());
  }();
  return number;
}

/// Hash of a name (FNV-1a): equal in every process on every host, and never 0.
std::int64_t hash_of_name(std::string_view name) {
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
    is_joined_ = true;
  }
  void abort(const std::string& reason) noexcept {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    if (is_joined_ && functions_.abort != nullptr) functions_.abort(device_.index(), handle_, reason.c_str());
  }
  void leave() noexcept {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_joined_, false)) functions_.leave(device_.index(), handle_);
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
  bool is_joined_ = false, aborted_ = false;
};

/// Library of a plugin as named in flight records.
std::string_view library_name(std::string_view plugin) {
  return plugin == "cuda" ? "nccl" : plugin == "rocm" ? "rccl" : plugin;
}

/// Reports a device's calls to the group and the flight recorder.
class CallReport : public CallListener {
 public:
  CallReport(TransportGroup& group, std::shared_ptr<CommunicatorPlace> communicator, std::string_view library)
      : group_(group),
        communicator_(std::move(communicator)),
        flight_{library, group.name(), group.rank(), group.size(), group.is_in_process()} {}
  /// Starts the flight records of calls that are already on the stream.
  DeviceCall start_records(std::span<const Collective> calls, std::uint64_t number) const {
    FlightRecorder& flight = FlightRecorder::process();
    DeviceCall device_call{state_of(calls[0], number), {}};
    for (const Collective& c : calls) {
      device_call.records.push_back(flight.schedule(flight_, c, number));
      flight.start(device_call.records.back());
    }
    return device_call;
  }
  void ended(const DeviceCall& call) override {
    if (communicator_->aborted()) return;  // after an abort the stream has moved on
    for (const std::uint64_t record : call.records) FlightRecorder::process().complete(record);
    if (!is_point_to_point(call.state.kind)) group_.watch().mark_finished(call.state.number);
    if (std::exchange(is_waiting_, false)) group_.watch().device_waits({});
  }
  void waits(const DeviceCall& call) override {
    is_waiting_ = true;
    group_.watch().device_waits(call.state);
  }
  void expired(const DeviceCall& call) override {
    const std::string reason = fmt::format("group '{}': rank {} has waited {} ms in {}, on its device", group_.name(),
                                           group_.rank(), group_.timeout().count(), describe(call.state));
    group_.stop(reason);
    failed(reason);
  }
  void failed(const std::string& reason) {
    communicator_->abort(reason);
    FlightRecorder::process().write_on_failure(flight_.is_in_process ? flight_.rank : -1);
  }
  std::uint64_t next_batch() { return group_.next_batch(); }

 private:
  TransportGroup& group_;
  std::shared_ptr<CommunicatorPlace> communicator_;
  FlightRecorder::GroupMember flight_;
  bool is_waiting_ = false;
};

class PluginCommunicator : public DeviceCommunicator {
 public:
  PluginCommunicator(PluginStream& stream, ProcessGroup& group);
  ~PluginCommunicator() override { leave(); }
  PluginCommunicator(const PluginCommunicator&) = delete;
  PluginCommunicator& operator=(const PluginCommunicator&) = delete;
  bool run(const Collective& call, std::uint64_t number) override;
  bool run_batch(std::span<const Collective> calls) override;
  void abort(const std::string& reason) noexcept override { communicator_->abort(reason); }

 private:
  void leave() noexcept;
  /// False if the plugin does not support the call; throws for other errors.
  bool check_supported(tern_device_status status) const;
  PluginStream& stream_;
  const tern_device_collective_functions& functions_;
  std::shared_ptr<CommunicatorPlace> communicator_;
  std::shared_ptr<CallReport> report_;  ///< null for groups implemented by the application
  std::shared_ptr<void> failure_callback_;
  std::optional<CallTimeout> timeout_;
  std::vector<tern_device_collective> batch_;
};

tern_device_collective to_plugin(const Collective& c) {
  tern_device_collective call{};
  call.size = sizeof call;
  call.kind = static_cast<std::int32_t>(c.kind);
  call.reduction = static_cast<std::int32_t>(c.reduce);
  call.dtype = static_cast<std::int32_t>(c.dtype);
  call.root = c.root;
  call.count = static_cast<std::uint64_t>(c.count);
  call.input = reinterpret_cast<tern_device_address>(c.input);
  call.output = reinterpret_cast<tern_device_address>(c.output);
  if (!c.input_splits.empty()) call.input_splits = c.input_splits.data();
  if (!c.output_splits.empty()) call.output_splits = c.output_splits.data();
  return call;
}

PluginCommunicator::PluginCommunicator(PluginStream& stream, ProcessGroup& group)
    : stream_(stream),
      functions_(*stream.device().tables().collectives),
      communicator_(std::make_shared<CommunicatorPlace>(stream.device())) {
  PluginDevice& device = stream.device();
  auto* const transport_group = dynamic_cast<TransportGroup*>(&group);
  if (transport_group != nullptr) {
    report_ = std::make_shared<CallReport>(*transport_group, communicator_, library_name(device.plugin().name));
    failure_callback_ = transport_group->add_failure_callback(
        [report = report_](const std::string& reason) { report->failed(reason); });
  }
  std::array<std::uint8_t, TERN_DEVICE_GROUP_ID_BYTES> id{};
  if (group.rank() == 0) device.check(functions_.unique_id(device.index(), id.data()), "beginning a communicator");
  group.run({.kind = CollectiveKind::broadcast,
             .dtype = DType::u8,
             .count = id.size(),
             .input = id.data(),
             .output = id.data()});
  communicator_->join(id.data(), group.rank(), group.size());
  try {
    // No rank continues before the arrival of all ranks.
    const std::uint8_t arrived = 1;
    std::vector<std::uint8_t> arrivals(static_cast<std::size_t>(group.size()));
    group.run({.kind = CollectiveKind::all_gather,
               .dtype = DType::u8,
               .count = 1,
               .input = &arrived,
               .output = arrivals.data()});
  } catch (...) {
    leave();
    throw;
  }
  if (transport_group != nullptr && functions_.abort != nullptr)
    timeout_.emplace(stream, transport_group->timeout(), *report_);
}

void PluginCommunicator::leave() noexcept {
  stream_.settle();
  timeout_.reset();
  failure_callback_.reset();
  communicator_->leave();
}

bool PluginCommunicator::check_supported(tern_device_status status) const {
  if (status == TERN_DEVICE_UNSUPPORTED) return false;
  stream_.device().check(status, "communicating");
  return true;
}

bool PluginCommunicator::run(const Collective& c, std::uint64_t number) {
  // The table covers no other kinds; all_to_all with parts was added together with messages.
  const auto last_kind = functions_.run_batch == nullptr ? CollectiveKind::broadcast : CollectiveKind::all_to_all;
  if (c.kind > last_kind || c.reduce > ReduceOp::bxor) return false;
  const tern_device_collective call = to_plugin(c);
  if (!check_supported(functions_.run(stream_.device().index(), stream_.used(), communicator_->handle(), &call)))
    return false;
  if (timeout_) timeout_->add(report_->start_records({&c, 1}, number));
  return true;
}

bool PluginCommunicator::run_batch(std::span<const Collective> calls) {
  if (functions_.run_batch == nullptr || calls.empty()) return false;
  batch_.clear();
  for (const Collective& c : calls) batch_.push_back(to_plugin(c));
  if (!check_supported(functions_.run_batch(stream_.device().index(), stream_.used(), communicator_->handle(),
                                            batch_.data(), static_cast<std::uint32_t>(batch_.size()))))
    return false;
  if (timeout_) timeout_->add(report_->start_records(calls, report_->next_batch()));
  return true;
}

}  // namespace

DeviceRank::Offer PluginRank::offer() const {
  const PluginDevice& device = stream_.device();
  return {hash_of_name(device.plugin().name), process_number(), device.index()};
}

std::unique_ptr<DeviceCommunicator> PluginRank::join(ProcessGroup& group) {
  return std::make_unique<PluginCommunicator>(stream_, group);
}

}  // namespace tern
