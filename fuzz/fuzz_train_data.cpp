// Arbitrary bytes as the data of a training run, .npz or .safetensors: an Error, or batches with the types and sizes of
// the step function.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "tools/train/data.h"

namespace {

using namespace tern;

ValueInfo input(const char* name, DType dtype, const std::vector<std::int64_t>& sizes) {
  ValueInfo v;
  v.name = name;
  v.dtype = dtype;
  for (std::int64_t s : sizes) v.sizes.push_back({"s", s >= 0, s, 0, std::nullopt});
  return v;
}

/// Inputs of several types, -1 for dynamic sizes.
FunctionInfo step_function() {
  FunctionInfo f;
  f.name = "train_step";
  f.inputs = {input("x", DType::f32, {-1, -1, 2}), input("mask", DType::boolean, {-1, -1}),
              input("target", DType::i64, {-1}), input("lr", DType::f64, {})};
  return f;
}

void attempt(const MappedTensors& file, bool cast) {
  static const FunctionInfo f = step_function();
  train::TrainingData data(f, "lr", file, cast, {});
  data.description();
  data.contents();
  if (data.samples() == 0) return;
  const std::uint64_t numbers[] = {0, data.samples() - 1, data.samples() / 2};
  for (std::size_t count = 1; count <= std::size(numbers); ++count) {
    const std::vector<Tensor>& batch = data.batch(std::span(numbers).first(count));
    if (batch.size() + 1 != f.inputs.size()) std::abort();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].dtype() != f.inputs[i].dtype || batch[i].sizes().size() != f.inputs[i].sizes.size()) std::abort();
      if (batch[i].sizes()[0] != static_cast<std::int64_t>(count)) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const auto open : {MappedTensors::npz, MappedTensors::safetensors}) {
    for (const bool cast : {false, true}) {
      try {
        attempt(open(bytes, "input"), cast);
      } catch (const Error& e) {
        if (e.code() == ErrorCode::internal) std::abort();
      }
    }
  }
  return 0;
}
