#include "kernels/cpu/pointwise/requantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dtypes/byte_integers.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::pointwise {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kPiece = 4096;  // elements per step of a result without rows
constexpr float kMostZero = 1 << 16;   // largest zero point: sums stay exact in every step

/// min(max(x, low), high), low <= high.
struct ClampRange {
  float low = -kInfinity, high = kInfinity;
  void raise_to(float c) {
    low = std::max(low, c);
    high = std::max(high, c);
  }
  void lower_to(float c) {
    low = std::min(low, c);
    high = std::min(high, c);
  }
};

Residual::Kind kind_of(DType d) {
  return d == DType::f32  ? Residual::Kind::floats
         : d == DType::u8 ? Residual::Kind::unsigned_bytes
                          : Residual::Kind::signed_bytes;
}

}  // namespace

class Requantizer::Reader {
 public:
  explicit Reader(std::vector<LeafStep> steps) : steps_(std::move(steps)) {
    for (LeafStep& s : steps_) {  // a zero's sign and NaN's code do not reach an integer
      if (s.op == LeafOp::min_of) s.op = LeafOp::min;
      if (s.op == LeafOp::max_of) s.op = LeafOp::max;
    }
  }

  std::optional<Requantizer> read(DType result) {
    r_.subtrahend_ = leaf(LeafOp::sub);
    r_.first_ = leaf(LeafOp::mul);
    if (r_.first_) r_.second_ = leaf(LeafOp::mul);
    if (scales_rounding()) {  // a factor is the result's scale
      --step_;
      (r_.second_ ? r_.second_ : r_.first_).reset();
    }
    r_.addend_ = leaf(LeafOp::add);
    ClampRange bounds = read_bounds();
    r_.residual_low_ = bounds.low;
    r_.residual_high_ = bounds.high;
    r_.residual_ = residual();
    if (r_.residual_) bounds = read_bounds();
    if (!read_scale(bounds)) return std::nullopt;
    if (const auto zero = constant(LeafOp::add)) {
      if (*zero != std::rint(*zero) || std::abs(*zero) > kMostZero) return std::nullopt;
      r_.zero_ = static_cast<std::int32_t>(*zero);
    }
    // An integer bound of rounded numbers also bounds the numbers themselves.
    const auto zero = static_cast<float>(r_.zero_);
    while (step_ < steps_.size()) {
      const bool is_max = steps_[step_].op == LeafOp::max;
      const auto c = constant(is_max ? LeafOp::max : LeafOp::min);
      if (!c || *c != std::rint(*c) || std::abs(*c) > kMostZero) return std::nullopt;
      is_max ? bounds.raise_to(*c - zero) : bounds.lower_to(*c - zero);
    }
    const float smallest = result == DType::u8 ? 0 : -128;
    if (!(bounds.low + zero >= smallest && bounds.high + zero <= smallest + 255)) return std::nullopt;
    r_.low_ = bounds.low;
    r_.high_ = bounds.high;
    return r_;
  }

 private:
  bool is_op(LeafOp op, std::size_t at) const { return at < steps_.size() && steps_[at].op == op; }

  /// True if the factor before the rounding was read as a factor of the sums.
  bool scales_rounding() const {
    return r_.first_ && is_op(LeafOp::round, step_) && is_op(LeafOp::mul, step_ - 1) &&
           steps_[step_ - 1].leaf.kind == Leaf::Kind::constant;
  }

  std::optional<Leaf> leaf(LeafOp op) {
    if (!is_op(op, step_)) return std::nullopt;
    const LeafStep& s = steps_[step_];
    const bool several = s.leaf.kind == Leaf::Kind::row || s.leaf.kind == Leaf::Kind::column ||
                         s.leaf.kind == Leaf::Kind::uniform || s.leaf.kind == Leaf::Kind::constant;
    if (s.times.kind != Leaf::Kind::none || !several) return std::nullopt;
    ++step_;
    return s.leaf;
  }
  std::optional<Leaf> residual() {
    if (!is_op(LeafOp::add, step_)) return std::nullopt;
    const LeafStep& s = steps_[step_];
    if (s.times.kind != Leaf::Kind::none || s.leaf.kind != Leaf::Kind::element) return std::nullopt;
    ++step_;
    return s.leaf;
  }
  std::optional<float> constant(LeafOp op) {
    if (!is_op(op, step_)) return std::nullopt;
    const LeafStep& s = steps_[step_];
    if (s.leaf.kind != Leaf::Kind::constant || s.times.kind != Leaf::Kind::none || std::isnan(s.leaf.number))
      return std::nullopt;
    ++step_;
    return s.leaf.number;
  }
  ClampRange read_bounds() {
    ClampRange b;
    for (;;) {
      if (const auto c = constant(LeafOp::max)) {
        b.raise_to(*c);
      } else if (const auto d = constant(LeafOp::min)) {
        b.lower_to(*d);
      } else {
        return b;
      }
    }
  }
  /// Products with a positive factor, and their rounding, preserve order: bounds can move past the product.
  bool read_scale(ClampRange& bounds) {
    const bool divides = is_op(LeafOp::div, step_);
    if (const auto scale = constant(divides ? LeafOp::div : LeafOp::mul)) {
      if (!(*scale > 0) || *scale == kInfinity) return false;
      r_.scale_ = *scale;
      r_.divides_ = divides;
      const auto scaled = [&](float b) { return divides ? b / *scale : b * *scale; };
      bounds = {scaled(bounds.low), scaled(bounds.high)};
    }
    if (!is_op(LeafOp::round, step_)) return false;
    ++step_;
    return true;
  }

  std::vector<LeafStep> steps_;
  std::size_t step_ = 0;
  Requantizer r_;
};

std::optional<Requantizer> Requantizer::create(const KernelCall& call, const TileProgram& program) {
  const DType result = call.node->expr.code.back().dtype;
  if (!is_byte_integer(result)) return std::nullopt;
  auto [steps, start] = leaf_steps(call, program, call.node->expr.code.size() - 1);
  auto r = Reader(std::move(steps)).read(result);
  if (!r) return std::nullopt;
  r->inner_ = program.rank == 2 ? program.sizes[1] : 0;
  if (is_start(call, program, start)) {
    const std::ptrdiff_t operand = program.loads[program.instructions[start].load].operand;
    r->start_ = operand == kOwnResult ? 0 : static_cast<std::size_t>(operand);
    return r;
  }
  if (call.node->op == Op::pointwise) return std::nullopt;  // the operand must stay unchanged
  const auto end = activation_end(call.node->expr, start);
  if (!end) return std::nullopt;
  r->activation_ = program.table.activations[static_cast<int>(end->activation)];
  r->activated_ = LeafChain::create(call, program, end->argument);
  return r->activated_ || is_start(call, program, end->argument) ? std::move(r) : std::nullopt;
}

void Requantizer::run(const KernelCall& call) const {
  const std::int64_t count = call.out[0].numel(), row = inner_ == 0 ? count : inner_, piece = std::min(row, kPiece),
                     pieces = (row + piece - 1) / piece;
  const auto* from = call.in[start_].data_as<const float>();
  // Stores whole rows, or pieces of long rows.
  parallel_for(count / row * pieces, grain_for(piece), [&](std::int64_t begin, std::int64_t end) {
    if (pieces == 1) return store_block(call, from + begin * row, row, end - begin, row, begin * row, row);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = i % pieces * piece, at = i / pieces * row + column;
      store_block(call, from + at, row, 1, std::min(piece, row - column), at, row);
    }
  });
}

void Requantizer::store(const KernelCall& call, float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                        std::int64_t begin, std::int64_t row_step) const {
  if (activated_) activated_->apply(call, {block, ld, block, ld, rows, columns}, begin, row_step);
  if (activation_ != nullptr) activation_(block, ld, rows, columns);
  store_block(call, block, ld, rows, columns, begin, row_step);
}

void Requantizer::store_block(const KernelCall& call, const float* block, std::int64_t ld, std::int64_t rows,
                              std::int64_t columns, std::int64_t begin, std::int64_t row_step) const {
  static const auto run = best_level(run_requantized_levels);
  static constexpr float kOne = 1, kNothing = -0.0F;
  const BlockStart start = BlockStart::create(inner_, begin, row_step, rows, columns).value();
  RequantizedBlock b{.source = block,
                     .source_ld = ld,
                     .destination = call.out[0].data + begin,
                     .destination_ld = row_step,
                     .rows = rows,
                     .columns = columns,
                     .first = {&kOne},
                     .addend = {&kNothing},
                     .scale = scale_,
                     .divides = divides_,
                     .low = low_,
                     .high = high_,
                     .zero = zero_};
  if (subtrahend_) b.subtrahend = start.numbers(call, *subtrahend_);
  if (first_) b.first = start.numbers(call, *first_);
  if (second_) b.second = start.numbers(call, *second_);
  if (addend_) b.addend = start.numbers(call, *addend_);
  if (residual_) {
    const TensorView& from = call.in[residual_->operand];
    const std::int64_t element = residual_->dtype == DType::f32 ? 4 : 1;
    b.residual = {kind_of(residual_->dtype),
                  from.data + begin * element,
                  row_step,
                  residual_->less,
                  residual_->times,
                  residual_low_,
                  residual_high_};
  }
  run(b);
}

}  // namespace tern::pointwise
