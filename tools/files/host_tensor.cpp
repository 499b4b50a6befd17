#include "tools/files/host_tensor.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "tools/text.h"

namespace tern {

std::optional<std::int64_t> checked_numel(std::span<const std::int64_t> sizes) {
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, size, &product)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : product;
}

std::optional<std::int64_t> checked_bytes(DType dtype, std::span<const std::int64_t> sizes) {
  const std::optional<std::int64_t> numel = checked_numel(sizes);
  if (!numel) return std::nullopt;
  const int per_byte = elements_per_byte(dtype);
  std::int64_t bytes = *numel / per_byte + (*numel % per_byte != 0 ? 1 : 0);
  if (__builtin_mul_overflow(bytes, std::int64_t{element_size(dtype)}, &bytes)) return std::nullopt;
  return bytes;
}

std::int64_t HostTensor::numel() const {
  const std::optional<std::int64_t> n = checked_numel(sizes);
  if (!n) fail(ErrorCode::invalid_argument, fmt::format("a tensor cannot have the sizes {}", sizes_text(sizes)));
  return *n;
}

const HostTensor* NamedTensors::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const auto& entry) { return entry.first == name; });
  return found == tensors.end() ? nullptr : &found->second;
}

HostTensor allocate_tensor(DType dtype, std::vector<std::int64_t> sizes, std::string_view tensor_name) {
  const std::optional<std::int64_t> bytes = checked_bytes(dtype, sizes);
  if (!bytes) {
    fail(ErrorCode::bad_file, fmt::format("{}: a tensor cannot have the sizes {}", tensor_name, sizes_text(sizes)));
  }
  HostTensor tensor{dtype, std::move(sizes), {}};
  try {
    tensor.data.resize(static_cast<std::size_t>(*bytes));
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::out_of_memory, fmt::format("{}: no memory for its {}", tensor_name, human_bytes(*bytes)));
  } catch (const std::length_error&) {
    fail(ErrorCode::out_of_memory, fmt::format("{}: no memory for its {}", tensor_name, human_bytes(*bytes)));
  }
  return tensor;
}

void require_consistent(const HostTensor& tensor, std::string_view tensor_name) {
  const std::optional<std::int64_t> bytes = checked_bytes(tensor.dtype, tensor.sizes);
  if (tensor.dtype == DType::invalid || !bytes || static_cast<std::uint64_t>(*bytes) != tensor.data.size()) {
    fail(ErrorCode::invalid_argument, fmt::format("{}: {} {} does not fit its {} bytes of data", tensor_name,
                                                  name_of(tensor.dtype), sizes_text(tensor.sizes), tensor.data.size()));
  }
}

std::optional<std::size_t> first_invalid_byte(DType dtype, std::span<const std::byte> data) {
  std::byte limit{0xff};
  if (dtype == DType::boolean) limit = std::byte{1};
  if (dtype == DType::f6_e2m3 || dtype == DType::f6_e3m2) limit = std::byte{0x3f};
  if (limit == std::byte{0xff}) return std::nullopt;
  const auto bad = std::find_if(data.begin(), data.end(), [limit](std::byte b) { return b > limit; });
  if (bad == data.end()) return std::nullopt;
  return static_cast<std::size_t>(bad - data.begin());
}

}  // namespace tern
