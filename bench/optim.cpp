#include "bench/optim.h"

#include <fmt/format.h>
#include <tern/tern.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

#include "exporter/constants.h"
#include "exporter/optimizers/step.h"
#include "threads/parallel.h"

namespace tern::bench {
namespace {

template <class F>
double ms_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Parameters, gradients and states are inputs of the caller's, and all but gradients are written back.
std::shared_ptr<Program> program_of(std::int64_t tensors, std::int64_t size) {
  auto program = std::make_shared<Program>();
  program->source = std::make_shared<ExtendableSource>(nullptr, 0);
  program->functions.emplace_back();
  program->functions[0].name = "step";
  program->functions[0].entry = true;
  Builder b(*program, 0);
  const auto input = [&](TensorType type) {
    const ValueId v = b.add_value(std::move(type));
    program->functions[0].inputs.push_back({FunctionInput::Kind::user, v, 0, "x", {}});
    return v;
  };
  const auto write_back = [&](std::size_t first, const std::vector<ValueId>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      program->functions[0].writebacks.push_back(
          {WriteBack::Target::input, static_cast<std::uint32_t>(first + i), values[i]});
  };
  const TensorType type{DType::f32, {Dim(size)}};
  const auto n = static_cast<std::size_t>(tensors);
  std::vector<ValueId> params, grads, states;
  for (std::size_t i = 0; i < n; ++i) params.push_back(input(type));
  for (std::size_t i = 0; i < n; ++i) grads.push_back(input(type));
  const optimizers::OptimizerOptions o = optimizers::options_for(optimizers::Optimizer::adamw);
  for (const optimizers::StateTensor& s : optimizers::optimizer_states(o, std::vector<TensorType>(n, type)))
    states.push_back(input(s.type));
  const optimizers::StepResults results = optimizers::optimizer_step(b, o, params, grads, states);
  write_back(0, results.params);
  write_back(2 * n, results.states);
  return program;
}

}  // namespace

void serve_optim(std::int64_t tensors, std::int64_t size) {
  const std::shared_ptr<Program> program = program_of(tensors, size);
  std::vector<Tensor> inputs;
  for (const FunctionInput& in : program->functions[0].inputs) {
    const TensorType& type = program->functions[0].values[static_cast<std::size_t>(in.value)].type;
    std::vector<std::int64_t> sizes;
    for (Dim d : type.shape) sizes.push_back(d.value());
    Tensor t(type.dtype, sizes);
    for (float& x : t.span<float>()) x = sizes.empty() ? 0.0F : 0.01F;
    inputs.push_back(std::move(t));
  }
  Session session(Model(program).prepare());
  const auto bytes = tensors * size * 14;  // read and written again: the 28 bytes that a step moves of a parameter
  const Tensor from(DType::u8, {bytes});
  Tensor to(DType::u8, {bytes});
  const auto copy = [&] {
    parallel_for(bytes, 1 << 20, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.span<std::byte>().data() + begin, from.span<const std::byte>().data() + begin,
                  static_cast<std::size_t>(end - begin));
    });
  };
  copy();
  session.run(inputs);
  std::string line;
  while (std::getline(std::cin, line)) {
    const double step = ms_of([&] { session.run(inputs); });
    fmt::print("{:.4f} {:.4f}\n", step, ms_of(copy));
    std::fflush(stdout);
  }
}

}  // namespace tern::bench
