// Applies the node's epilogue, if any, to a block of results before the store.
#pragma once

#include "kernels/cpu/pointwise/epilogue.h"

namespace tern::pointwise {

struct BoundEpilogue {
  const Epilogue* epilogue = nullptr;
  const KernelCall* call = nullptr;

  /// True if `apply` must process whole blocks.
  explicit operator bool() const { return epilogue != nullptr && !epilogue->simple(); }
  /// Returns the form for registers; null: none.
  const SimpleEpilogue* simple() const {
    return epilogue != nullptr && epilogue->simple() ? &*epilogue->simple() : nullptr;
  }
  /// Like Epilogue::apply_block.
  void apply(float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns, std::int64_t begin,
             std::int64_t row_step) const {
    epilogue->apply_block(*call, block, ld, rows, columns, begin, row_step);
  }
  /// Like Epilogue::store_block.
  bool store(float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns, std::int64_t begin,
             std::int64_t row_step) const {
    return epilogue->store_block(*call, block, ld, rows, columns, begin, row_step);
  }
  /// Stores the block. Returns false if the caller must store; any epilogue is then already applied.
  bool store_or_apply(float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns, std::int64_t begin,
                      std::int64_t row_step) const {
    if (epilogue == nullptr) return false;
    if (store(block, ld, rows, columns, begin, row_step)) return true;
    apply(block, ld, rows, columns, begin, row_step);
    return false;
  }
};

}  // namespace tern::pointwise
