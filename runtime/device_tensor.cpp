// Tensors in device memory, and copies between devices.
#include "runtime/device_tensor.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <tern/stream.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/devices/device.h"
#include "runtime/devices/numbers.h"
#include "runtime/stream.h"
#include "runtime/tensor_view.h"

namespace tern {

Device& TensorMemory::device(const Tensor& t) {
  return numbered_device(t.device_);
}

Tensor TensorMemory::assign_device(Tensor t, Device& device) {
  t.device_ = number_of(device);
  return t;
}

Tensor Tensor::allocate(const std::string& device, DType dtype, std::vector<std::int64_t> sizes) {
  Device& d = Device::open(device);
  if (&d == &cpu_device()) return {dtype, std::move(sizes)};
  Tensor t = borrow(static_cast<void*>(nullptr), dtype, std::move(sizes));
  std::byte* const data = d.allocate(std::max<std::uint64_t>(t.byte_size(), 1));
  t.data_ = data;
  t.owner_ = std::shared_ptr<void>(data, [&d](void* p) { d.free(static_cast<std::byte*>(p)); });
  return TensorMemory::assign_device(std::move(t), d);
}

Tensor Tensor::borrow_on(const std::string& device, void* address, DType dtype, std::vector<std::int64_t> sizes,
                         std::vector<std::int64_t> strides, std::shared_ptr<void> owner) {
  return TensorMemory::assign_device(borrow(address, dtype, std::move(sizes), std::move(strides), std::move(owner)),
                                     Device::open(device));
}

const std::string& Tensor::device() const {
  return TensorMemory::device(*this).name();
}

Tensor Tensor::to(const std::string& device) const {
  if (dtype_ == DType::invalid) return {};
  Tensor t = allocate(device, dtype_, sizes_);
  t.copy_from(*this);
  return t;
}

namespace {

/// Returns the stream for copies of the device.
DeviceStream& stream_of(Device& device) {
  const Stream stream = Stream::current(device.name());
  if (stream.is_capturing())
    fail(ErrorCode::invalid_argument,
         fmt::format("a tensor on {} is not copied while a graph records the thread's stream", device.name()));
  return *stream.impl()->device_stream;
}

std::byte* data_of(const Tensor& t) {
  return static_cast<std::byte*>(const_cast<void*>(t.data()));
}

/// Views a contiguous tensor of any rank as bytes.
TensorView bytes_of(const Tensor& t) {
  return tensor_view(Tensor::borrow(data_of(t), DType::u8, {static_cast<std::int64_t>(t.byte_size())}));
}

/// Copies contiguous tensors of any rank on the device.
void copy_within(DeviceStream& stream, const Tensor& from, const Tensor& to) {
  const bool dense = from.is_contiguous() && to.is_contiguous();
  stream.copy(dense ? bytes_of(from) : tensor_view(from), dense ? bytes_of(to) : tensor_view(to));
}

/// Waits for copies even after an error: afterwards no copy uses the host's memory.
template <class Copies>
void finish(DeviceStream& stream, const Copies& copies) {
  try {
    copies();
    stream.finish();
  } catch (...) {
    stream.settle();
    throw;
  }
}

void upload(const Tensor& from, const Tensor& to) {
  Device& device = TensorMemory::device(to);
  DeviceStream& stream = stream_of(device);
  const Tensor dense = from.contiguous();
  const Tensor packed = to.is_contiguous() ? to : Tensor::allocate(device.name(), to.dtype(), to.sizes());
  finish(stream, [&] {
    stream.enqueue_upload(data_of(packed), dense.data(), packed.byte_size());
    if (!to.is_contiguous()) copy_within(stream, packed, to);
  });
}

void download(const Tensor& from, const Tensor& to) {
  Device& device = TensorMemory::device(from);
  DeviceStream& stream = stream_of(device);
  const Tensor packed = from.is_contiguous() ? from : Tensor::allocate(device.name(), from.dtype(), from.sizes());
  const Tensor dense = to.is_contiguous() ? to : Tensor(to.dtype(), to.sizes());
  finish(stream, [&] {
    if (!from.is_contiguous()) copy_within(stream, from, packed);
    stream.enqueue_download(data_of(dense), data_of(packed), packed.byte_size());
  });
  if (!to.is_contiguous()) copy_strided(tensor_view(dense), tensor_view(to));
}

/// Copies between devices without the host. False if the devices cannot.
bool copy_to_peer(const Tensor& from, const Tensor& to) {
  Device &source = TensorMemory::device(from), &device = TensorMemory::device(to);
  DeviceStream &from_stream = stream_of(source), &stream = stream_of(device);
  const Tensor sent = from.is_contiguous() ? from : Tensor::allocate(source.name(), from.dtype(), from.sizes());
  const Tensor packed = to.is_contiguous() ? to : Tensor::allocate(device.name(), to.dtype(), to.sizes());
  finish(from_stream, [&] {
    if (!from.is_contiguous()) copy_within(from_stream, from, sent);
  });
  bool copied = false;
  finish(stream, [&] {
    copied = stream.enqueue_peer_copy(data_of(packed), source, data_of(sent), sent.byte_size());
    if (copied && !to.is_contiguous()) copy_within(stream, packed, to);
  });
  return copied;
}

}  // namespace

void Tensor::copy_from(const Tensor& from) const {
  if (from.dtype_ != dtype_ || from.sizes_ != sizes_)
    fail(ErrorCode::invalid_argument,
         fmt::format("Tensor::copy_from: a tensor {} takes no elements of {}", text_of(*this), text_of(from)));
  if (read_only_) fail(ErrorCode::invalid_argument, "Tensor::copy_from: the tensor is read-only");
  if (bytes_ == 0) return;
  if (device_ == 0 && from.device_ == 0) {
    if (!is_contiguous() || !from.is_contiguous()) return copy_strided(tensor_view(from), tensor_view(*this));
    std::memmove(data_, from.data_, bytes_);
    return;
  }
  if (from.device_ == 0) return upload(from, *this);
  if (device_ == 0) return download(from, *this);
  if (device_ != from.device_) return copy_to_peer(from, *this) ? void() : upload(from.to("cpu"), *this);
  DeviceStream& stream = stream_of(TensorMemory::device(*this));
  finish(stream, [&] { copy_within(stream, from, *this); });
}

}  // namespace tern
