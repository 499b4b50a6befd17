// The operand of a reduction that a fused pointwise expression computes (schema/epilogue.h): its elements pass through
// the first-level cache and are never stored.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/pointwise/worker.h"
#include "kernels/kernel.h"

namespace tern {

class FusedOperand : public KernelState {
 public:
  explicit FusedOperand(const KernelCall& c);

  /// The operand without memory. Its strides are those of an operand of all its sizes, packed.
  const TensorView& view() const { return view_; }

  /// The node's operands with their axes in the order of memory.
  class Operands {
   public:
    Operands(const FusedOperand& operand, const KernelCall& c);
    Operands(const Operands&) = delete;
    const KernelCall& call() const { return call_; }

   private:
    std::vector<TensorView> in_;
    TensorView out_;
    KernelCall call_;
  };

  /// Computes elements in memory order, in blocks.
  class Reader {
   public:
    Reader(const FusedOperand& operand, const KernelCall& call);
    /// Returns n elements from element `at` on; valid until the next call. n <= kBlock, and n <= following.
    const std::byte* read(std::int64_t at, std::int64_t n, std::int64_t following);

   private:
    std::byte* block_;
    const pointwise::TileProgram& program_;
    std::int64_t size_, begin_ = 0, end_ = 0;
    pointwise::TileWorker worker_;
  };

 private:
  static constexpr std::int64_t kBlock = 2048;

  TensorView to_memory_order(TensorView v) const;

  TensorView view_, ordered_;
  std::array<int, kMaxRank> order_{};  ///< axes from the outermost to the innermost in memory
  Node node_;
  std::unique_ptr<pointwise::TileProgram> program_;
};

}  // namespace tern
