#include "bench/optim.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <tern/tern.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

#include "exporter/constants.h"
#include "exporter/optimizers/step.h"
#include "exporter/rewrite.h"
#include "threads/parallel.h"

namespace tern::bench {
namespace {

template <class F>
double ms_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Parameters and states belong to the program, as in a training archive; gradients are the caller's.
std::shared_ptr<Program> program_of(std::int64_t tensors, std::int64_t size, bool eight_bits) {
  auto program = std::make_shared<Program>();
  program->source = std::make_shared<ExtendableSource>(nullptr, 0);
  program->functions.emplace_back();
  Function& f = program->functions[0];
  f.name = "step";
  f.entry = true;
  Builder b(*program, 0);
  const TensorType type{DType::f32, {Dim(size)}};
  const auto state = [&](const TensorType& t, float value) {
    std::uint64_t bytes_of_t = 0;
    if (!byte_size(t, &bytes_of_t)) fail(ErrorCode::internal, "a state has no size");
    std::vector<std::byte> bytes(bytes_of_t);
    if (t.dtype == DType::f32)
      std::ranges::fill(std::span(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)), value);
    const auto number = static_cast<std::uint32_t>(program->states.size());
    State s{.name = "s" + std::to_string(number), .type = t, .strides = row_major(t.shape), .is_mutable = true};
    s.storage = add_storage(*program, std::move(bytes));
    program->states.push_back(std::move(s));
    f.inputs.push_back({FunctionInput::Kind::state, b.add_value(t), number, "", {}});
    return f.inputs.back().value;
  };
  const auto n = static_cast<std::size_t>(tensors);
  optimizers::OptimizerOptions o = optimizers::options_for(optimizers::Optimizer::adamw);
  o.coded = eight_bits;
  if (eight_bits && !optimizers::is_coded(o, type))
    fail(ErrorCode::invalid_argument,
         fmt::format("parameters of {} elements have no states of 8 bits; take a multiple of 256 from 4096 on", size));
  std::vector<ValueId> params, grads, states;
  for (std::size_t i = 0; i < n; ++i) params.push_back(state(type, 0.01F));
  for (const optimizers::StateTensor& s : optimizers::optimizer_states(o, std::vector<TensorType>(n, type)))
    states.push_back(state(s.type, 0));
  for (std::size_t i = 0; i < n; ++i) {
    grads.push_back(b.add_value(type));
    f.inputs.push_back({FunctionInput::Kind::user, grads.back(), 0, "g" + std::to_string(i), {}});
  }
  optimizers::StepResults results = optimizers::optimizer_step(b, o, params, grads, states);
  results.params.insert(results.params.end(), results.states.begin(), results.states.end());
  for (std::uint32_t i = 0; i < results.params.size(); ++i)
    f.writebacks.push_back({WriteBack::Target::state, i, results.params[i]});
  return program;
}

}  // namespace

void serve_optim(std::int64_t tensors, std::int64_t size, bool eight_bits) {
  const std::shared_ptr<Program> program = program_of(tensors, size, eight_bits);
  std::vector<Tensor> inputs;
  for (std::int64_t i = 0; i < tensors; ++i) {
    Tensor t(DType::f32, {size});
    std::ranges::fill(t.span<float>(), 0.01F);
    inputs.push_back(std::move(t));
  }
  Session session(Model(program).prepare());
  const auto bytes = tensors * size * 14;  // bytes read and written: a step moves 28 bytes per parameter
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
