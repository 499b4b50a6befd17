#include "runtime/devices/transfer.h"

#include <algorithm>

#include "runtime/devices/device.h"
#include "runtime/outputs.h"

namespace tern {

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

void Transfer::bring(const Function& f, std::vector<TensorView>& inputs) {
  if (stays_) return;
  inputs_.resize(std::max(inputs_.size(), inputs.size()));
  given_ = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (f.inputs[i].kind != FunctionInput::Kind::user || f.inputs[i].value == kNoValue) continue;
    const std::uint64_t bytes = bytes_of(inputs[i]);
    inputs_[i].reserve(bytes, context_.device());
    context_.upload(inputs_[i].data(), inputs[i].data, bytes);
    inputs[i].data = inputs_[i].data();
  }
}

const std::vector<TensorView>& Transfer::take_back(const Function& f, const std::vector<TensorView>& results,
                                                   const CallerOutputs* outputs) {
  if (stays_) return results;
  outputs_.resize(std::max(outputs_.size(), results.size()));
  results_ = results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::uint64_t bytes = bytes_of(results[i]);
    if (outputs != nullptr && outputs->direct(i)) {
      results_[i].data = outputs->view(i).data;
      context_.download(results_[i].data, results[i].data, bytes);
      continue;
    }
    if (bytes > outputs_[i].size()) settle();  // a run before may still write there
    outputs_[i].reserve(bytes, cpu_device());
    context_.download(outputs_[i].data(), results[i].data, bytes);
    results_[i].data = results[i].dtype == DType::invalid ? nullptr : outputs_[i].data();
  }
  for (const WriteBack& w : f.writebacks) {
    if (w.target != WriteBack::Target::input) continue;
    context_.download(given_[w.index].data, inputs_[w.index].data(), bytes_of(given_[w.index]));
  }
  return results_;
}

void Transfer::read(const TensorView& from, const TensorView& to) {
  DeviceStream& stream = *context_.stream;
  if (stays_) return stream.copy(from, to);
  const std::uint64_t bytes = bytes_of(to);
  Buffer dense;
  dense.reserve(bytes, context_.device());
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
  dense.reserve(bytes, context_.device());
  TensorView there = from;
  there.data = dense.data();
  stream.enqueue_upload(dense.data(), from.data, bytes);
  stream.copy(there, to);
  stream.synchronize();
}

}  // namespace tern
