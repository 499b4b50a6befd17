#include "tests/gpu/model/single_nodes.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "dtypes/convert.h"
#include "exporter/builder.h"
#include "schema/kinds.h"
#include "schema/linalg_kinds.h"

namespace tern::gpu_model {
namespace {

using enum DType;
using Sizes = std::vector<std::int64_t>;

// Adds inputs and nodes; returns the result.
using Make = ValueId (*)(Builder& b, DType type);
ValueId input(Builder& b, DType type, const Sizes& sizes) {
  const ValueId v = b.add_value({type, Dims(sizes.begin(), sizes.end())});
  b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, fmt::format("x{}", b.function().inputs.size()), {}});
  return v;
}
Attr number(AttrKey key, std::int64_t value) {
  return {key, Dims{Dim(value)}};
}
Attr numbers(AttrKey key, const Sizes& values) {
  return {key, Dims(values.begin(), values.end())};
}
Attr epsilon() {
  return {AttrKey::epsilon, std::vector<double>{1e-5}};
}
Attr typed(DType type) {
  return number(AttrKey::dtype, static_cast<std::int64_t>(type));
}

ValueId add(Builder& b, DType t) {
  const ValueId x = input(b, t, {1, 256, 28, 28}), y = input(b, t, {1, 256, 28, 28});
  return b.expr("x + y", {{"x", x}, {"y", y}}, t);
}
ValueId bias_relu(Builder& b, DType t) {
  const ValueId x = input(b, t, {1, 64, 56, 56}), bias = input(b, t, {64, 1, 1});
  return b.expr("where(x + c > 0, x + c, 0)", {{"x", x}, {"c", bias}}, t);
}
ValueId gelu(Builder& b, DType t) {
  const ValueId x = input(b, t, {128, 3072});
  return b.expr("0.5 * x * (1 + erf(x * 0.7071067811865476))", {{"x", x}}, t);
}
ValueId swiglu(Builder& b, DType t) {
  const ValueId x = input(b, t, {128, 2816}), y = input(b, t, {128, 2816});
  return b.expr("x * sigmoid(x) * y", {{"x", x}, {"y", y}}, t);
}
ValueId add_transposed(Builder& b, DType t) {
  const ValueId x = input(b, t, {512, 768}), y = b.transpose(input(b, t, {768, 512}), 0, 1);
  return b.expr("x + y", {{"x", x}, {"y", y}}, t);
}
ValueId narrow(Builder& b, DType t) {
  return b.cast(input(b, f32, {128, 3072}), t);
}
ValueId layer_norm(Builder& b, DType t) {
  const ValueId x = input(b, t, {128, 768}), w = input(b, t, {768}), c = input(b, t, {768});
  return b.add(Op::layer_norm, {x, w, c}, {number(AttrKey::k, 1), epsilon()});
}
ValueId rms_norm(Builder& b, DType t) {
  const ValueId x = input(b, t, {128, 1024}), w = input(b, t, {1024});
  return b.add(Op::rms_norm, {x, w}, {number(AttrKey::k, 1), epsilon()});
}
ValueId group_norm(Builder& b, DType t) {
  const ValueId x = input(b, t, {1, 320, 32, 32}), w = input(b, t, {320}), c = input(b, t, {320});
  return b.add(Op::group_norm, {x, w, c}, {number(AttrKey::groups, 32), epsilon()});
}
ValueId softmax(Builder& b, DType t) {
  return b.add(Op::softmax, {input(b, t, {12, 128, 128})}, {number(AttrKey::axis, 2)});
}
ValueId log_softmax(Builder& b, DType t) {
  return b.add(Op::softmax, {input(b, t, {1, 50257})}, {number(AttrKey::axis, 1), number(AttrKey::log, 1)});
}
ValueId reduce(Builder& b, DType t, const Sizes& sizes, ReduceKind kind, const Sizes& axes, DType result) {
  return b.add(Op::reduce, {input(b, t, sizes)},
               {number(AttrKey::kind, static_cast<std::int64_t>(kind)), numbers(AttrKey::axes, axes), typed(result)});
}
ValueId sum_rows(Builder& b, DType t) {
  return reduce(b, t, {1024, 768}, ReduceKind::sum, {1}, t);
}
ValueId sum_columns(Builder& b, DType t) {
  return reduce(b, t, {1024, 768}, ReduceKind::sum, {0}, t);
}
ValueId sum_all(Builder& b, DType t) {
  return reduce(b, t, {1024, 768}, ReduceKind::sum, {0, 1}, t);
}
ValueId argmax(Builder& b, DType t) {
  return reduce(b, t, {1, 50257}, ReduceKind::argmax, {1}, i64);
}
ValueId mean_plane(Builder& b, DType t) {
  return reduce(b, t, {1, 1280, 7, 7}, ReduceKind::mean, {2, 3}, t);
}
ValueId sort(Builder& b, DType t, const Sizes& sizes) {
  return b.add_all(Op::sort, {input(b, t, sizes)}, {number(AttrKey::axis, 1), number(AttrKey::descending, 1)})[0];
}
ValueId sort_vocabulary(Builder& b, DType t) {
  return sort(b, t, {1, 50257});
}
ValueId sort_rows(Builder& b, DType t) {
  return sort(b, t, {128, 1000});
}
ValueId topk(Builder& b, DType t, const Sizes& sizes, std::int64_t k) {
  return b.add_all(Op::topk, {input(b, t, sizes)},
                   {number(AttrKey::axis, 1), number(AttrKey::k, k), number(AttrKey::largest, 1)})[1];
}
ValueId topk_vocabulary(Builder& b, DType t) {
  return topk(b, t, {1, 50257}, 50);
}
ValueId topk_experts(Builder& b, DType t) {
  return topk(b, t, {1024, 64}, 8);
}
ValueId cumsum(Builder& b, DType t, const Sizes& sizes) {
  return b.add(Op::scan, {input(b, t, sizes)},
               {number(AttrKey::axis, 1), number(AttrKey::kind, static_cast<std::int64_t>(ScanKind::cumsum))});
}
ValueId cumsum_vocabulary(Builder& b, DType t) {
  return cumsum(b, t, {1, 50257});
}
ValueId cumsum_rows(Builder& b, DType t) {
  return cumsum(b, t, {128, 1024});
}
ValueId heads(Builder& b, DType t) {  // a permuted result, so a copy
  return b.permute(input(b, t, {1, 128, 12, 64}), {0, 2, 1, 3});
}
ValueId cache(Builder& b, DType t) {
  return b.concat({input(b, t, {1, 12, 127, 64}), input(b, t, {1, 12, 1, 64})}, 2);
}
ValueId embedding(Builder& b, DType t) {
  const ValueId table = input(b, t, {8000, 768}), at = input(b, i64, {128});
  return b.add(Op::index_select, {table, at}, {number(AttrKey::axis, 0)});
}
ValueId matmul(Builder& b, DType t, const Sizes& x, const Sizes& y) {
  const ValueId a = input(b, t, x);
  return b.add(Op::matmul, {a, input(b, t, y)});
}
ValueId linear(Builder& b, DType t) {
  return matmul(b, t, {128, 768}, {768, 768});
}
ValueId decode(Builder& b, DType t) {
  return matmul(b, t, {1, 1024}, {1024, 2816});
}
ValueId scores(Builder& b, DType t) {
  return matmul(b, t, {12, 128, 64}, {12, 64, 128});
}
ValueId convolution(Builder& b, DType t, const Sizes& x, const Sizes& w, std::int64_t groups, std::int64_t pad) {
  const ValueId image = input(b, t, x), weight = input(b, t, w);
  return b.add(
      Op::convolution, {image, weight},
      {numbers(AttrKey::strides, {1, 1}), numbers(AttrKey::dilations, {1, 1}), numbers(AttrKey::before, {pad, pad}),
       numbers(AttrKey::after, {pad, pad}), number(AttrKey::groups, groups), numbers(AttrKey::output_pads, {0, 0})});
}
ValueId convolution3(Builder& b, DType t) {
  return convolution(b, t, {1, 64, 28, 28}, {64, 64, 3, 3}, 1, 1);
}
ValueId convolution1(Builder& b, DType t) {
  return convolution(b, t, {1, 256, 28, 28}, {64, 256, 1, 1}, 1, 0);
}
ValueId depthwise(Builder& b, DType t) {
  return convolution(b, t, {1, 240, 28, 28}, {240, 1, 3, 3}, 240, 1);
}
ValueId attention(Builder& b, DType t) {
  const ValueId q = input(b, t, {1, 12, 128, 64}), k = input(b, t, {1, 12, 128, 64}), v = input(b, t, {1, 12, 128, 64});
  return b.add(Op::attention, {q, k, v}, {number(AttrKey::causal, 1)});
}
ValueId attention_long(Builder& b, DType t) {
  const ValueId q = input(b, t, {1, 32, 1024, 128}), k = input(b, t, {1, 8, 1024, 128}),
                v = input(b, t, {1, 8, 1024, 128});
  return b.add(Op::attention, {q, k, v}, {number(AttrKey::causal, 1)});
}
ValueId attention_decode(Builder& b, DType t) {
  const ValueId q = input(b, t, {1, 16, 1, 64}), k = input(b, t, {1, 4, 512, 64}), v = input(b, t, {1, 4, 512, 64});
  return b.add(Op::attention, {q, k, v});
}
ValueId attention_far(Builder& b, DType t) {
  const ValueId q = input(b, t, {1, 14, 1, 64}), k = input(b, t, {1, 2, 8192, 64}), v = input(b, t, {1, 2, 8192, 64});
  return b.add(Op::attention, {q, k, v});
}
ValueId matrix(Builder& b, DType t, Op op, std::int64_t count, std::int64_t n, const std::vector<Attr>& attrs = {}) {
  return b.add_all(op, {input(b, t, {count, n, n})}, attrs)[0];
}
ValueId cholesky(Builder& b, DType t) {
  return matrix(b, t, Op::cholesky, 1000, 64);
}
ValueId lu_factor(Builder& b, DType t) {
  return matrix(b, t, Op::lu_factor, 1000, 64);
}
ValueId small_lu_factor(Builder& b, DType t) {
  return matrix(b, t, Op::lu_factor, 10000, 16);
}
ValueId qr_triangle(Builder& b, DType t) {
  return matrix(b, t, Op::qr, 1000, 64, {number(AttrKey::mode, static_cast<std::int64_t>(QrKind::reflectors))});
}
ValueId eigenvalues(Builder& b, DType t) {
  return matrix(b, t, Op::eigh, 10000, 16);
}
ValueId singular_vectors(Builder& b, DType t) {
  return matrix(b, t, Op::svd, 10000, 16);
}

struct Row {
  const char* name;
  const char* group;
  Make make;
  std::vector<DType> types;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"add, 256 x 28 x 28", "pointwise", add, {f32, bf16}},
      {"bias and relu, 64 x 56 x 56", "pointwise", bias_relu, {f32}},
      {"gelu, 128 x 3072", "pointwise", gelu, {f32, bf16}},
      {"swiglu, 128 x 2816", "pointwise", swiglu, {f32, bf16}},
      {"add a transposed one, 512 x 768", "pointwise", add_transposed, {f32}},
      {"from float32, 128 x 3072", "pointwise", narrow, {bf16}},
      {"layer_norm, 128 x 768", "norm", layer_norm, {f32, bf16}},
      {"rms_norm, 128 x 1024", "norm", rms_norm, {f32, bf16}},
      {"group_norm, 320 x 32 x 32", "norm", group_norm, {f32}},
      {"softmax, 12 x 128 x 128", "softmax", softmax, {f32, bf16}},
      {"log_softmax, 1 x 50257", "softmax", log_softmax, {f32}},
      {"sum of rows, 1024 x 768", "reduction", sum_rows, {f32, bf16}},
      {"sum of columns, 1024 x 768", "reduction", sum_columns, {f32}},
      {"sum of all, 1024 x 768", "reduction", sum_all, {f32}},
      {"argmax, 1 x 50257", "reduction", argmax, {f32}},
      {"mean of planes, 1280 x 7 x 7", "reduction", mean_plane, {f32}},
      {"sort, 1 x 50257", "order", sort_vocabulary, {f32}},
      {"sort, 128 x 1000", "order", sort_rows, {f32}},
      {"topk, 50 of 1 x 50257", "order", topk_vocabulary, {f32}},
      {"topk, 8 of 1024 x 64", "order", topk_experts, {f32}},
      {"cumsum, 1 x 50257", "scan", cumsum_vocabulary, {f32, i64}},
      {"cumsum, 128 x 1024", "scan", cumsum_rows, {f32}},
      {"heads, 128 x 12 x 64", "movement", heads, {f32, bf16}},
      {"concat, 12 x (127 + 1) x 64", "movement", cache, {f32}},
      {"embedding, 128 of 8000 x 768", "movement", embedding, {f32}},
      {"matmul, 128 x 768 x 768", "product", linear, {f32, bf16}},
      {"matmul, 1 x 1024 x 2816", "product", decode, {f32, bf16}},
      {"matmul, 12 x 128 x 64 x 128", "product", scores, {f32, bf16}},
      {"convolution 3x3, 64 x 28 x 28", "product", convolution3, {f32, bf16}},
      {"convolution 1x1, 256 x 28 x 28", "product", convolution1, {f32}},
      {"convolution 3x3, depthwise, 240 x 28 x 28", "product", depthwise, {f32}},
      {"attention, 12 x 128 x 64, causal", "attention", attention, {f32, bf16}},
      {"attention, 32 x 1024 x 128, causal", "attention", attention_long, {f32, bf16}},
      {"attention, 16 heads, 1 of 512 x 64", "attention", attention_decode, {f32, bf16}},
      {"attention, 14 heads, 1 of 8192 x 64", "attention", attention_far, {f32, bf16}},
      {"cholesky, 1000 of 64 x 64", "matrices", cholesky, {f32}},
      {"lu_factor, 10,000 of 16 x 16", "matrices", small_lu_factor, {f32}},
      {"lu_factor, 1000 of 64 x 64", "matrices", lu_factor, {f32}},
      {"qr, 1000 of 64 x 64", "matrices", qr_triangle, {f32}},
      {"eigh, values, 10,000 of 16 x 16", "matrices", eigenvalues, {f32}},
      {"svd, 10,000 of 16 x 16", "matrices", singular_vectors, {f32}},
  };
  return all;
}

std::string name_of_row(const Row& row, DType type) {
  return fmt::format("{}, {}", row.name, tern::name_of(type));
}

// Numbers around zero; positions count up within every table's size. Square matrices of a batch are positive definite
// if `definite`.
Tensor filled(const TensorType& type, bool definite) {
  Sizes sizes;
  for (const Dim& d : type.shape) sizes.push_back(d.value());
  Tensor t(type.dtype, sizes);
  std::vector<double> values(static_cast<std::size_t>(t.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto mixed = static_cast<double>(i * 2654435761u % 1000);
    values[i] = type.dtype == i64 ? mixed : mixed / 500 - 1;
    const auto n = static_cast<std::size_t>(sizes.back());
    if (definite && i % (n * n) % (n + 1) == 0) values[i] = static_cast<double>(n);
  }
  convert(values.data(), f64, t.data(), t.dtype(), t.numel());
  return t;
}

}  // namespace

std::vector<std::string> single_node_names() {
  std::vector<std::string> names;
  for (const Row& row : rows()) {
    for (const DType type : row.types) names.push_back(name_of_row(row, type));
  }
  return names;
}

SingleNode make_single_node(const std::string& name) {
  for (const Row& row : rows()) {
    for (const DType type : row.types) {
      if (name_of_row(row, type) != name) continue;
      SingleNode made{name, row.group, nullptr, {}};
      auto program = std::make_shared<Program>();
      program->functions.emplace_back();
      program->functions[0].name = "forward";
      program->functions[0].entry = true;
      Builder b(*program, 0);
      b.function().outputs.push_back({FunctionOutput::Kind::tensor, row.make(b, type), "y"});
      for (const FunctionInput& in : b.function().inputs)
        made.inputs.push_back(filled(b.type(in.value), row.group == std::string_view("matrices")));
      made.program = program;
      return made;
    }
  }
  fail(ErrorCode::invalid_argument, fmt::format("no node '{}'", name));
}

}  // namespace tern::gpu_model
