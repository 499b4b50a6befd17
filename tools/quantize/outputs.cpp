#include "tools/quantize/outputs.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/quantize/nan.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::uint64_t kMaxKeptBytes = std::uint64_t{256} << 20;
constexpr double kOutputsInfinite = std::numeric_limits<double>::infinity();

bool has_numbers(DType t) {
  return is_floating(t) || is_complex(t);
}

std::vector<LeftTensor> tensors_left_by(const Side& program_side, Session& session, const Calls& calls,
                                        std::size_t call, std::vector<Tensor>& inputs) {
  try {
    CallResults results = run_call(program_side, session, calls[call], call + 1 == calls.size());
    inputs = std::move(results.inputs);
    return std::move(results.tensors);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("--calibrate: sample {}: {}", call, e.what()));
  }
}

}  // namespace

OutputErrors::OutputErrors(Side reference, const Calls& calls)
    : reference_(std::move(reference)),
      calls_(calls),
      prepared_(Model(reference_.program).prepare(reference_.options)) {
  Session session(prepared_);
  session.set_seed(reference_.seed);
  bool has_result_numbers = false;
  std::uint64_t bytes = 0;
  for (std::size_t c = 0; c < calls_.size(); ++c) {
    std::vector<Tensor> inputs;
    std::vector<LeftTensor> left_tensors = tensors_left_by(reference_, session, calls_, c, inputs);
    for (LeftTensor& l : left_tensors) {
      has_result_numbers = has_result_numbers || has_numbers(l.tensor.dtype());
      if (has_nan(l.tensor))
        fail(ErrorCode::invalid_argument, fmt::format("--calibrate: sample {}: '{}' has NaN in the unquantized "
                                                      "program, too; calibrate with inputs whose results are numbers",
                                                      c, escape_name(l.name)));
      bytes += l.tensor.dtype() == DType::invalid ? 0 : l.tensor.byte_size();
      if (bytes <= kMaxKeptBytes && l.tensor.dtype() != DType::invalid) l.tensor = l.tensor.clone();
    }
    if (bytes <= kMaxKeptBytes) reference_results_.push_back(std::move(left_tensors));
  }
  if (bytes > kMaxKeptBytes) reference_results_.clear();
  if (!has_result_numbers)
    fail(ErrorCode::invalid_argument,
         fmt::format("--calibrate: '{}' has no floating-point result, so there is no error in decibels; export a "
                     "program that returns the values before rounding or argmax",
                     escape_name(reference_.f().name)));
}

std::vector<ResultDeviation> OutputErrors::measure(const Side& program_side) const {
  Session actual = program_side.session(program_side.program), exact_session(prepared_);
  actual.set_seed(program_side.seed);
  exact_session.set_seed(reference_.seed);
  Compared compared;
  for (std::size_t c = 0; c < calls_.size(); ++c) {
    std::vector<Tensor> of_actual, of_exact;
    const std::vector<LeftTensor> a = tensors_left_by(program_side, actual, calls_, c, of_actual);
    compare_call(a,
                 reference_results_.empty() ? tensors_left_by(reference_, exact_session, calls_, c, of_exact)
                                            : reference_results_[c],
                 c, compared);
  }
  std::vector<ResultDeviation> deviations = over_calls(compared.results);
  std::erase_if(deviations, [](const ResultDeviation& r) { return !has_numbers(r.dtype); });
  return deviations;
}

double worst_sqnr(const std::vector<ResultDeviation>& results) {
  double worst = kOutputsInfinite;
  for (const ResultDeviation& r : results) {
    const bool broken = !r.mismatch.empty() || r.deviation.not_finite > 0;
    worst = std::min(worst, broken ? -kOutputsInfinite : r.deviation.sqnr());
  }
  return worst;
}

double worst_noise(const std::vector<ResultDeviation>& results) {
  const double sqnr = worst_sqnr(results);
  return sqnr == kOutputsInfinite ? 0 : std::pow(10.0, -sqnr / 10);
}

}  // namespace tern
