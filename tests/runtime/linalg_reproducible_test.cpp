// Reproducible runs give a matrix alone the same bits as in a batch.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "runtime/prepared.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::TestProgram;

struct ReproducibleCase {
  Op op;
  std::vector<Attr> attrs;
  bool has_right_side = false;
};

std::vector<Tensor> run_reproducibly(const ReproducibleCase& c, const std::vector<Tensor>& inputs) {
  TestProgram p;
  std::vector<ValueId> operands;
  for (const Tensor& t : inputs) operands.push_back(p.input(t.dtype(), Dims(t.sizes().begin(), t.sizes().end())));
  for (const ValueId v : p.b().add_all(c.op, operands, c.attrs)) p.output(v);
  PrepareOptions options;
  options.reproducible = true;
  Session session(PreparedModel(prepare_program(p.model().program(), options, {})));
  std::vector<Tensor> results = session.run(inputs);
  for (Tensor& t : results) t = t.clone();  // the session owns the results
  return results;
}

/// Matrix i of a batch of one.
Tensor matrix_at(const Tensor& t, std::int64_t i) {
  std::vector<std::int64_t> sizes = t.sizes();
  const std::int64_t each = t.numel() / sizes[0];
  sizes[0] = 1;
  Tensor to(t.dtype(), sizes);
  if (each > 0) std::memcpy(to.data(), t.span<const double>().data() + i * each, to.byte_size());
  return to;
}

TEST(LinalgReproducible, MatrixAloneHasTheBitsOfTheBatch) {
  const ReproducibleCase cases[] = {
      {Op::cholesky, {}},
      {Op::lu_factor, {}},
      {Op::ldl_factor, {}},
      {Op::qr, {attr(AttrKey::mode, Dim(0))}},
      {Op::eigh, {}},
      {Op::eig, {}},
      {Op::svd, {}},
      {Op::matrix_exp, {}},
      {Op::triangular_solve, {attr(AttrKey::left, Dim(1))}, true},
      {Op::lstsq, {attr(AttrKey::mode, Dim(1)), attr_number(AttrKey::epsilon, 1e-9)}, true}};
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1, 1);
  for (const std::int64_t n : {3, 9, 20}) {
    Tensor a(DType::f64, {7, n, n}), b(DType::f64, {7, n, 2});
    for (double& x : a.span<double>()) x = number(random);
    for (double& x : b.span<double>()) x = number(random);
    for (std::int64_t i = 0; i < 7 * n; ++i)  // positive definite lower triangles
      a.span<double>()[static_cast<std::size_t>(i * n + i % n)] += static_cast<double>(2 * n);
    for (const ReproducibleCase& c : cases) {
      std::vector<Tensor> inputs = {a};
      if (c.has_right_side) inputs.push_back(b);
      const std::vector<Tensor> batch = run_reproducibly(c, inputs);
      for (const std::int64_t i : {0, 6}) {
        for (Tensor& t : inputs) t = matrix_at(&t == inputs.data() ? a : b, i);
        const std::vector<Tensor> alone = run_reproducibly(c, inputs);
        for (std::size_t k = 0; k < batch.size(); ++k) {
          if (alone[k].byte_size() == 0 || batch[k].sizes()[0] != 7) continue;
          const auto* bytes = static_cast<const std::byte*>(batch[k].data());
          EXPECT_EQ(std::memcmp(bytes + static_cast<std::size_t>(i) * alone[k].byte_size(), alone[k].data(),
                                alone[k].byte_size()),
                    0)
              << "op " << static_cast<int>(c.op) << ", result " << k << ", " << n << " rows";
        }
      }
    }
  }
}

}  // namespace
}  // namespace tern
