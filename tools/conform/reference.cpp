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

Tensor wide_tensor(const HostTensor& t) {
  Tensor r(widened(t.dtype), t.sizes);
  convert(t.data.data(), t.dtype, r.data(), r.dtype(), t.numel());
  return r;
}

HostTensor host_tensor(const Tensor& t) {
  const auto* bytes = static_cast<const std::byte*>(t.data());
  return {t.dtype(), t.sizes(), {bytes, bytes + t.byte_size()}};
}

std::vector<Reference::Call> evaluate(const ConformCase& c, bool gradients) {
  ImportOptions options;
  options.fold = false;  // constants would be folded in the narrow types
  if (gradients) options.transform = [&](Program& p) { add_case_gradients(p, c); };
  Program program = import_pt2(c.path, options);
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
    for (const auto& [i, tensor] : call.inputs) inputs.push_back(wide_tensor(*tensor));
    Reference::Call results;
    for (const Tensor& t : session.run(model.functions().front().name, inputs))
      results.outputs.push_back(host_tensor(t));
    for (const Tensor& t : inputs) results.inputs.push_back(host_tensor(t));
    calls.push_back(std::move(results));
  }
  return calls;
}

std::vector<double> doubles(const HostTensor& t) {
  std::vector<double> values(static_cast<std::size_t>(t.numel()));
  convert(t.data.data(), t.dtype, values.data(), DType::f64, t.numel());
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
  const DType t = golden.dtype;
  return (t == DType::f16 || t == DType::bf16 || (gradient && t == DType::f32)) &&
         (tolerance.rtol > 0 || tolerance.atol > 0);
}

bool is_nearer(const HostTensor& actual, const HostTensor& golden, const HostTensor& wide, const Tolerance& tolerance) {
  if (!can_be_nearer(golden, tolerance, true) || wide.dtype != DType::f64 || actual.dtype != golden.dtype ||
      actual.sizes != golden.sizes || wide.sizes != golden.sizes)
    return false;
  const std::vector<double> a = doubles(actual), g = doubles(golden), w = doubles(wide);
  double largest = 1;
  for (const double x : w) largest = std::isfinite(x) ? std::max(largest, std::fabs(x)) : largest;
  const double plausible = kPlausible * (tolerance.atol + tolerance.rtol * largest);
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (a[i] == g[i] || (std::isnan(a[i]) && std::isnan(g[i]))) continue;
    if (std::fabs(a[i] - g[i]) <= tolerance.atol + tolerance.rtol * std::fabs(g[i])) continue;
    const double mine = std::fabs(a[i] - w[i]), theirs = std::fabs(g[i] - w[i]);
    if (!(mine <= theirs && theirs <= plausible)) return false;  // false if either is NaN or infinite
  }
  return true;
}

}  // namespace tern
