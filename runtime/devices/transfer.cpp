#include "runtime/devices/transfer.h"

#include <algorithm>

#include "kernels/portable/launches.h"
#include "runtime/outputs.h"

namespace tern {
std::uint64_t DeviceTransfer::bytes_of(const TensorView& v) {
  if (v.dtype == DType::invalid) return 0;
  const std::int64_t per = elements_per_byte(v.dtype);
  return static_cast<std::uint64_t>((v.numel() + per - 1) / per * element_size(v.dtype));
}

void DeviceTransfer::bring(const Function& f, std::vector<TensorView>& inputs) {
  inputs_.resize(std::max(inputs_.size(), inputs.size()));
  given_ = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (f.inputs[i].kind != FunctionInput::Kind::user || f.inputs[i].value == kNoValue) continue;
    const std::uint64_t bytes = bytes_of(inputs[i]);
    inputs_[i].reserve(bytes, &stream_.device());
    stream_.enqueue_upload(inputs_[i].data(), inputs[i].data, bytes);
    inputs[i].data = inputs_[i].data();
  }
}

const std::vector<TensorView>& DeviceTransfer::take_back(const Function& f, const std::vector<TensorView>& results,
                                                         const CallerOutputs* outputs) {
  outputs_.resize(std::max(outputs_.size(), results.size()));
  results_ = results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::uint64_t bytes = bytes_of(results[i]);
    if (outputs != nullptr && outputs->direct(i)) {
      results_[i].data = outputs->view(i).data;
      stream_.enqueue_download(results_[i].data, results[i].data, bytes);
      continue;
    }
    if (bytes > outputs_[i].size()) stream_.settle();  // a run before may still write there
    outputs_[i].reserve(bytes);
    stream_.enqueue_download(outputs_[i].data(), results[i].data, bytes);
    results_[i].data = results[i].dtype == DType::invalid ? nullptr : outputs_[i].data();
  }
  for (const WriteBack& w : f.writebacks) {
    if (w.target != WriteBack::Target::input) continue;
    stream_.enqueue_download(given_[w.index].data, inputs_[w.index].data(), bytes_of(given_[w.index]));
  }
  return results_;
}

void DeviceTransfer::read(const TensorView& from, const TensorView& to) {
  const std::uint64_t bytes = bytes_of(to);
  Buffer dense;
  dense.reserve(bytes, &stream_.device());
  TensorView there = to;
  there.data = dense.data();
  portable::copy(stream_, from, there);
  stream_.download(to.data, dense.data(), bytes);
}

void DeviceTransfer::write(const TensorView& from, const TensorView& to) {
  const std::uint64_t bytes = bytes_of(from);
  Buffer dense;
  dense.reserve(bytes, &stream_.device());
  stream_.upload(dense.data(), from.data, bytes);
  TensorView there = from;
  there.data = dense.data();
  portable::copy(stream_, there, to);
  stream_.synchronize();
}

}  // namespace tern
