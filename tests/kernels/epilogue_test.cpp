// Expressions fused into products and convolutions, against the unfused op followed by plain arithmetic.
#include "kernels/cpu/pointwise/epilogue.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/node_run.h"
#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

using EpilogueShape = std::vector<std::int64_t>;

/// max(own * scale + residual, 0): scale is operand 1 of the expression, residual operand 2.
PointwiseExpr scale_add_relu() {
  Code code;
  const auto own = code.load(0, DType::f32), scale = code.load(1, DType::f32), residual = code.load(2, DType::f32);
  const auto zero = code.constant(DType::f32, 0);
  const auto product = code.push(Scalar::mul, DType::f32, own, scale);
  const auto sum = code.push(Scalar::add, DType::f32, product, residual);
  code.push(Scalar::max, DType::f32, sum, zero);
  return code.expr;
}

std::int64_t elements(const EpilogueShape& s) {
  return product(s);
}

/// Index of the element of `s` broadcast to element `i` of `out`.
std::size_t broadcast_at(const EpilogueShape& out, const EpilogueShape& s, std::int64_t i) {
  std::int64_t at = 0, step = 1;
  for (std::size_t d = 0; d < out.size(); ++d) {
    const std::int64_t size = out[out.size() - 1 - d], position = i % size;
    i /= size;
    if (d >= s.size()) continue;
    const std::int64_t own = s[s.size() - 1 - d];
    at += own == 1 ? 0 : position * step;
    step *= own;
  }
  return static_cast<std::size_t>(at);
}

struct Fused {
  Op op;
  EpilogueShape a, b, bias;  ///< bias: empty if absent
  EpilogueShape scale, residual;
  bool constant = false;
};

void fill_node(NodeRun& run, const Fused& f) {
  run.input(DType::f32, f.a, random_numbers(elements(f.a), 1, 3, 8));
  run.input(DType::f32, f.b, random_numbers(elements(f.b), 2, 3, 8), {}, f.constant);
  if (f.bias.empty()) {
    run.no_input();
  } else {
    run.input(DType::f32, f.bias, random_numbers(elements(f.bias), 3, 3, 8));
  }
  if (f.op == Op::convolution) {
    const EpilogueShape ones(f.a.size() - 2, 1);
    const std::vector<std::int64_t> n(ones.begin(), ones.end());
    run.set(AttrKey::strides, n);
    run.set(AttrKey::dilations, n);
    run.set(AttrKey::before, n);
    run.set(AttrKey::after, n);
    run.set(AttrKey::groups, f.a[1] / f.b[1]);
  }
}

void check(const Fused& f) {
  NodeRun plain(f.op);
  fill_node(plain, f);
  const std::vector<Number> before = plain.run().output();
  NodeRun fused(f.op);
  fill_node(fused, f);
  const auto scale = random_numbers(elements(f.scale), 4, 2, 4), residual = random_numbers(elements(f.residual), 5, 9);
  fused.input(DType::f32, f.scale, scale);
  fused.input(DType::f32, f.residual, residual);
  fused.node().expr = scale_add_relu();
  const std::vector<Number> after = fused.run().output();
  ASSERT_EQ(after.size(), before.size());
  const EpilogueShape out = plain.shape();
  ASSERT_EQ(fused.shape(), out);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto x = static_cast<float>(before[i].real()), s = static_cast<float>(scale[broadcast_at(out, f.scale, at)]);
    const float y = x * s, z = y + static_cast<float>(residual[broadcast_at(out, f.residual, at)]);
    ASSERT_EQ(after[i].real(), z > 0 ? z : 0.0F) << i;
  }
}

TEST(Epilogue, FollowsProductsOfEveryKind) {
  check({Op::matmul, {5, 7}, {7, 3}, {}, {3}, {5, 3}});
  check({Op::matmul, {5, 7}, {7, 3}, {3}, {3}, {5, 3}, true});
  check({Op::matmul, {33, 64}, {64, 200}, {200}, {1}, {33, 200}, true});
  check({Op::matmul, {2, 3, 33, 64}, {64, 40}, {40}, {40}, {2, 3, 33, 40}, true});
  check({Op::matmul, {4, 6, 8}, {4, 8, 150}, {}, {4, 1, 150}, {6, 1}});
  check({Op::matmul, {0, 6}, {6, 8}, {}, {8}, {1, 8}});
}

TEST(Epilogue, FollowsConvolutionsOfEveryKind) {
  check({Op::convolution, {2, 3, 12, 11}, {16, 3, 3, 3}, {16}, {16, 1, 1}, {2, 16, 12, 11}});
  check({Op::convolution, {2, 8, 12, 11}, {8, 1, 3, 3}, {}, {8, 1, 1}, {8, 12, 11}, true});
  check({Op::convolution, {1, 4, 140}, {6, 4, 3}, {6}, {6, 1}, {140}, true});
}

/// The expression of a single-matrix product, for the kernels' calls on parts of the result.
struct PartialCall {
  Node node;
  std::vector<TensorView> in{3}, out{1};
  std::vector<std::vector<float>> memory;
  KernelCall call;

  explicit PartialCall(const EpilogueShape& shape, PointwiseExpr expr) {
    node.op = Op::matmul;
    node.expr = std::move(expr);
    out[0] = view(shape, 11);
  }
  TensorView view(const EpilogueShape& shape, std::uint32_t seed) {
    TensorView v;
    v.dtype = DType::f32;
    v.rank = static_cast<std::int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), v.sizes.begin());
    make_contiguous(v);
    const std::vector<double> numbers = random_numbers(product(shape), seed, 5, 16);
    memory.emplace_back(numbers.begin(), numbers.end());
    v.data = reinterpret_cast<std::byte*>(memory.back().data());
    return v;
  }
  void finish() {
    call.node = &node;
    call.in = in;
    call.out = out;
  }
  std::vector<float>& result() { return memory[0]; }
};

/// The whole expression by parts of each size, against the whole at once.
void check_parts(const EpilogueShape& shape, const std::vector<EpilogueShape>& operands, const PointwiseExpr& expr) {
  PartialCall p(shape, expr);
  for (std::size_t i = 0; i < operands.size(); ++i) p.in.push_back(p.view(operands[i], 20 + static_cast<unsigned>(i)));
  p.finish();
  const pointwise::Epilogue epilogue(p.call);
  const std::vector<float> start = p.result();
  epilogue.apply(p.call);
  const std::vector<float> whole = p.result();
  ASSERT_NE(whole, start);
  const auto total = static_cast<std::int64_t>(start.size());
  for (const std::int64_t step : {1, 3, 16, 100, 3000}) {
    p.result() = start;
    for (std::int64_t at = 0; at < total; at += step) epilogue.apply(p.call, at, std::min(step, total - at));
    EXPECT_EQ(p.result(), whole) << "runs of " << step;
  }
  // Blocks of the matrix of all rows and the last axis, then of all but the last two axes' positions.
  for (const std::int64_t width : {shape.back(), shape.back() * shape[shape.size() - 2]}) {
    for (const auto& [high, wide, ld] :
         {std::array<std::int64_t, 3>{32, 32, 32}, {6, 16, 40}, {3, 48, 50}, {5, 7, 9}, {1, 4000, 4000}}) {
      std::vector<float> result = start;
      for (std::int64_t i = 0; i < total / width; i += high) {
        for (std::int64_t j = 0; j < width; j += wide) {
          const std::int64_t rows = std::min(high, total / width - i), columns = std::min(wide, width - j);
          std::vector<float> block(static_cast<std::size_t>(rows * ld));
          for (std::int64_t k = 0; k < rows * columns; ++k)
            block[static_cast<std::size_t>(k / columns * ld + k % columns)] =
                start[static_cast<std::size_t>((i + k / columns) * width + j + k % columns)];
          epilogue.apply_block(p.call, block.data(), ld, rows, columns, i * width + j, width);
          for (std::int64_t k = 0; k < rows * columns; ++k)
            result[static_cast<std::size_t>((i + k / columns) * width + j + k % columns)] =
                block[static_cast<std::size_t>(k / columns * ld + k % columns)];
        }
      }
      EXPECT_EQ(result, whole) << "blocks of " << high << " by " << wide << " of rows of " << width;
    }
  }
}

TEST(Epilogue, PartsMakeTheWhole) {
  const PointwiseExpr expr = scale_add_relu();
  check_parts({70, 50}, {{50}, {70, 50}}, expr);                   // a linear layer and a residual
  check_parts({2, 6, 9, 40}, {{6, 1, 1}, {2, 6, 9, 40}}, expr);    // channels of a convolution
  check_parts({2, 3, 5, 200}, {{3, 1, 1}, {1}}, expr);             // a number per channel and a scalar
  check_parts({3, 4, 11, 13}, {{4, 1, 13}, {3, 1, 11, 1}}, expr);  // some broadcast axes
  check_parts({40, 4100}, {{4100}, {40, 1}}, expr);                // rows longer than a block
}

/// (own - rows * columns) * rows * columns + columns, as sums of integers are corrected and scaled, and bounds.
PointwiseExpr corrected_and_scaled() {
  Code code;
  const auto own = code.load(0, DType::f32), rows = code.load(1, DType::f32), columns = code.load(2, DType::f32);
  const auto zero = code.constant(DType::f32, 0), six = code.constant(DType::f32, 6);
  const auto correction = code.push(Scalar::mul, DType::f32, rows, columns);
  auto x = code.push(Scalar::sub, DType::f32, own, correction);
  x = code.push(Scalar::mul, DType::f32, x, rows);
  x = code.push(Scalar::mul, DType::f32, columns, x);
  x = code.push(Scalar::add, DType::f32, x, columns);
  x = code.push(Scalar::max, DType::f32, x, zero);
  code.push(Scalar::min, DType::f32, six, x);
  return code.expr;
}

/// min(max(own * rows * columns, -1), 2)
PointwiseExpr scaled_and_bounded() {
  Code code;
  const auto own = code.load(0, DType::f32), rows = code.load(1, DType::f32), columns = code.load(2, DType::f32);
  const auto low = code.constant(DType::f32, -1), high = code.constant(DType::f32, 2);
  auto x = code.push(Scalar::mul, DType::f32, own, rows);
  x = code.push(Scalar::mul, DType::f32, x, columns);
  x = code.push(Scalar::max, DType::f32, x, low);
  code.push(Scalar::min, DType::f32, x, high);
  return code.expr;
}

/// rows - max(columns, own): a leaf first.
PointwiseExpr leaves_first() {
  Code code;
  const auto own = code.load(0, DType::f32), rows = code.load(1, DType::f32), columns = code.load(2, DType::f32);
  const auto x = code.push(Scalar::max, DType::f32, columns, own);
  code.push(Scalar::sub, DType::f32, rows, x);
  return code.expr;
}

/// gelu(own * rows + columns)
PointwiseExpr gelu_of_scaled() {
  Code code;
  const auto own = code.load(0, DType::f32), rows = code.load(1, DType::f32), columns = code.load(2, DType::f32);
  const auto x = code.push(Scalar::add, DType::f32, code.push(Scalar::mul, DType::f32, own, rows), columns);
  const auto root = code.constant(DType::f32, std::sqrt(0.5)), half = code.constant(DType::f32, 0.5),
             one = code.constant(DType::f32, 1);
  const auto e = code.push(Scalar::erf, DType::f32, code.push(Scalar::mul, DType::f32, x, root));
  const auto left = code.push(Scalar::mul, DType::f32, half, x), right = code.push(Scalar::add, DType::f32, one, e);
  code.push(Scalar::mul, DType::f32, left, right);
  return code.expr;
}

TEST(Epilogue, ChainsOfLeavesMakeTheSameBits) {
  for (const PointwiseExpr& expr : {corrected_and_scaled(), scaled_and_bounded(), leaves_first(), gelu_of_scaled()}) {
    check_parts({70, 50}, {{70, 1}, {50}}, expr);  // a number for each row and each column
    check_parts({33, 65}, {{1}, {65}}, expr);      // a scalar for all
    check_parts({40, 36}, {{40, 1}, {40, 36}}, expr);
    check_parts({3, 11, 40}, {{3, 11, 1}, {40}}, expr);
    check_parts({33, 65}, {{33, 65}, {1}}, expr);
  }
}

void check_stores(const PointwiseExpr& expr) {
  PartialCall p({40, 50}, expr);
  p.in.push_back(p.view({40, 1}, 20));
  p.in.push_back(p.view({50}, 21));
  p.finish();
  const pointwise::Epilogue epilogue(p.call);
  std::vector<float> start = p.result();
  epilogue.apply(p.call);
  const std::vector<float> whole = p.result();
  std::ranges::fill(p.result(), 0.0F);
  for (std::int64_t i = 0; i < 40; i += 20) {
    for (std::int64_t j = 0; j < 50; j += 32) {
      const std::int64_t at = i * 50 + j;
      ASSERT_TRUE(epilogue.store_block(p.call, start.data() + at, 50, 20, std::min<std::int64_t>(32, 50 - j), at, 50));
    }
  }
  EXPECT_EQ(p.result(), whole);
}

TEST(Epilogue, BlocksAreStoredAsTheyAreApplied) {
  check_stores(corrected_and_scaled());
  check_stores(gelu_of_scaled());
}

TEST(Epilogue, ConvertsAndCountsPositions) {
  // own + float(index 1) in the narrower type, and back
  Code code;
  const auto own = code.load(0, DType::f32), other = code.load(1, DType::f32);
  Code& c = code;
  const auto index = c.push(Scalar::index, DType::i64);
  c.expr.code.back().integer = 1;
  const auto position = c.push(Scalar::convert, DType::f32, index);
  const auto sum = c.push(Scalar::add, DType::f32, own, position);
  const auto narrow = c.push(Scalar::convert, DType::bf16, sum);
  const auto wide = c.push(Scalar::convert, DType::f32, narrow);
  c.push(Scalar::mul, DType::f32, wide, other);
  check_parts({9, 33, 20}, {{33, 1}}, c.expr);
}

TEST(Epilogue, AnExpressionOnAnotherOpIsRefused) {
  NodeRun run(Op::softmax);
  run.input(DType::f32, {2, 3}, random_numbers(6, 1));
  run.set(AttrKey::axis, 1);
  run.node().expr = scale_add_relu();
  EXPECT_THROW(run.infer_types(), Error);
  std::vector<TensorType> types(1);
  types[0] = {DType::f32, {2, 3}};
  run.node().op = Op::matmul;
  EXPECT_THROW(infer(run.program(), run.program().pool, run.node(), {&types[0], &types[0]}), Error);
}

}  // namespace
}  // namespace tern::test
