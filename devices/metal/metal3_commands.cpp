// Metal 3 command buffers. Metal itself orders commands with common buffers within a queue.
#include <utility>

#include "devices/metal/commands.h"
#include "devices/metal/status.h"

namespace tern::metal {
namespace {

class Metal3Submission : public Submission {
 public:
  explicit Metal3Submission(Owned<MTL::CommandBuffer> buffer) : buffer_(std::move(buffer)) {}

  void wait() override { buffer_->waitUntilCompleted(); }
  bool finished() override { return buffer_->status() >= MTL::CommandBufferStatusCompleted; }
  std::string error() override {
    return buffer_->status() == MTL::CommandBufferStatusError ? text(buffer_->error()) : "";
  }
  Times times() override { return {buffer_->GPUStartTime(), buffer_->GPUEndTime()}; }

 private:
  Owned<MTL::CommandBuffer> buffer_;
};

class Metal3Commands : public Commands {
 public:
  Metal3Commands(const MetalDevice& device, Owned<MTL::CommandQueue> queue)
      : device_(device), queue_(std::move(queue)) {}
  ~Metal3Commands() override { end_encoding(); }

  tern_device_status launch(const Pipeline& pipeline, std::span<const MetalArgument> arguments, std::uint64_t items,
                            std::uint64_t group) override;
  void copy(const BufferRange& to, const BufferRange& from, std::uint64_t bytes) override;
  void signal(MTL::SharedEvent& event, std::uint64_t value) override;
  void wait(MTL::SharedEvent& event, std::uint64_t value) override;
  void retain_buffer(std::shared_ptr<DeviceBuffer>) override {}  // command buffers retain their resources
  std::uint64_t count() const override { return count_; }
  SubmissionPtr submit() override;

 private:
  MTL::CommandBuffer& buffer();
  MTL::ComputeCommandEncoder& compute();
  MTL::BlitCommandEncoder& blit();
  void end_encoding();
  tern_device_status bind(MTL::ComputeCommandEncoder& encoder, const MetalArgument& argument, NS::UInteger index);

  const MetalDevice& device_;
  Owned<MTL::CommandQueue> queue_;
  Owned<MTL::CommandBuffer> buffer_;  // null before the first command
  // Open encoders: at most one.
  Owned<MTL::ComputeCommandEncoder> compute_;
  Owned<MTL::BlitCommandEncoder> blit_;
  std::uint64_t count_ = 0;
};

MTL::CommandBuffer& Metal3Commands::buffer() {
  if (!buffer_) buffer_ = share(queue_->commandBuffer());
  return *buffer_;
}

MTL::ComputeCommandEncoder& Metal3Commands::compute() {
  if (!compute_) {
    end_encoding();
    compute_ = share(buffer().computeCommandEncoder(MTL::DispatchTypeSerial));
  }
  return *compute_;
}

MTL::BlitCommandEncoder& Metal3Commands::blit() {
  if (!blit_) {
    end_encoding();
    blit_ = share(buffer().blitCommandEncoder());
  }
  return *blit_;
}

void Metal3Commands::end_encoding() {
  if (compute_) compute_->endEncoding();
  if (blit_) blit_->endEncoding();
  compute_ = nullptr;
  blit_ = nullptr;
}

tern_device_status Metal3Commands::bind(MTL::ComputeCommandEncoder& encoder, const MetalArgument& argument,
                                        NS::UInteger index) {
  constexpr std::uint32_t kMaxBytes = 4096;  // limit of setBytes
  if (argument.value == nullptr) {
    encoder.setBuffer(argument.range.buffer, argument.range.offset, index);
    return TERN_DEVICE_OK;
  }
  if (argument.size <= kMaxBytes) {
    encoder.setBytes(argument.value, argument.size, index);
    return TERN_DEVICE_OK;
  }
  const auto values = adopt(device_.device->newBuffer(argument.value, argument.size, MTL::ResourceStorageModeShared));
  if (!values) return failed(TERN_DEVICE_OUT_OF_MEMORY, "Metal has no buffer for a kernel's parameters");
  encoder.setBuffer(values.get(), 0, index);
  return TERN_DEVICE_OK;
}

tern_device_status Metal3Commands::launch(const Pipeline& pipeline, std::span<const MetalArgument> arguments,
                                          std::uint64_t items, std::uint64_t group) {
  MTL::ComputeCommandEncoder& encoder = compute();
  encoder.setComputePipelineState(pipeline.state.get());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (const tern_device_status bound = bind(encoder, arguments[i], i); bound != TERN_DEVICE_OK) return bound;
  encoder.dispatchThreads(MTL::Size(items, 1, 1), MTL::Size(group, 1, 1));
  ++count_;
  return TERN_DEVICE_OK;
}

void Metal3Commands::copy(const BufferRange& to, const BufferRange& from, std::uint64_t bytes) {
  blit().copyFromBuffer(from.buffer, from.offset, to.buffer, to.offset, bytes);
  ++count_;
}

void Metal3Commands::signal(MTL::SharedEvent& event, std::uint64_t value) {
  end_encoding();
  buffer().encodeSignalEvent(&event, value);
  const Owned<MTL::SharedEvent> kept = share(&event);
  buffer().addCompletedHandler(^(MTL::CommandBuffer* done) {
    const Pool pool;
    if (done->status() == MTL::CommandBufferStatusError) signal_by_host(*kept, value);
  });
  ++count_;
}

void Metal3Commands::wait(MTL::SharedEvent& event, std::uint64_t value) {
  end_encoding();
  buffer().encodeWait(&event, value);
  ++count_;
}

SubmissionPtr Metal3Commands::submit() {
  end_encoding();
  buffer().commit();
  count_ = 0;
  return std::make_shared<Metal3Submission>(std::exchange(buffer_, nullptr));
}

}  // namespace

std::unique_ptr<Commands> metal3_commands(const MetalDevice& device) {
  auto queue = adopt(device.device->newCommandQueue());
  if (queue) return std::make_unique<Metal3Commands>(device, std::move(queue));
  failed(TERN_DEVICE_FAILED, "Metal has no more command queues");
  return nullptr;
}

}  // namespace tern::metal
