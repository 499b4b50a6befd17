// Uses the library's exports from outside: errors cross its boundary, functions list themselves, a session runs.
#include <tern/linalg.h>
#include <tern/optim.h>
#include <tern/tern.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
  if (condition) return;
  ++failures;
  std::fprintf(stderr, "consumer: not so: %s\n", what);
}

template <class Function>
tern::ErrorCode error_of(Function function) {
  try {
    function();
  } catch (const tern::Error& error) {
    return error.code();
  }
  return tern::ErrorCode{};
}

void check_optim() {
  tern::optim::Options options = tern::optim::defaults(tern::optim::Kind::sgd);
  options.lr = 0.5;
  std::vector<tern::Tensor> params(2, tern::Tensor(tern::DType::f32, {2})), grads;
  params[1] = tern::Tensor(tern::DType::f32, {3});
  for (tern::Tensor& p : params) grads.push_back(tern::Tensor(tern::DType::f32, p.sizes()));
  grads[1].span<float>()[2] = 3;
  tern::optim::States states = tern::optim::make_states(options, params);
  tern::optim::step(options, params, grads, states);
  expect(params[1].span<float>()[2] == -1.5F && params[0].span<float>()[0] == 0, "a step descends");
  grads.pop_back();
  const auto code = error_of([&] { tern::optim::step(options, params, grads, states); });
  expect(code == tern::ErrorCode::invalid_argument, "a step refuses lists of other lengths");
}

void check_linalg() {
  tern::Tensor a(tern::DType::f64, {2, 2, 2}), b(tern::DType::f64, {2, 2});
  for (int i : {0, 3, 5, 6}) a.span<double>()[static_cast<std::size_t>(i)] = 2;  // 2 I, and 2 I with exchanged rows
  b.span<double>()[2] = 6;
  const tern::Tensor x = tern::linalg::solve(a, b, {.threads = 1});
  expect(x.sizes() == b.sizes() && x.span<double>()[3] == 3 && x.span<double>()[2] == 0, "systems are solved");
  expect(tern::linalg::det(a).span<double>()[1] == -4, "determinants have signs");
  const tern::Tensor singular(tern::DType::f64, {2, 2});
  expect(tern::linalg::inv_ex(singular).info.span<std::int32_t>()[0] == 1, "inv_ex says what is singular");
  expect(error_of([&] { tern::linalg::inv(singular); }) == tern::ErrorCode::runtime, "inv throws");
  expect(error_of([&] { tern::linalg::svd({}); }) == tern::ErrorCode::invalid_argument,
         "a tensor without elements is refused");
}

void check(const std::string& archive) {
  check_optim();
  check_linalg();
  const tern::Model model = tern::Model::open(archive);
  const auto functions = model.functions();
  expect(functions.size() == 1, "the archive has one function");
  expect(functions.at(0).inputs.size() == 1, "it takes one input");
  const tern::ValueInfo& input = functions[0].inputs.at(0);
  expect(input.dtype == tern::DType::f32 && input.sizes.size() == 4, "which is a float32 tensor of four dimensions");
  expect(!input.sizes.at(0).constant && input.sizes.at(3).value == 8, "a dynamic batch of images 8 pixels wide");

  tern::Session session(model.prepare());
  tern::Tensor one(tern::DType::f32, {1, 1, 8, 8}), three(tern::DType::f32, {3, 1, 8, 8});
  const float first = session.run({one}).at(0).span<float>()[0];
  expect(std::isfinite(first), "the logits are finite");
  const tern::Tensor& many = session.run({three}).at(0);
  expect(many.sizes() == std::vector<std::int64_t>{3, 10}, "three images give three rows of ten logits");
  expect(std::abs(many.span<float>()[10] - first) <= 1e-4, "equal images give equal logits");

  tern::Tensor wrong(tern::DType::f64, {1, 1, 8, 8});
  expect(error_of([&] { session.run({wrong}); }) == tern::ErrorCode::invalid_argument, "a wrong dtype is an error");
  expect(error_of([&] { tern::Model::open(archive + ".absent"); }) == tern::ErrorCode::io, "so is a missing file");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: consumer DIGITS.tern\n");
    return 2;
  }
  try {
    check(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return 1;
  }
  if (failures == 0) std::printf("consumer: as expected\n");
  return failures != 0;
}
