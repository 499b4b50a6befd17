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
    : context_(context), stays_(context.stream->device().traits().host_memory) {}

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

void Transfer::bring(const Function& f, std::span<const Tensor> given, std::vector<TensorView>& inputs) {
  if (stays_) return;
  inputs_.resize(std::max(inputs_.size(), inputs.size()));
  given_ = inputs;
  there_.assign(inputs.size(), false);
  auto next = given.begin();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (f.inputs[i].kind != FunctionInput::Kind::user) continue;
    const Tensor& t = *next++;
    if (f.inputs[i].value == kNoValue) continue;
    there_[i] = !TensorMemory::on_host(t);
    if (there_[i] && inputs[i].contiguous() && is_aligned(inputs[i].data)) continue;
    const std::uint64_t bytes = bytes_of(inputs[i]);
    inputs_[i].reserve(bytes, context_.device(), context_.user());
    if (there_[i]) {
      make_contiguous(inputs[i]);
      inputs[i].data = inputs_[i].data();
      context_.copy(given_[i], inputs[i]);
    } else {
      context_.upload(inputs_[i].data(), inputs[i].data, bytes);
      inputs[i].data = inputs_[i].data();
    }
  }
  brought_ = inputs;
}

const std::vector<TensorView>& Transfer::keep(const std::vector<TensorView>& results, const CallerOutputs& outputs) {
  bool all = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!outputs.loses(results, i)) continue;
    if (all) safe_ = results;
    all = false;
    kept_.resize(std::max(kept_.size(), results.size()));
    kept_[i].reserve(bytes_of(results[i]), context_.device(), context_.user());
    safe_[i].data = kept_[i].data();
    context_.copy(results[i], safe_[i]);
  }
  return all ? results : safe_;
}

const std::vector<TensorView>& Transfer::take_back(const Function& f, const std::vector<TensorView>& made,
                                                   const CallerOutputs* outputs) {
  const std::vector<TensorView>& results = outputs == nullptr ? made : keep(made, *outputs);
  if (stays_) return results;
  outputs_.resize(std::max(outputs_.size(), results.size()));
  results_ = results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::uint64_t bytes = bytes_of(results[i]);
    if (outputs != nullptr && outputs->there(i)) {
      results_[i].data = outputs->view(i).data;
      if (results_[i].data != results[i].data) context_.copy(results[i], outputs->view(i));
      continue;
    }
    if (outputs != nullptr && outputs->direct(i)) {
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
    const TensorView &to = given_[w.index], &from = brought_[w.index];
    if (!there_[w.index]) {
      context_.download(to.data, from.data, bytes_of(to));
    } else if (to.data != from.data) {
      context_.copy(from, to);
    }
  }
  return results_;
}

void Transfer::read(const TensorView& from, const TensorView& to) {
  DeviceStream& stream = *context_.stream;
  if (stays_) return stream.copy(from, to);
  const std::uint64_t bytes = bytes_of(to);
  Buffer dense;
  dense.reserve(bytes, context_.device(), context_.user());
  TensorView there = to;
  there.data = dense.data();
  stream.copy(from, there);
  stream.enqueue_download(to.data, dense.data(), bytes);
  stream.synchronize();
}

void Transfer::write(const TensorView& from, const TensorView& to) {
  DeviceStream& stream = *context_.stream;
  if (stays_) return stream.copy(from, to);
  const std::uint64_t bytes = bytes_of(from);
  Buffer dense;
  dense.reserve(bytes, context_.device(), context_.user());
  TensorView there = from;
  there.data = dense.data();
  stream.enqueue_upload(dense.data(), from.data, bytes);
  stream.copy(there, to);
  stream.synchronize();
}

}  // namespace tern
