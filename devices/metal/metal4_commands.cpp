// Metal 4 command buffers. Unlike Metal 3, Metal 4 orders nothing, retains nothing, and takes arguments as addresses.
// Hence a barrier precedes each command, and resources are kept until the commands have run.
#include "devices/metal/metal4.h"
#include "devices/metal/status.h"

#if __has_include(<Metal/MTL4CommandQueue.hpp>)

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "devices/metal/metal4_submission.h"

namespace tern::metal {
namespace {

constexpr MTL::Stages kStages = MTL::StageDispatch | MTL::StageBlit;

/// Resources of commands submitted together.
struct Metal4Recording {
  Owned<MTL4::CommandAllocator> allocator;
  std::shared_ptr<DeviceBuffer> values;  ///< kernel parameters
  std::uint64_t used = 0;                ///< used bytes of `values`
  std::vector<std::shared_ptr<DeviceBuffer>> retained_buffers;
  std::vector<Owned<MTL::ComputePipelineState>> pipelines;
  std::shared_ptr<Metal4Submission> submission;
};

class Metal4Commands : public Commands {
 public:
  explicit Metal4Commands(const MetalDevice& device) : device_(device) {}
  ~Metal4Commands() override;
  /// Returns false if Metal lacks an object.
  bool begin();

  tern_device_status launch(const Pipeline& pipeline, std::span<const MetalArgument> arguments, std::uint64_t items,
                            std::uint64_t group) override;
  void copy(const BufferRange& to, const BufferRange& from, std::uint64_t bytes) override;
  void signal(MTL::SharedEvent& event, std::uint64_t value) override;
  void wait(MTL::SharedEvent& event, std::uint64_t value) override;
  void retain_buffer(std::shared_ptr<DeviceBuffer> buffer) override {
    recording().retained_buffers.push_back(std::move(buffer));
  }
  std::uint64_t count() const override { return count_; }
  SubmissionPtr submit() override;

 private:
  Metal4Recording& recording();
  MTL4::ComputeCommandEncoder& next_command();
  /// Returns the address of a copy alive until the commands have run; 0 if memory is exhausted.
  MTL::GPUAddress copy_of(const void* value, std::uint64_t size);

  const MetalDevice& device_;
  Owned<MTL4::CommandQueue> queue_;
  Owned<MTL4::CommandBuffer> buffer_;
  Owned<MTL4::ArgumentTable> table_;
  Owned<MTL::SharedEvent> completion_event_;
  std::uint64_t submissions_ = 0;           // value of completion_event_ after the last submission
  std::deque<Metal4Recording> recordings_;  // the last recording is open if is_open_
  bool is_open_ = false;
  Owned<MTL4::ComputeCommandEncoder> encoder_;  // null before the first command
  MTL::SharedEvent* signalled_ = nullptr;       // after the commands
  std::uint64_t signal_value_ = 0;
  std::uint64_t count_ = 0;
};

bool Metal4Commands::begin() {
  queue_ = adopt(device_.device->newMTL4CommandQueue());
  buffer_ = adopt(device_.device->newCommandBuffer());
  completion_event_ = adopt(device_.device->newSharedEvent());
  const auto descriptor = adopt(MTL4::ArgumentTableDescriptor::alloc()->init());
  descriptor->setMaxBufferBindCount(kMaxArguments);
  NS::Error* error = nullptr;
  table_ = adopt(device_.device->newArgumentTable(descriptor.get(), &error));
  if (!queue_ || !buffer_ || !completion_event_ || !table_) return false;
  queue_->addResidencySet(device_.residency.get());
  return true;
}

Metal4Commands::~Metal4Commands() {
  const Pool pool;
  if (encoder_) encoder_->endEncoding();
  for (Metal4Recording& r : recordings_)
    if (r.submission) r.submission->wait();
}

Metal4Recording& Metal4Commands::recording() {
  if (is_open_) return recordings_.back();
  is_open_ = true;
  if (!recordings_.empty() && recordings_.front().submission->finished()) {
    Metal4Recording reused = std::move(recordings_.front());
    recordings_.pop_front();
    reused.allocator->reset();
    reused.used = 0;
    reused.retained_buffers.clear();
    reused.pipelines.clear();
    reused.submission = nullptr;
    recordings_.push_back(std::move(reused));
  } else {
    recordings_.emplace_back().allocator = adopt(device_.device->newCommandAllocator());
  }
  return recordings_.back();
}

MTL4::ComputeCommandEncoder& Metal4Commands::next_command() {
  if (!encoder_) {
    buffer_->beginCommandBuffer(recording().allocator.get());
    encoder_ = share(buffer_->computeCommandEncoder());
    encoder_->barrierAfterQueueStages(kStages, kStages, MTL4::VisibilityOptionDevice);
  } else {
    encoder_->barrierAfterEncoderStages(kStages, kStages, MTL4::VisibilityOptionDevice);
  }
  return *encoder_;
}

MTL::GPUAddress Metal4Commands::copy_of(const void* value, std::uint64_t size) {
  constexpr std::uint64_t kAlignment = 256, kChunk = 64 << 10;  // alignment of values in the constant address space
  Metal4Recording& r = recording();
  const std::uint64_t whole = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (!r.values || r.used + whole > r.values->get()->length()) {
    if (r.values) r.retained_buffers.push_back(std::move(r.values));
    r.values = new_buffer(device_, std::max(whole, kChunk));
    r.used = 0;
    if (!r.values) return 0;
  }
  const std::uint64_t at = std::exchange(r.used, r.used + whole);
  std::memcpy(static_cast<std::byte*>(r.values->get()->contents()) + at, value, size);
  return r.values->get()->gpuAddress() + at;
}

tern_device_status Metal4Commands::launch(const Pipeline& pipeline, std::span<const MetalArgument> arguments,
                                          std::uint64_t items, std::uint64_t group) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const MetalArgument& a = arguments[i];
    const MTL::GPUAddress address =
        a.value == nullptr ? a.range.buffer->gpuAddress() + a.range.offset : copy_of(a.value, a.size);
    if (address == 0) return failed(TERN_DEVICE_OUT_OF_MEMORY, "Metal has no buffer for a kernel's parameters");
    table_->setAddress(address, i);
  }
  MTL4::ComputeCommandEncoder& encoder = next_command();
  recording().pipelines.push_back(pipeline.state);
  encoder.setComputePipelineState(pipeline.state.get());
  encoder.setArgumentTable(table_.get());
  encoder.dispatchThreads(MTL::Size(items, 1, 1), MTL::Size(group, 1, 1));
  ++count_;
  return TERN_DEVICE_OK;
}

void Metal4Commands::copy(const BufferRange& to, const BufferRange& from, std::uint64_t bytes) {
  next_command().copyFromBuffer(from.buffer, from.offset, to.buffer, to.offset, bytes);
  ++count_;
}

void Metal4Commands::signal(MTL::SharedEvent& event, std::uint64_t value) {
  signalled_ = &event;
  signal_value_ = value;
  ++count_;
}

void Metal4Commands::wait(MTL::SharedEvent& event, std::uint64_t value) {
  queue_->wait(&event, value);
  ++count_;  // a wait counts as pending work
}

SubmissionPtr Metal4Commands::submit() {
  if (!encoder_) next_command();  // signals and waits alone need a command buffer for feedback
  encoder_->endEncoding();
  encoder_ = nullptr;
  buffer_->endCommandBuffer();
  const auto feedback = std::make_shared<Feedback>();
  const auto options = adopt(MTL4::CommitOptions::alloc()->init());
  const Owned<MTL::SharedEvent> signalled = share(std::exchange(signalled_, nullptr)), done = completion_event_;
  const std::uint64_t value = signal_value_, number = ++submissions_;
  options->addFeedbackHandler(^(MTL4::CommitFeedback* given) {
    const Pool pool;
    if (given->error() != nullptr) {
      if (signalled) signal_by_host(*signalled, value);
      signal_by_host(*done, number);
    }
    const std::lock_guard lock(feedback->mutex);
    if (given->error() != nullptr) feedback->error = text(given->error());
    feedback->times = {given->GPUStartTime(), given->GPUEndTime()};
    feedback->arrived = true;
    feedback->arrival.notify_all();
  });
  const MTL4::CommandBuffer* const buffers[] = {buffer_.get()};
  queue_->commit(buffers, 1, options.get());
  if (signalled) queue_->signalEvent(signalled.get(), value);
  queue_->signalEvent(completion_event_.get(), number);
  auto submission = std::make_shared<Metal4Submission>(completion_event_, number, feedback);
  recording().submission = submission;
  is_open_ = false;
  count_ = 0;
  return submission;
}

}  // namespace

bool has_metal4(MTL::Device& device) {
  constexpr NS::Integer kMacOs = 26;  // first system with Metal 4
  return system_is(kMacOs) && device.supportsFamily(MTL::GPUFamilyMetal4);
}

Owned<MTL::ResidencySet> new_residency(MTL::Device& device) {
  const auto descriptor = adopt(MTL::ResidencySetDescriptor::alloc()->init());
  NS::Error* error = nullptr;
  return adopt(device.newResidencySet(descriptor.get(), &error));
}

std::unique_ptr<Commands> metal4_commands(const MetalDevice& device) {
  auto commands = std::make_unique<Metal4Commands>(device);
  if (commands->begin()) return commands;
  failed(TERN_DEVICE_FAILED, "Metal has no more command queues");
  return nullptr;
}

}  // namespace tern::metal

#else

namespace tern::metal {

bool has_metal4(MTL::Device&) {
  return false;
}
Owned<MTL::ResidencySet> new_residency(MTL::Device&) {
  return {};
}
std::unique_ptr<Commands> metal4_commands(const MetalDevice&) {
  failed(TERN_DEVICE_UNSUPPORTED, "this build's metal-cpp has no Metal 4");
  return nullptr;
}

}  // namespace tern::metal

#endif
