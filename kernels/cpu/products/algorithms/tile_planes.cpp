#include "kernels/cpu/products/algorithms/tile_planes.h"

#include <atomic>
#include <utility>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/problem.h"
#include "kernels/cpu/products/tiles/row_driver.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::int64_t kFewPackedRows = 12;  // fewer rows do not repay packing
constexpr std::size_t kPackedPlaneSlot = 1;

/// Operands and planes of a call. Rows of x have stride 1; the weight has rows or columns of stride 1.
struct PlaneOperands {
  explicit PlaneOperands(const KernelCall& c) : problem(describe(c, false)) {
    const int r = problem.a.rank;
    x_row = problem.a.stride(r - 2);
    copies_x = problem.convert_a || (problem.a.stride(r - 1) != 1 && problem.k != 1);
    weight_row = problem.b.stride(r - 2);
    weight_column = problem.b.stride(r - 1);
  }

  tiles::TileLinearShape shape() const {
    return {problem.m, problem.n, problem.k, x_row, weight_row == 1 ? weight_column : weight_row, tiles::kRounded};
  }

  Problem problem;
  std::int64_t x_row, weight_row, weight_column;
  bool copies_x;
};

bool is_vector_of(const TensorView& v, std::int64_t n) {
  return v.numel() == n && v.rank > 0 && v.size(v.rank - 1) == n && is_floating(v.dtype) && v.dtype != DType::f64;
}

/// True if at least half of the packed weight's elements are the weight's.
bool fills_packed_weight(const Problem& p) {
  return 2 * p.n * p.k >= tiles::blocks_of(p.n) * tiles::kBlock * tiles::steps_of(p.k) * tiles::kStep;
}

bool takes_tile_planes(const ProductProperties& p, const PlaneOperands& o) {
  const KernelCall& c = p.call;
  const DType x = c.in[0].dtype, w = c.in[1].dtype, y = c.out[0].dtype;
  const auto fits = [](DType t) { return t == DType::f32 || t == DType::bf16; };
  const bool narrow = x == DType::bf16 && w == DType::bf16, rounds = c.precision == Precision::bfloat16;
  if (!fits(x) || !fits(w) || !fits(y) || !(narrow || rounds) || c.in[1].blocks.columns != 0) return false;
  if (!(c.algorithm == Algorithm::tile_rows ? tiles::rows_possible() : rows_pay())) return false;
  const Problem& s = o.problem;
  if (s.m < kFewPackedRows || o.copies_x || s.convert_b || (o.weight_row != 1 && o.weight_column != 1)) return false;
  return fills_packed_weight(s) && (!c.has_input(2) || is_vector_of(c.in[2], s.n)) &&
         tiles::RowLinear::suits(o.shape());
}

class TilePlanes : public PreparedAlgorithm {
 public:
  TilePlanes(const ProductProperties& p, const PlaneOperands& o)
      : tiles_(o.shape()),
        shares_planes_(o.problem.batch.planes >= Threads::current().count()),
        otherwise_(prepare_blocks(p)) {
    choice = {Algorithm::tile_rows};
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override {
    PlaneBuffers(*this, c, arena);
    otherwise_->reserve(c, arena);
  }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    const PlaneBuffers buffers(*this, c, arena);
    const PlaneOperands o(c);
    if (c.has_input(2)) to_dense(c.in[2], DType::f32, buffers.bias);
    std::atomic<bool> finite = true;
    const auto planes = [&](std::int64_t begin, std::int64_t end) {
      if (!multiply(c, o, {begin, end}, buffers, epilogue)) finite.store(false, std::memory_order_relaxed);
    };
    shares_planes_
        ? parallel_for(o.problem.batch.planes, grain_for(o.problem.m * o.problem.n * o.problem.k / 16), planes)
        : planes(0, o.problem.batch.planes);
    return finite ? RemainingWork::nothing : otherwise_->run(c, arena, epilogue);
  }

 private:
  /// Scratch memory. Threads that share planes have packed weights of their own.
  struct PlaneBuffers {
    PlaneBuffers(const TilePlanes& p, const KernelCall& c, ScratchArena& arena)
        : packed(p.shares_planes_ ? nullptr : arena.allocate<std::byte>(p.tiles_.packed_bytes())),
          rows(arena.allocate<std::byte>(p.shares_planes_ ? 0 : static_cast<std::int64_t>(p.tiles_.scratch()))),
          bias(c.has_input(2) ? arena.allocate<float>(c.in[2].numel()) : nullptr) {}
    std::byte *packed, *rows;
    float* bias;
  };

  bool multiply(const KernelCall& c, const PlaneOperands& o, tiles::IndexRange planes, const PlaneBuffers& buffers,
                const pointwise::Epilogue* epilogue) const {
    const Problem& s = o.problem;
    std::byte *packed = buffers.packed, *rows = buffers.rows;
    if (packed == nullptr) {
      const auto weight = static_cast<std::size_t>(tiles_.packed_bytes());
      packed = thread_buffer<std::byte>(weight + tiles_.scratch(), kPackedPlaneSlot);
      rows = packed + weight;
    }
    const tiles::Elements x = tiles::Elements::from_tensor(c.in[0]), w = tiles::Elements::from_tensor(c.in[1]);
    const bool narrow = c.out[0].dtype == DType::bf16;
    std::int64_t packed_offset = -1;
    bool finite = true;
    for (std::int64_t i = planes.begin; i < planes.end && finite; ++i) {
      const Batch::Offsets at = s.batch.offsets_of(i);
      if (at.b != packed_offset) pack(o, w.offset_by(at.b), packed);
      packed_offset = at.b;
      finite = tiles_.run({.x = x.offset_by(at.a),
                           .weight = packed,
                           .bias = buffers.bias,
                           .y = c.out[0].data,
                           .narrow = narrow,
                           .finish = {epilogue, &c},
                           .first_row = i * s.m},
                          rows);
    }
    return finite;
  }
  void pack(const PlaneOperands& o, tiles::Elements weight, std::byte* packed) const {
    o.weight_row == 1 ? tiles_.pack(weight, packed) : tiles_.pack_columns(weight, packed);
  }

  tiles::RowLinear tiles_;
  bool shares_planes_;
  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< computes results that are not finite
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_tile_planes(const ProductProperties& p) {
  const PlaneOperands o(p.call);
  return takes_tile_planes(p, o) ? std::make_unique<TilePlanes>(p, o) : nullptr;
}

}  // namespace tern::cpu
