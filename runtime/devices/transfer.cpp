#include "runtime/devices/transfer.h"

#include <algorithm>

#include "runtime/device_tensor.h"
#include "runtime/devices/device.h"
#include "runtime/outputs.h"

namespace tern {
namespace {

/// True if aligned like arena blocks; kernels and libraries rely on that alignment.
bool is_aligned(const std::byte* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 64 == 0;
}

}  // namespace

Transfer::Transfer(const SessionContext& context)
    : context_(context), uses_host_memory_(context.stream->device().traits().host_memory) {}

Transfer::~Transfer() {
  settle();
}

void Transfer::settle() noexcept {
  context_.stream->settle();
}

std::uint64_t Transfer::bytes_of(const TensorView& v) {
  if (v.dtype == DType::invalid) return 0;
  const std::int64_t per = elements_per_byte(v.dtype);
  return static_cast<std::uint64_t>((v.numel() + per - 1) / per * element_size(v.dtype));
}

std::uint64_t Transfer::device_bytes() const {
  std::uint64_t bytes = 0;
  for (const Buffer& b : inputs_) bytes += b.size();
  return bytes;
}

void Transfer::bring(const Function& f, std::span<const Tensor> arguments, std::vector<TensorView>& inputs) {
  if (uses_host_memory_) return;
  inputs_.resize(std::max(inputs_.size(), inputs.size()));
  caller_inputs_ = inputs;
  is_on_device_.assign(inputs.size(), false);
  auto next = arguments.begin();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (f.inputs[i].kind != FunctionInput::Kind::user) continue;
    const Tensor& t = *next++;
    if (f.inputs[i].value == kNoValue) continue;
    is_on_device_[i] = !TensorMemory::is_on_host(t);
    if (is_on_device_[i] && inputs[i].contiguous() && is_aligned(inputs[i].data)) continue;
    const std::uint64_t bytes = bytes_of(inputs[i]);
    inputs_[i].reserve(bytes, context_.device(), context_.user());
    if (is_on_device_[i]) {
      make_contiguous(inputs[i]);
      inputs[i].data = inputs_[i].data();
      context_.copy(caller_inputs_[i], inputs[i]);
    } else {
      context_.upload(inputs_[i].data(), inputs[i].data, bytes);
      inputs[i].data = inputs_[i].data();
    }
  }
  device_inputs_ = inputs;
}

const std::vector<TensorView>& Transfer::preserve_overwritten(const std::vector<TensorView>& results,
                                                              const CallerOutputs& outputs) {
  bool unchanged = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!outputs.loses(results, i)) continue;
    if (unchanged) preserved_results_ = results;
    unchanged = false;
    preserved_.resize(std::max(preserved_.size(), results.size()));
    preserved_[i].reserve(bytes_of(results[i]), context_.device(), context_.user());
    preserved_results_[i].data = preserved_[i].data();
    context_.copy(results[i], preserved_results_[i]);
  }
  return unchanged ? results : preserved_results_;
}

const std::vector<TensorView>& Transfer::take_back(const Function& f, const std::vector<TensorView>& produced,
                                                   const CallerOutputs* outputs) {
  const std::vector<TensorView>& results = outputs == nullptr ? produced : preserve_overwritten(produced, *outputs);
  if (uses_host_memory_) return results;
  outputs_.resize(std::max(outputs_.size(), results.size()));
  results_ = results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::uint64_t bytes = bytes_of(results[i]);
    if (outputs != nullptr && outputs->is_on_device(i)) {
      results_[i].data = outputs->view(i).data;
      if (results_[i].data != results[i].data) context_.copy(results[i], outputs->view(i));
      continue;
    }
    if (outputs != nullptr && outputs->can_write_directly(i)) {
      results_[i].data = outputs->view(i).data;
      context_.download(results_[i].data, results[i].data, bytes);
      continue;
    }
    if (bytes > outputs_[i].size()) settle();  // an earlier run may still write to the old buffer
    outputs_[i].reserve(bytes, context_.device());
    context_.download(outputs_[i].data(), results[i].data, bytes);
    results_[i].data = results[i].dtype == DType::invalid ? nullptr : outputs_[i].data();
  }
  for (const WriteBack& w : f.writebacks) {
    if (w.target != WriteBack::Target::input) continue;
    const TensorView &to = caller_inputs_[w.index], &from = device_inputs_[w.index];
    if (!is_on_device_[w.index]) {
      context_.download(to.data, from.data, bytes_of(to));
    } else if (to.data != from.data) {
      context_.copy(from, to);
    }
  }
  return results_;
}

void Transfer::read(const TensorView& from, const TensorView& to) {
  DeviceStream& stream = *context_.stream;
  if (uses_host_memory_) return stream.copy(from, to);
  const std::uint64_t bytes = bytes_of(to);
  Buffer dense;
  dense.reserve(bytes, context_.device(), context_.user());
  TensorView device_view = to;
  device_view.data = dense.data();
  stream.copy(from, device_view);
  stream.enqueue_download(to.data, dense.data(), bytes);
  stream.synchronize();
}

void Transfer::write(const TensorView& from, const TensorView& to) {
  DeviceStream& stream = *context_.stream;
  if (uses_host_memory_) return stream.copy(from, to);
  const std::uint64_t bytes = bytes_of(from);
  Buffer dense;
  dense.reserve(bytes, context_.device(), context_.user());
  TensorView device_view = from;
  device_view.data = dense.data();
  stream.enqueue_upload(dense.data(), from.data, bytes);
  stream.copy(device_view, to);
  stream.synchronize();
}

}  // namespace tern
