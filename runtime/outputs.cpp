#include "runtime/outputs.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <memory>

#include "platform/memory.h"
#include "runtime/device_tensor.h"
#include "runtime/devices/device.h"
#include "runtime/tensor_view.h"

namespace tern {
namespace {

constexpr std::uintptr_t kAlignment = 64;  // alignment of arena blocks

/// Bytes covered by a contiguous view; null and 0 for an absent view.
std::span<const std::byte> bytes_of_outputs(const TensorView& v) {
  if (v.data == nullptr || v.dtype == DType::invalid) return {};
  const std::int64_t per = elements_per_byte(v.dtype);
  return {v.data, static_cast<std::size_t>((v.numel() + per - 1) / per * element_size(v.dtype))};
}

/// Bytes from the first to the last element.
std::span<const std::byte> extent_of(const TensorView& v) {
  const std::span<const std::byte> dense = bytes_of_outputs(v);
  if (dense.empty() || v.contiguous()) return dense;
  std::int64_t below = 0, above = 1;
  for (std::size_t a = 0; a < static_cast<std::size_t>(v.rank); ++a) {
    const std::int64_t last = (v.sizes[a] - 1) * v.strides[a];
    (last < 0 ? below : above) += last;
  }
  const std::int64_t size = element_size(v.dtype);  // elements never share a byte here
  return {v.data + below * size, static_cast<std::size_t>((above - below) * size)};
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return !a.empty() && !b.empty() && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

/// A tensor with uninitialized elements.
Tensor uninitialized(Device& memory_device, DType dtype, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  if (&memory_device != &cpu_device()) return Tensor::allocate(memory_device.name(), dtype, std::move(sizes));
  const std::size_t bytes = Tensor::borrow(static_cast<void*>(nullptr), dtype, sizes).byte_size();
  std::shared_ptr<void> memory(platform::allocate_aligned(kAlignment, (bytes / kAlignment + 1) * kAlignment),
                               platform::free_aligned);
  if (memory == nullptr) fail(ErrorCode::out_of_memory, fmt::format("{} bytes could not be allocated", bytes));
  void* const data = memory.get();
  return Tensor::borrow(data, dtype, std::move(sizes), {}, std::move(memory));
}

std::string shown_view(const TensorView& v) {
  return text_of(Tensor::borrow(static_cast<void*>(nullptr), v.dtype, {v.shape().begin(), v.shape().end()}));
}

}  // namespace

CallerOutputs::CallerOutputs(const Function& f, Device& device, Device& memory_device)
    : f_(f),
      device_(device),
      new_memory_device_(&memory_device),
      host_memory_(device.traits().host_memory),
      views_(f.outputs.size()),
      can_write_directly_(f.outputs.size()),
      is_on_device_(f.outputs.size()) {}

CallerOutputs::CallerOutputs(const Function& f, Device& device, std::span<const Tensor> tensors)
    : f_(f),
      device_(device),
      host_memory_(device.traits().host_memory),
      tensors_(tensors.begin(), tensors.end()),
      views_(tensors.size()),
      can_write_directly_(tensors.size()),
      is_on_device_(tensors.size()) {
  if (tensors.size() != f.outputs.size())
    fail(ErrorCode::invalid_argument, fmt::format("'{}' has {} results, but {} tensors were given for them", f.name,
                                                  f.outputs.size(), tensors.size()));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (t.dtype() == DType::invalid) continue;
    is_on_device_[i] = !TensorMemory::is_on_host(t);
    if (is_on_device_[i] && &TensorMemory::device(t) != &device)
      fail(ErrorCode::invalid_argument, fmt::format("the tensor for result '{}' is on {}, but the session runs on {}",
                                                    f.outputs[i].name, t.device(), device.name()));
    if (t.read_only() || t.sizes().size() > kMaxRank)
      fail(ErrorCode::invalid_argument, fmt::format("the tensor for result '{}' is {}", f.outputs[i].name,
                                                    t.read_only() ? "read-only" : "of too high a rank"));
    views_[i] = tensor_view(t);
    can_write_directly_[i] =
        t.is_contiguous() && t.byte_size() != 0 && reinterpret_cast<std::uintptr_t>(t.data()) % kAlignment == 0;
    for (std::size_t k = 0; k < i; ++k) {
      if (!tensors[k].is_contiguous() || overlap(bytes_of_outputs(views_[k]), bytes_of_outputs(views_[i])))
        can_write_directly_[i] = false;
    }
  }
}

void CallerOutputs::check_asynchronous() const {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (host_memory_ || is_on_device_[i] || can_write_directly_[i] || bytes_of_outputs(views_[i]).empty()) continue;
    fail(ErrorCode::invalid_argument,
         fmt::format("the tensor for result '{}' is on the host, and strided, not aligned to 64 bytes, or memory of an "
                     "input or of another result: enqueue_into() cannot copy there",
                     f_.outputs[i].name));
  }
}

void CallerOutputs::keep_apart(std::span<const TensorView> inputs) {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    for (const TensorView& in : inputs)
      can_write_directly_[i] = can_write_directly_[i] && !overlap(bytes_of_outputs(in), bytes_of_outputs(views_[i]));
  }
}

bool CallerOutputs::loses(std::span<const TensorView> results, std::size_t i) const {
  if (views_[i].dtype == DType::invalid || views_[i].data == results[i].data) return false;
  for (std::size_t k = 0; k < i; ++k) {
    if (views_[k].data != results[k].data && overlap(extent_of(views_[k]), extent_of(results[i]))) return true;
  }
  return false;
}

void CallerOutputs::expect(std::span<const Placed> results) {
  if (new_memory_device_ == nullptr) return check(results);
  tensors_.resize(views_.size());
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const TensorView& v = results[i].view;
    if (v.dtype == DType::invalid) continue;
    tensors_[i] = uninitialized(*new_memory_device_, v.dtype, v.shape());
    is_on_device_[i] = !TensorMemory::is_on_host(tensors_[i]);
    views_[i] = tensor_view(tensors_[i]);
    can_write_directly_[i] = tensors_[i].byte_size() != 0;
  }
}

void CallerOutputs::check(std::span<const Placed> results) const {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const TensorView &given = views_[i], &result = results[i].view;
    if (given.dtype == DType::invalid) continue;
    if (result.dtype == DType::invalid)
      fail(ErrorCode::invalid_argument,
           fmt::format("result '{}' is None, but a tensor was given for it", f_.outputs[i].name));
    if (given.dtype != result.dtype || !std::ranges::equal(given.shape(), result.shape()))
      fail(ErrorCode::invalid_argument, fmt::format("result '{}' is {}, but the tensor given for it is {}",
                                                    f_.outputs[i].name, shown_view(result), shown_view(given)));
  }
}

void CallerOutputs::redirect_arguments(const SectionPlan& plan, std::span<TensorView> args) const {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (!is_written_directly(i)) continue;
    for (const std::uint32_t arg : plan.output_args[i])
      args[arg].data = views_[i].data + (plan.locations[arg].offset - plan.outputs[i].location.offset);
  }
}

void CallerOutputs::expose_results(std::vector<Tensor>& outputs) const {
  outputs.clear();
  if (new_memory_device_ == nullptr) outputs = tensors_;
}

void CallerOutputs::copy(std::span<const TensorView> results) const {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (views_[i].dtype != DType::invalid && views_[i].data != results[i].data) copy_strided(results[i], views_[i]);
  }
}

}  // namespace tern
