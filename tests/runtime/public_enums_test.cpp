// Unknown values of public enums are the caller's mistake.
#include <gtest/gtest.h>
#include <tern/linalg.h>
#include <tern/optim.h>

#include <functional>

#include "loader/archive.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;

constexpr int kNone = 77;

void expect_refused(const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.what();
  }
}

TEST(PublicEnums, Prepare) {
  testing::TestProgram p;
  p.output(p.b().cast(p.input(DType::f32, {2}), DType::f64));
  PrepareOptions options;
  options.precision = static_cast<Precision>(kNone);
  expect_refused([&] { p.model().prepare(options); });
}

TEST(PublicEnums, Open) {
  OpenOptions access, verify;
  access.access = static_cast<Access>(kNone);
  verify.verify = static_cast<Verify>(kNone);
  for (const OpenOptions& o : {access, verify}) {
    expect_refused([&] { open_archive("/nowhere", o); });
    expect_refused([&] { open_archive(std::span<const std::byte>{}, o); });
  }
}

TEST(PublicEnums, Linalg) {
  const Tensor a = floats({2, 2}, {2, 0, 0, 2}), b = floats({2, 1}, {1, 1});
  expect_refused([&] { linalg::triangular_solve(a, b, {.transpose = static_cast<linalg::Transpose>(kNone)}); });
  expect_refused(
      [&] { linalg::lu_solve(linalg::lu_factor(a), b, {.transpose = static_cast<linalg::Transpose>(kNone)}); });
  expect_refused([&] { linalg::lstsq(a, b, {.driver = static_cast<linalg::LstsqDriver>(kNone)}); });
  expect_refused([&] { linalg::qr(a, {.mode = static_cast<linalg::QrMode>(kNone)}); });
}

TEST(PublicEnums, Optim) {
  const Tensor parameter = floats({2}, {1, 2});
  optim::Options options;
  expect_refused(
      [&] { optim::make_states(options, std::span(&parameter, 1), static_cast<optim::Precision16>(kNone)); });
  options.kind = static_cast<optim::Kind>(kNone);
  expect_refused([&] { optim::make_states(options, std::span(&parameter, 1), optim::Precision16::parameters); });
}

TEST(PublicEnums, Tensors) {
  expect_refused([] { Tensor(static_cast<DType>(kNone), {2}); });
}

}  // namespace
}  // namespace tern
