// A matrix per group of items (kernels/portable/matrix_groups.h), on every device, against the CPU's reproducible
// kernels with a matrix per item: the same bits for matrices in local memory and larger matrices, and the same errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kernels/portable/types.h"
#include "schema/linalg_kinds.h"
#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class MatricesTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, MatricesTest, ::testing::ValuesIn(all_devices()), name_of_case);

/// The second matrix has a column of zeros and two equal columns, if wide enough.
Tensor matrices(DType t, std::int64_t count, std::int64_t rows, std::int64_t columns) {
  Tensor x = numbers(t, {count, rows, columns}, static_cast<std::uint64_t>(rows));
  visit_dtype(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const second = x.span<T>().data() + (count > 1 ? rows * columns : 0);
    for (std::int64_t r = 0; count > 1 && r < rows; ++r) {
      if (columns > 2) second[r * columns + 1] = second[r * columns];
      second[r * columns + columns / 2] = cast_to<T>(std::complex<double>(0));
    }
  });
  return x;
}

struct Outputs {
  TestProgram& p;
  std::vector<std::string>& names;
  std::vector<ValueId> operator()(const std::string& name, Op op, const std::vector<ValueId>& inputs,
                                  const std::vector<Attr>& attrs) const {
    const std::vector<ValueId> results = p.b().add_all(op, inputs, attrs);
    for (const ValueId y : results) {
      p.output(y);
      names.push_back(name + ", result " + std::to_string(names.size()));
    }
    return results;
  }
};

std::vector<Attr> flags(std::initializer_list<std::pair<AttrKey, std::int64_t>> values) {
  std::vector<Attr> all;
  for (const auto& [key, value] : values) all.push_back(attr(key, Dim(value)));
  return all;
}

/// Every op with group kernels, for x with `rows` and `columns`.
void add_ops(TestProgram& p, ValueId x, std::int64_t rows, std::int64_t columns, std::vector<std::string>& names) {
  const Outputs output{p, names};
  const std::vector<ValueId> lu = output("lu_factor", Op::lu_factor, {x}, flags({{AttrKey::check, 0}}));
  for (const QrKind mode : {QrKind::reduced, QrKind::complete, QrKind::reflectors})
    output("qr", Op::qr, {x}, flags({{AttrKey::mode, static_cast<std::int64_t>(mode)}}));
  for (const std::int64_t full : {0, 1}) output("svd", Op::svd, {x}, flags({{AttrKey::full, full}}));
  if (rows != columns) return;
  Builder& b = p.b();
  const ValueId few = b.slice(x, 2, Dim(0), Dim(std::min<std::int64_t>(columns, 3)), 1);
  for (const std::pair<int, int>& side : {std::pair(1, 0), std::pair(1, 1), std::pair(0, 0), std::pair(0, 2)}) {
    const int left = side.first, transpose = side.second;  // clang 14 captures no structured bindings
    const ValueId sides = left != 0 ? few : b.transpose(few, 1, 2);
    const auto solve = [&](const char* name, Op op, std::vector<ValueId> inputs, std::vector<Attr> attrs) {
      inputs.push_back(sides);
      attrs.push_back(attr(AttrKey::left, Dim(left)));
      attrs.push_back(attr(AttrKey::transpose, Dim(transpose)));
      output(name, op, inputs, attrs);
    };
    solve("lu_solve", Op::lu_solve, {lu[0], lu[1]}, {});
    solve("lower triangle", Op::triangular_solve, {x}, flags({{AttrKey::upper, 0}}));
    solve("upper triangle of ones", Op::triangular_solve, {x}, flags({{AttrKey::upper, 1}, {AttrKey::unit, 1}}));
  }
  const bool complex = is_complex(b.dtype(x));
  const ValueId adjoint = b.transpose(complex ? b.expr("conj(x)", {{"x", x}}, b.dtype(x)) : x, 1, 2);
  const ValueId positive = b.add(Op::matmul, {adjoint, x});
  for (const std::int64_t upper : {0, 1}) {
    output("cholesky", Op::cholesky, {positive}, flags({{AttrKey::upper, upper}, {AttrKey::check, 0}}));
    output("cholesky of any", Op::cholesky, {x}, flags({{AttrKey::upper, upper}, {AttrKey::check, 0}}));
    output("eigh", Op::eigh, {x}, flags({{AttrKey::upper, upper}}));
  }
}

constexpr std::int64_t kSide = 20;  // two panels and a half

/// The type whose bits show every rounding: devices with float64 compute float32 in float64 and round once.
DType widest_of(const std::string& device) {
  return has_double(device) ? DType::f64 : DType::f32;
}

struct MatricesCase {
  DType dtype;
  std::int64_t count, rows, columns;
};

TEST_P(MatricesTest, HaveTheDefinitionsBits) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has a matrix";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  const DType widest = widest_of(GetParam());
  std::vector<MatricesCase> cases = {{widest, 3, kSide, kSide}};  // emulated devices compile each kernel for seconds
  if (std::getenv("TERN_TEST_FULL") != nullptr) {
    for (std::int64_t n = 1; n <= 65; ++n) cases.push_back({widest, 2, n, n});
    for (const DType t : {DType::f32, DType::c64, DType::c128}) {
      for (const std::int64_t n : {3, 16, 33, 47}) cases.push_back({t, 2, n, n});
    }
    cases.insert(cases.end(), {{widest, 40, 2, 2},
                               {widest, 2, 33, 20},
                               {DType::c64, 2, 9, 14},
                               {widest, 2, 140, 5},
                               {widest, 2, 5, 140},
                               {widest, 1, 130, 130}});
  }
  for (const MatricesCase& c : cases) {
    if (portable::needs_double(c.dtype) && !has_double(GetParam())) continue;
    SCOPED_TRACE(std::string(name_of(c.dtype)) + " " + std::to_string(c.rows) + " x " + std::to_string(c.columns));
    TestProgram p;
    std::vector<std::string> names;
    add_ops(p, p.input(c.dtype, {Dim(c.count), Dim(c.rows), Dim(c.columns)}), c.rows, c.columns, names);
    expect_same_bits(GetParam(), p, names, {matrices(c.dtype, c.count, c.rows, c.columns)});
  }
}

/// Error message of a program with this op on a device.
std::string error_of(const std::string& device, Op op, const std::vector<Attr>& attrs, const Tensor& x) {
  TestProgram p;
  const std::vector<std::int64_t> sizes = x.sizes();
  p.output(p.b().add_all(op, {p.input(x.dtype(), Dims(sizes.begin(), sizes.end()))}, attrs)[0]);
  PrepareOptions options = options_on(device);
  options.reproducible = true;
  try {
    Session(p.model().prepare(options)).run({x});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_P(MatricesTest, NameTheMatrixThatFails) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has a matrix";
  constexpr std::size_t kElements = kSide * kSide;
  const DType t = widest_of(GetParam());
  const Tensor singular = matrices(t, 3, kSide, kSide);
  const auto error = [&](Op op, const Tensor& x, std::int64_t check) {
    return error_of(GetParam(), op, check != 0 ? flags({{AttrKey::check, check}}) : std::vector<Attr>{}, x);
  };
  EXPECT_NE(error(Op::lu_factor, singular, 1).find("matrix 1 of the batch is singular"), std::string::npos);
  Tensor x = matrices(t, 3, kSide, kSide);  // the first and the last matrix are positive definite
  const auto put = [&](std::size_t i, double value) {
    t == DType::f64 ? x.span<double>()[i] = value : x.span<float>()[i] = static_cast<float>(value);
  };
  for (std::size_t i = 0; i < 3 * kElements; i += i % kElements == kElements - 1 ? 1 : kSide + 1)
    put(i, i / kElements == 1 ? 0 : 200);
  EXPECT_NE(error(Op::cholesky, x, 1).find("matrix 1 of the batch is not positive definite"), std::string::npos);
  put(kElements + kSide, std::numeric_limits<double>::infinity());
  for (const Op op : {Op::eigh, Op::svd}) EXPECT_NE(error(op, x, 0).find("matrix 1 of the batch"), std::string::npos);
}

}  // namespace
}  // namespace tern
