// Products of few rows of integers of 8 bits: what takes time is reading the weight, which is read where it lies.
#include <algorithm>
#include <numeric>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/algorithms/integer_problem.h"
#include "kernels/cpu/products/int8/dot_microkernel.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::int64_t kColumns = 64;     // computed before they are stored
constexpr std::int64_t kMostRows = 64;    // most rows of a node that asks for this algorithm
constexpr std::int64_t kWorth = 1 << 15;  // products of a thread

class IntegerDots : public PreparedAlgorithm {
 public:
  explicit IntegerDots(const IntegerProduct& p) : p_(p) {
    choice = {Algorithm::integer_dots};
    for (std::int64_t k = 0; k < p.problem.k; k += int8::kStep) steps_.push_back(k);
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override { Room(*this, c, arena); }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    const Room room(*this, c, arena);
    const Problem& p = p_.problem;
    if (room.x != nullptr) to_dense(planes_without_repeats(c.in[0]), c.in[0].dtype, room.x);
    if (room.bias != nullptr) to_dense(c.in[2], DType::i32, room.bias);
    const std::byte* x = room.x != nullptr ? room.x : c.in[0].data;
    const std::int64_t blocks = (p.n + kColumns - 1) / kColumns;
    const int8::WeightView weight = p_.weight(c.in[1].data);
    const auto dots = best_level(int8::dots_levels);
    const auto work = std::max<std::int64_t>(p.m * p.k * kColumns, 1);
    parallel_for(blocks, (kWorth + work - 1) / work, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) std::int32_t sums[kMostRows * kColumns];
      for (std::int64_t column = begin * kColumns; column < std::min(p.n, end * kColumns); column += kColumns) {
        const std::int64_t columns = std::min(kColumns, p.n - column);
        dots({.x = x,
              .x_row = p_.x_row(),
              .rows = p.m,
              .steps = steps_,
              .last = p.k - steps_.back(),
              .weight = weight.data + column * weight.column,
              .weight_row = weight.column,
              .columns = columns,
              .signs = p_.signs,
              .sums = sums,
              .ld = kColumns});
        store(c, sums, room.bias, column, columns, {epilogue, &c});
      }
    });
    return RemainingWork::nothing;
  }

 private:
  struct Room {
    Room(const IntegerDots& of, const KernelCall& c, ScratchArena& arena)
        : x(of.p_.copies_x ? arena.allocate<std::byte>(planes_without_repeats(c.in[0]).numel()) : nullptr),
          bias(c.has_input(2) ? arena.allocate<std::int32_t>(of.p_.problem.n) : nullptr) {}
    std::byte* x;
    std::int32_t* bias;
  };

  void store(const KernelCall& c, const std::int32_t* sums, const std::int32_t* bias, std::int64_t column,
             std::int64_t columns, const pointwise::BoundEpilogue& finish) const {
    const Problem& p = p_.problem;
    alignas(64) float block[kMostRows * kColumns];
    for (std::int64_t r = 0; r < p.m; ++r) {
      const std::int32_t* from = sums + r * kColumns;
      if (p_.stores_sums) {
        auto* to = c.out[0].data_as<std::int32_t>() + r * p.n + column;
        for (std::int64_t i = 0; i < columns; ++i) {
          const auto start = bias == nullptr ? 0U : static_cast<std::uint32_t>(bias[column + i]);
          to[i] = static_cast<std::int32_t>(start + static_cast<std::uint32_t>(from[i]));
        }
      } else {
        for (std::int64_t i = 0; i < columns; ++i) block[r * kColumns + i] = static_cast<float>(from[i]);
      }
    }
    if (p_.stores_sums) return;
    if (finish.store_or_apply(block, kColumns, p.m, columns, column, p.n)) return;
    for (std::int64_t r = 0; r < p.m; ++r)
      std::copy_n(block + r * kColumns, columns, c.out[0].data_as<float>() + r * p.n + column);
  }

  IntegerProduct p_;
  std::vector<std::int64_t> steps_;
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_integer_dots(const ProductProperties& p) {
  const auto integers = integer_product(p.call);
  if (!integers || !stores_result(*integers, p.call)) return nullptr;
  const Problem& q = integers->problem;
  const bool by_columns = q.b.stride(q.b.rank - 2) == 1 || q.k == 1;
  if (q.batch.planes != 1 || q.convert_b || !by_columns || q.m > kMostRows) return nullptr;
  return std::make_unique<IntegerDots>(*integers);
}

}  // namespace tern::cpu
