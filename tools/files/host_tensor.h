// Tensors in plain memory: the common form of every reader and writer in this folder.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern {

/// Limit of PyTorch and NumPy. Readers refuse higher ranks.
inline constexpr std::size_t kMaxFileRank = 64;

/// The product of the sizes. Empty if a size is negative, or if the product, zeros counted as 1, exceeds 2^63-1:
/// strides computed from checked sizes cannot overflow either.
std::optional<std::int64_t> checked_numel(std::span<const std::int64_t> sizes);

/// The bytes of `sizes` in memory; f4_e2m1 is rounded up to whole bytes. Empty as in checked_numel.
std::optional<std::int64_t> checked_bytes(DType dtype, std::span<const std::int64_t> sizes);

/// Contiguous, row-major. The sizes count elements, also for f4_e2m1 with two elements per byte (see tern/dtype.h).
struct HostTensor {
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> data;

  /// Throws ErrorCode::invalid_argument if checked_numel is empty.
  std::int64_t numel() const;
};

struct NamedTensors {
  std::vector<std::pair<std::string, HostTensor>> tensors;
  std::map<std::string, std::string> metadata;

  /// Null if no tensor has this name.
  const HostTensor* find(std::string_view name) const;
};

/// Allocates uninitialised bytes for the sizes; ErrorCode::out_of_memory names the tensor if memory is short.
HostTensor allocate_tensor(DType dtype, std::vector<std::int64_t> sizes, std::string_view tensor_name);

/// Check for writers: fails if the data length does not match dtype and sizes.
void require_consistent(const HostTensor& tensor, std::string_view tensor_name);

/// Check for readers: the offset of the first invalid byte of the type (a boolean other than 0 and 1, a six-bit element
/// with upper bits set).
std::optional<std::size_t> first_invalid_byte(DType dtype, std::span<const std::byte> data);

}  // namespace tern
