// tiles::RowStore takes sums as floats: of integers it is given the same memory.
#pragma once

#include "kernels/cpu/products/epilogue/row_store.h"
#include "kernels/cpu/products/int8/methods.h"

namespace tern::int8 {
namespace {  // files of other instruction sets have their own

template <class Sums, bool kKept>
class IntegerStore : public tiles::RowStore<Sums, tiles::IntegerSums<kKept>> {
 public:
  using Base = tiles::RowStore<Sums, tiles::IntegerSums<kKept>>;
  using Base::Base;
  using Base::block;
  void block(const std::int32_t* sums, std::int64_t row, std::int64_t count, std::int64_t column) {
    Base::block(reinterpret_cast<const float*>(sums), row, count, column);
  }
};

/// Calls f(store) with the store that the task wants.
template <class Sums, class F>
void visit_store(const RowResults& results, const Task& task, const F& f) {
  if (task.stores_sums) {
    IntegerStore<Sums, true> store(results);
    return f(store);
  }
  IntegerStore<Sums, false> store(results);
  f(store);
}

}  // namespace
}  // namespace tern::int8
