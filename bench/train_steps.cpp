#include "bench/train_steps.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <tern/tern.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <random>

namespace tern::bench {
namespace {

Tensor random_input(const ValueInfo& info, std::mt19937& engine) {
  std::vector<std::int64_t> sizes;
  for (const SizeInfo& s : info.sizes) sizes.push_back(s.constant ? s.value : std::max<std::int64_t>(s.min, 1));
  Tensor t(info.dtype, sizes);
  std::normal_distribution<float> normal;
  if (info.dtype == DType::f32) std::ranges::generate(t.span<float>(), [&] { return normal(engine); });
  if (info.dtype == DType::i64) std::ranges::generate(t.span<std::int64_t>(), [&] { return engine() % 10; });
  return t;
}

double milliseconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

}  // namespace

void serve_training(const std::string& archive, int threads) {
  const Model model = Model::open(archive);
  PrepareOptions options;
  options.threads = threads;
  Session session(model.prepare(options));
  const auto functions = model.functions();
  const auto step = std::ranges::find(functions, "train_step", &FunctionInfo::name);
  if (step == functions.end()) fail(ErrorCode::invalid_argument, archive + " has no train_step");
  std::mt19937 engine(1);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i + 1 < step->inputs.size(); ++i) inputs.push_back(random_input(step->inputs[i], engine));
  session.step(inputs, 1e-3);
  std::string line;
  while (std::getline(std::cin, line)) {
    const double start = milliseconds(CLOCK_MONOTONIC), processors = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
    session.step(inputs, 1e-3);
    fmt::print("{:.3f} {:.3f}\n", milliseconds(CLOCK_MONOTONIC) - start,
               milliseconds(CLOCK_PROCESS_CPUTIME_ID) - processors);
    std::fflush(stdout);
  }
}

}  // namespace tern::bench
