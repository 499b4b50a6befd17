// Strided views to contiguous runs of another type, and back: how kernels get operands in the type that they compute
// in.
#pragma once

#include <memory>
#include <new>

#include "kernels/kernel.h"

namespace tern {

/// Writes the elements of `from`, or the numbers of a quantized value, in row-major order to `to`, converted to
/// `dtype`.
void to_dense(const TensorView& from, DType dtype, void* to);
/// Converts a contiguous run of `dtype` into the contiguous view `to`.
void from_dense(const void* from, DType dtype, const TensorView& to);

/// `v` without the repetitions of expanded axes: those of stride 0 before the last two get size 1.
TensorView planes_without_repeats(const TensorView& v);
/// The same memory seen with `rank` axes, new ones of size 1 in front. rank >= v.rank.
TensorView unsqueeze_to_rank(const TensorView& v, int rank);

/// Rounds up to whole cache lines.
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) & ~std::size_t{63};
}

/// Cuts a scratch area into aligned parts; with a null base it only counts.
class ScratchArena {
 public:
  explicit ScratchArena(std::byte* base = nullptr) : base_(base) {}
  template <class T>
  T* allocate(std::int64_t count) {
    std::byte* at = base_ == nullptr ? nullptr : base_ + used_;
    used_ += aligned(static_cast<std::size_t>(count) * sizeof(T));
    return reinterpret_cast<T*>(at);
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

/// The scratch memory of a call: what the runtime gave, or memory of its own where that is too small.
class Scratch {
 public:
  Scratch(const KernelCall& call, std::size_t bytes) {
    if (call.scratch.size() >= bytes) {
      data_ = call.scratch.data();
    } else {
      owned_.reset(new (std::align_val_t{64}) std::byte[bytes]);
      data_ = owned_.get();
    }
  }
  std::byte* data() const { return data_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte[], Free> owned_;
  std::byte* data_ = nullptr;
};

}  // namespace tern
