// Operations of one cuDNN graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "devices/gpu/cuda/cudnn_descriptor.h"
#include "devices/gpu/libraries/shape.h"

namespace tern::gpu {

namespace cudnn {

/// Operations in order of computation. cuDNN copies its inputs: tensor descriptors may be destroyed after adding the
/// operation.
class Operations {
 public:
  /// `compute`: type of the arithmetic.
  Operations(const CudnnApi& api, int compute) : api_(&api), compute_(compute) {}

  /// A tensor in memory, at the address with this number in the pack, aligned to `alignment` bytes.
  Descriptor operand(const Shape& shape, int type, std::int64_t number, std::int64_t alignment) const;
  /// An intermediate tensor, never stored in memory.
  Descriptor intermediate(const Shape& shape, int type);
  Descriptor intermediate(const Shape& shape) { return intermediate(shape, compute_); }
  /// A float32 on the host, at the address with this number in the pack.
  Descriptor value(std::size_t axes, std::int64_t number) const;

  struct Pointwise {
    const Descriptor* b = nullptr;  ///< the second operand
    const Descriptor* t = nullptr;  ///< kSelect: the condition for the first operand
    std::int64_t axis = -1;         ///< kGenIndex
  };
  void pointwise(PointwiseMode mode, const Descriptor& x, const Pointwise& more, const Descriptor& y);
  void matmul(const Descriptor& a, const Descriptor& b, const Descriptor& c);
  /// Reduces along the axes of size 1 in y.
  void reduce(int mode, const Descriptor& x, const Descriptor& y);
  /// Adds an operation of another kind; the caller sets the attributes and finalizes the operation.
  Descriptor& add(Kind kind) { return descriptors_.emplace_back(*api_, kind); }

  [[nodiscard]] const CudnnApi& api() const { return *api_; }
  [[nodiscard]] int compute() const { return compute_; }
  [[nodiscard]] std::span<const Descriptor> descriptors() const { return descriptors_; }

 private:
  Descriptor tensor(const Shape& shape, int type, std::int64_t number, std::int64_t alignment) const;

  const CudnnApi* api_;
  int compute_;
  std::int64_t next_ = kFirstIntermediate;
  std::vector<Descriptor> descriptors_;

  static constexpr std::int64_t kFirstIntermediate = 100;  ///< ids of operands are smaller
};

}  // namespace cudnn
}  // namespace tern::gpu
