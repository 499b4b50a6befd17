// Follows Apple's documentation of the encoders, and the Metal Feature Set Tables.
#include "tests/gpu/metal/encoders.h"

#include <array>
#include <memory>

#include "tests/gpu/metal/bindings.h"

namespace tern::emulator::metal {
namespace {

using ull = unsigned long long;

struct Encoder : Object {
  Encoder(Class& type, CommandBuffer& buffer) : Object(type), buffer(&buffer) {}
  // MTLCommandEncoder: an encoder must end before its release.
  ~Encoder() {
    if (open) fatal("an encoder is released that was not ended (endEncoding)");
  }
  void need_open() const {
    if (!open) fatal("%s: the encoder was ended", current_method());
  }
  void end() {
    need_open();
    open = false;
    buffer->encoder = nullptr;
  }

  Ref<CommandBuffer> buffer;
  bool open = true;
};

struct ComputeEncoder : Encoder {
  explicit ComputeEncoder(CommandBuffer& buffer);

  void set_pipeline(Object* object) {
    need_open();
    pipeline = Ref(static_cast<Pipeline*>(object));
  }
  void set_buffer(Object* object, std::uint64_t offset, std::uint64_t index);
  void set_bytes(const void* bytes, std::uint64_t length, std::uint64_t index);
  void dispatch(Size threads, Size group);

  struct Binding {
    Ref<Buffer> buffer;
    std::uint64_t offset = 0;
    std::vector<char> bytes;  // of setBytes
    bool bound = false;
  };
  Binding& binding(std::uint64_t index);

  Ref<Pipeline> pipeline;
  std::array<Binding, shim::kBuffers> bindings;
};

struct BlitEncoder : Encoder {
  explicit BlitEncoder(CommandBuffer& buffer);
  void copy(Object* from, std::uint64_t from_offset, Object* to, std::uint64_t to_offset, std::uint64_t bytes);
};

Class& compute_class() {
  static Class& type = make_class("MTLComputeCommandEncoder", destroy<ComputeEncoder>,
                                  {{"endEncoding", method<&ComputeEncoder::end>()},
                                   {"setComputePipelineState:", method<&ComputeEncoder::set_pipeline>()},
                                   {"setBuffer:offset:atIndex:", method<&ComputeEncoder::set_buffer>()},
                                   {"setBytes:length:atIndex:", method<&ComputeEncoder::set_bytes>()},
                                   {"dispatchThreads:threadsPerThreadgroup:", method<&ComputeEncoder::dispatch>()}});
  return type;
}
ComputeEncoder::ComputeEncoder(CommandBuffer& buffer) : Encoder(compute_class(), buffer) {}

Class& blit_class() {
  static Class& type =
      make_class("MTLBlitCommandEncoder", destroy<BlitEncoder>,
                 {{"endEncoding", method<&BlitEncoder::end>()},
                  {"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", method<&BlitEncoder::copy>()}});
  return type;
}
BlitEncoder::BlitEncoder(CommandBuffer& buffer) : Encoder(blit_class(), buffer) {}

ComputeEncoder::Binding& ComputeEncoder::binding(std::uint64_t index) {
  need_open();
  if (index >= bindings.size())
    fatal("%s: index %llu; a kernel has buffers 0 to 30", current_method(), static_cast<ull>(index));
  return bindings[index];
}

void ComputeEncoder::set_buffer(Object* object, std::uint64_t offset, std::uint64_t index) {
  Binding& b = binding(index);
  auto* given = static_cast<Buffer*>(object);
  if (given != nullptr && offset >= given->bytes)
    fatal("setBuffer: offset %llu of a buffer of %llu bytes", static_cast<ull>(offset), static_cast<ull>(given->bytes));
  b = {Ref(given), offset, {}, given != nullptr};
}

// "setBytes": copies at most 4 KB.
void ComputeEncoder::set_bytes(const void* bytes, std::uint64_t length, std::uint64_t index) {
  Binding& b = binding(index);
  if (length == 0 || length > 4096) fatal("setBytes: %llu bytes; 1 to 4096 are possible", static_cast<ull>(length));
  const char* from = static_cast<const char*>(bytes);
  b = {{}, 0, {from, from + length}, true};
}

void ComputeEncoder::dispatch(Size threads, Size group) {
  need_open();
  if (!pipeline) fatal("dispatchThreads: no pipeline was set");
  buffer->retain_object(pipeline.get());
  buffer->add(launch_of(*pipeline.get(), threads, group, [&](std::uint32_t index) {
    const Binding& b = bindings[index];
    if (!b.bound)
      fatal("dispatchThreads: kernel %s has no buffer at index %u", pipeline->function->kernel->name, index);
    if (!b.buffer) return Bound{0, b.bytes};
    buffer->retain_object(b.buffer.get());
    return Bound{b.buffer->address + b.offset, {}};
  }));
}

void BlitEncoder::copy(Object* from, std::uint64_t from_offset, Object* to, std::uint64_t to_offset,
                       std::uint64_t bytes) {
  need_open();
  auto *source = static_cast<Buffer*>(from), *target = static_cast<Buffer*>(to);
  if (source == nullptr || target == nullptr) fatal("copyFromBuffer: a buffer is null");
  // macOS: offsets and the size are multiples of 4.
  if ((from_offset | to_offset | bytes) % 4 != 0)
    fatal("copyFromBuffer: %llu bytes from offset %llu to offset %llu; in macOS all three are multiples of 4",
          static_cast<ull>(bytes), static_cast<ull>(from_offset), static_cast<ull>(to_offset));
  if (bytes == 0 || from_offset + bytes > source->bytes || to_offset + bytes > target->bytes)
    fatal("copyFromBuffer: %llu bytes from offset %llu of %llu to offset %llu of %llu", static_cast<ull>(bytes),
          static_cast<ull>(from_offset), static_cast<ull>(source->bytes), static_cast<ull>(to_offset),
          static_cast<ull>(target->bytes));
  buffer->retain_object(source);
  buffer->retain_object(target);
  buffer->add(BufferCopy{target->address + to_offset, source->address + from_offset, bytes});
}

}  // namespace

Object* new_compute_encoder(CommandBuffer& buffer) {
  return autorelease(std::make_unique<ComputeEncoder>(buffer).release());
}
Object* new_blit_encoder(CommandBuffer& buffer) {
  return autorelease(std::make_unique<BlitEncoder>(buffer).release());
}

}  // namespace tern::emulator::metal
