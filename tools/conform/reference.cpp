#include "tools/conform/reference.h"

#include <tern/tern.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dtypes/convert.h"
#include "exporter/archive_writer.h"
#include "exporter/importer.h"
#include "tools/conform/gradients.h"
#include "tools/conform/widen.h"

namespace tern {
namespace {

Tensor widened_tensor(const HostTensor& tensor) {
  Tensor result(widened(tensor.dtype), tensor.sizes);
  convert(tensor.data.data(), tensor.dtype, result.data(), result.dtype(), tensor.numel());
  return result;
}

HostTensor host_tensor(const Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.data());
  return {tensor.dtype(), tensor.sizes(), {bytes, bytes + tensor.byte_size()}};
}

std::vector<Reference::Call> evaluate(const ConformCase& c, bool gradients) {
  ImportOptions options;
  options.fold = false;  // constants would be folded in the narrow types
  if (gradients) options.transform = [&](Program& p) { add_case_gradients(p, c); };
  Program program = import_case(c.path, options);
  widen(program);
  const std::vector<std::byte> archive = archive_bytes(program);
  const Model model = Model::from_bytes(archive);
  PrepareOptions prepare;
  prepare.threads = 1;
  prepare.reproducible = true;
  Session session(model.prepare(prepare));
  std::vector<Reference::Call> calls;
  for (const CaseCall& call : c.ranks[0]) {
    std::vector<Tensor> inputs;
    for (const auto& [i, tensor] : call.inputs) inputs.push_back(widened_tensor(*tensor));
    Reference::Call results;
    for (const Tensor& tensor : session.run(model.functions().front().name, inputs))
      results.outputs.push_back(host_tensor(tensor));
    for (const Tensor& tensor : inputs) results.inputs.push_back(host_tensor(tensor));
    calls.push_back(std::move(results));
  }
  return calls;
}

std::vector<double> to_doubles(const HostTensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.numel()));
  convert(tensor.data.data(), tensor.dtype, values.data(), DType::f64, tensor.numel());
  return values;
}

}  // namespace

const Reference::Call* Reference::find(std::size_t call) {
  if (!calls_) {
    calls_.emplace();
    try {
      if (case_ != nullptr && case_->ranks.size() == 1) *calls_ = evaluate(*case_, gradients_);
    } catch (const Error&) {  // PyTorch's result decides without this evaluation
    }
  }
  return call < calls_->size() ? &(*calls_)[call] : nullptr;
}

const HostTensor* Reference::output(std::size_t call, std::size_t index) {
  const Call* found = find(call);
  return found != nullptr && index < found->outputs.size() ? &found->outputs[index] : nullptr;
}

const HostTensor* Reference::input(std::size_t call, std::size_t index) {
  const Call* found = find(call);
  return found != nullptr && index < found->inputs.size() ? &found->inputs[index] : nullptr;
}

bool can_be_nearer(const HostTensor& golden, const Tolerance& tolerance, bool gradient) {
  const DType dtype = golden.dtype;
  return (dtype == DType::f16 || dtype == DType::bf16 || (gradient && dtype == DType::f32)) &&
         (tolerance.rtol > 0 || tolerance.atol > 0);
}

bool is_nearer(const HostTensor& actual, const HostTensor& golden, const HostTensor& wide_result,
               const Tolerance& tolerance) {
  if (!can_be_nearer(golden, tolerance, true) || wide_result.dtype != DType::f64 || actual.dtype != golden.dtype ||
      actual.sizes != golden.sizes || wide_result.sizes != golden.sizes)
    return false;
  const std::vector<double> actual_values = to_doubles(actual), golden_values = to_doubles(golden),
                            wide_values = to_doubles(wide_result);
  double max_magnitude = 1;
  for (const double x : wide_values)
    max_magnitude = std::isfinite(x) ? std::max(max_magnitude, std::fabs(x)) : max_magnitude;
  const double max_plausible_error = kPlausible * (tolerance.atol + tolerance.rtol * max_magnitude);
  for (std::size_t i = 0; i < wide_values.size(); ++i) {
    if (actual_values[i] == golden_values[i] || (std::isnan(actual_values[i]) && std::isnan(golden_values[i])))
      continue;
    if (std::fabs(actual_values[i] - golden_values[i]) <= tolerance.atol + tolerance.rtol * std::fabs(golden_values[i]))
      continue;
    const double error = std::fabs(actual_values[i] - wide_values[i]),
                 golden_error = std::fabs(golden_values[i] - wide_values[i]);
    if (!(error <= golden_error && golden_error <= max_plausible_error))
      return false;  // false if either is NaN or infinite
  }
  return true;
}

}  // namespace tern
