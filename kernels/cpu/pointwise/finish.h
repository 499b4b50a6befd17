// Applies the node's epilogue, if it has one, to a block of results before it is stored.
#pragma once

#include "kernels/cpu/pointwise/epilogue.h"

namespace tern::pointwise {

struct Finish {
  const Epilogue* epilogue = nullptr;
  const KernelCall* call = nullptr;

  /// Whether whole blocks are to be given to `apply`.
  explicit operator bool() const { return epilogue != nullptr && !epilogue->simple(); }
  /// What is done in registers instead; null: nothing.
  const SimpleEpilogue* simple() const {
    return epilogue != nullptr && epilogue->simple() ? &*epilogue->simple() : nullptr;
  }
  /// As Epilogue::apply_block.
  void apply(float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns, std::int64_t begin,
             std::int64_t row_step) const {
    epilogue->apply_block(*call, block, ld, rows, columns, begin, row_step);
  }
  /// As Epilogue::store_block.
  bool store(float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns, std::int64_t begin,
             std::int64_t row_step) const {
    return epilogue->store_block(*call, block, ld, rows, columns, begin, row_step);
  }
  /// Stores the block; false where the caller has to: then the epilogue, if there is one, was applied to it.
  bool store_or_apply(float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns, std::int64_t begin,
                      std::int64_t row_step) const {
    if (epilogue == nullptr) return false;
    if (store(block, ld, rows, columns, begin, row_step)) return true;
    apply(block, ld, rows, columns, begin, row_step);
    return false;
  }
};

}  // namespace tern::pointwise
