// The operations of one graph of cuDNN.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "devices/gpu/cuda/cudnn_descriptor.h"
#include "devices/gpu/libraries/shape.h"

namespace tern::gpu {

namespace cudnn {

/// In the order in which they compute. cuDNN copies what it is given: descriptors of tensors may go once operations
/// have them.
class Operations {
 public:
  /// Arithmetic is of the type `compute`.
  Operations(const CudnnApi& api, int compute) : api_(&api), compute_(compute) {}

  /// Lies in memory, at the pack's address of this number, a multiple of `alignment` bytes.
  Descriptor operand(const Shape& shape, int type, std::int64_t number, std::int64_t alignment) const;
  /// Made by one operation and read by others; never in memory.
  Descriptor between(const Shape& shape, int type);
  Descriptor between(const Shape& shape) { return between(shape, compute_); }
  /// One float32 on the host, at the pack's address of this number.
  Descriptor value(std::size_t axes, std::int64_t number) const;

  struct Pointwise {
    const Descriptor* b = nullptr;  ///< the second operand
    const Descriptor* t = nullptr;  ///< kSelect: where it takes the first one
    std::int64_t axis = -1;         ///< kGenIndex
  };
  void pointwise(PointwiseMode mode, const Descriptor& x, const Pointwise& more, const Descriptor& y);
  void matmul(const Descriptor& a, const Descriptor& b, const Descriptor& c);
  /// Along the axes where y has one element.
  void reduce(int mode, const Descriptor& x, const Descriptor& y);
  /// An operation of another kind, whose attributes and finalize() are the caller's.
  Descriptor& add(Kind kind) { return all_.emplace_back(*api_, kind); }

  [[nodiscard]] const CudnnApi& api() const { return *api_; }
  [[nodiscard]] int compute() const { return compute_; }
  [[nodiscard]] std::span<const Descriptor> all() const { return all_; }

 private:
  Descriptor tensor(const Shape& shape, int type, std::int64_t number, std::int64_t alignment) const;

  const CudnnApi* api_;
  int compute_;
  std::int64_t next_ = kFirstBetween;
  std::vector<Descriptor> all_;

  static constexpr std::int64_t kFirstBetween = 100;  ///< numbers of operands are smaller
};

}  // namespace cudnn
}  // namespace tern::gpu
