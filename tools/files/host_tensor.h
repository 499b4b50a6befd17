// Tensors in plain memory, as files hold them: the common form of every reader and writer in this folder.
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

/// As in PyTorch and NumPy. Readers refuse more.
inline constexpr std::size_t kMaxFileRank = 64;

/// The product of the sizes. Nothing when a size is negative, or when the product, zeros counted as ones, is over
/// 2^63-1: so no stride computed from such sizes can overflow either.
std::optional<std::int64_t> checked_numel(std::span<const std::int64_t> sizes);

/// The bytes that `sizes` take in memory; f4_e2m1 is rounded up to whole bytes. Nothing as for checked_numel.
std::optional<std::int64_t> checked_bytes(DType dtype, std::span<const std::int64_t> sizes);

/// Contiguous, row-major. The sizes count elements, also for f4_e2m1, which has two in a byte (see tern/dtype.h).
struct HostTensor {
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> data;

  /// ErrorCode::invalid_argument where checked_numel has no answer.
  std::int64_t numel() const;
};

struct NamedTensors {
  std::vector<std::pair<std::string, HostTensor>> tensors;
  std::map<std::string, std::string> metadata;

  /// Null when there is none of that name.
  const HostTensor* find(std::string_view name) const;
};

/// Allocates uninterpreted bytes for the sizes; ErrorCode::out_of_memory names the tensor when there is not enough.
HostTensor allocate_tensor(DType dtype, std::vector<std::int64_t> sizes, std::string_view what);

/// For writers: fails when the data is not exactly as long as dtype and sizes say.
void require_consistent(const HostTensor& tensor, std::string_view what);

/// For readers: the offset of the first byte that no element of the type may hold (a boolean that is neither 0 nor 1, a
/// six-bit element with its upper bits set).
std::optional<std::size_t> first_invalid_byte(DType dtype, std::span<const std::byte> data);

}  // namespace tern
