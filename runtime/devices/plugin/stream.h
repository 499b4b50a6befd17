// A stream on a plugin's device.
#pragma once

#include <atomic>
#include <memory>

#include "runtime/devices/plugin/clock.h"
#include "runtime/devices/plugin/communicator.h"
#include "runtime/devices/plugin/device.h"
#include "runtime/devices/plugin/graphs.h"
#include "runtime/memory.h"

namespace tern {

class PluginStream : public DeviceStream, public portable::Launcher {
 public:
  explicit PluginStream(PluginDevice& device, const StreamShare& share = {});
  ~PluginStream() override;

  PluginDevice& device() override { return device_; }
  StreamShare share() const override { return share_; }
  portable::Launcher& launcher() override { return *this; }
  tern_device_stream handle() const { return stream_; }
  /// Returns the stream for device functions that enqueue work.
  tern_device_stream used() {
    idle_ = false;
    return stream_;
  }
  const portable::Target& target() const override { return device_.target(); }
  portable::KernelHandle kernel(const std::string& key, const std::string& name,
                                const std::function<std::string()>& text) override {
    return device_.kernel(key, name, text);
  }
  std::unique_ptr<portable::OwnKernel> own_kernel(const KernelCall& call) override;
  portable::StreamHandle use_stream() override { return std::bit_cast<portable::StreamHandle>(used()); }
  void launch(portable::KernelHandle kernel, std::span<const portable::LaunchArgument> arguments, std::int64_t items,
              std::uint32_t group) override;
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
  void upload(std::byte* to, const void* from, std::uint64_t bytes) override;
  void download(void* to, const std::byte* from, std::uint64_t bytes) override;
  std::unique_ptr<portable::Memory> allocate(std::uint64_t bytes) override;
  std::byte* failure() override;

  void copy(const TensorView& from, const TensorView& to) override;
  void enqueue_upload(std::byte* to, const void* from, std::uint64_t bytes) override;
  void enqueue_download(void* to, const std::byte* from, std::uint64_t bytes) override;
  bool enqueue_peer_copy(std::byte* to, Device& device, const std::byte* from, std::uint64_t bytes) override;
  void load(StorageSource& source, std::span<const StorageLoad> loads) override;

  void synchronize() override;
  bool idle() const override { return idle_; }
  bool has_finished() override;
  void finish() override;
  void read(void* to, const std::byte* from, std::uint64_t bytes) override;
  void settle() noexcept override;
  void recover() noexcept override;
  /// Enqueues a copy of the kernels' failure word: 0 or a code of failure.h.
  void enqueue_failure(std::int32_t* to);

  std::unique_ptr<DeviceEvent> record() override;
  void wait(const DeviceEvent& event) override;
  void* native() override;
  void wait_native(void* stream) override;
  bool is_captured() override;
  GraphRecorder* graphs() override { return device_.tables().graphs == nullptr ? nullptr : &graphs_; }
  StepClock* clock() override { return device_.tables().profiler == nullptr ? nullptr : &clock_; }
  void set_watch(StreamWatch* watch) override { watch_ = watch; }
  DeviceRank* rank() override { return device_.tables().collectives == nullptr ? nullptr : &rank_; }

  /// Enqueues work recorded by the device.
  void run_graph(tern_device_graph graph);
  /// Marks the stream as recorded by the device: work does not run, and the host neither waits nor copies.
  void set_recorded(bool recorded);

 private:
  friend class PluginDevice;
  /// Any thread: false if all work put on the stream by now has finished.
  bool may_be_pending() const { return !idle_ || has_foreign_; }
  StreamShare create_on_part(const StreamShare& share);
  void refuse_while_recorded(const char* what) const;
  /// Enqueues a copy of the failure to words_; the check after the next wait throws the failure.
  void ask_for_failure();
  void check_failure();

  PluginDevice& device_;
  tern_device_stream stream_ = nullptr;
  StreamShare share_;
  std::unique_ptr<portable::Memory> failure_;
  HostBuffer words_;                         ///< words awaited by the host: the failure, then the bytes of read()
  tern_device_event query_event_ = nullptr;  ///< event recorded by has_finished(), until the event has happened
  bool may_have_failed_ = false;
  bool recorded_ = false;                          ///< written under the device's lock of streams
  std::unique_ptr<StreamMarks> before_recording_;  ///< pending work before the recording; under the same lock
  std::atomic<bool> idle_ = true;                  ///< read by threads that free memory
  std::atomic<bool> has_foreign_ = false;          ///< the application may put work of its own on the vendor's stream
  StreamWatch* watch_ = nullptr;
  PluginGraphs graphs_{*this};
  PluginClock clock_{*this};
  PluginRank rank_{*this};
};

}  // namespace tern
