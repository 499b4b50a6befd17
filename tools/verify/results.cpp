#include "tools/verify/results.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <optional>

namespace tern {
namespace {

ResultDeviation compare(const LeftTensor& actual, const Tensor& reference, std::size_t call) {
  ResultDeviation r{actual.name, call, actual.tensor.dtype(), actual.tensor.sizes(), {}, {}};
  r.mismatch = mismatch(reference, actual.tensor);
  if (r.mismatch.empty() && r.dtype != DType::invalid) r.deviation = deviation_of(reference, actual.tensor);
  return r;
}

void compare_expected(const std::vector<LeftTensor>& actual, const Expected& expected, std::size_t call, Compared& to) {
  for (const LeftTensor& a : actual) {
    const auto e = expected.tensors.find({call, a.key});
    if (e != expected.tensors.end()) to.results.push_back(compare(a, e->second, call));
  }
}

}  // namespace

void compare_call(const std::vector<LeftTensor>& actual, const std::vector<LeftTensor>& reference, std::size_t call,
                  Compared& to) {
  for (const LeftTensor& a : actual) {
    const auto r = std::ranges::find(reference, a.key, &LeftTensor::key);
    if (r != reference.end()) to.results.push_back(compare(a, r->tensor, call));
  }
}

std::vector<ResultDeviation> over_calls(const std::vector<ResultDeviation>& results) {
  std::vector<ResultDeviation> deviations;
  for (const ResultDeviation& r : results) {
    const auto found = std::ranges::find(deviations, r.name, &ResultDeviation::name);
    if (found == deviations.end()) {
      deviations.push_back(r);
      continue;
    }
    found->deviation += r.deviation;
    if (found->mismatch.empty()) found->mismatch = r.mismatch;
  }
  return deviations;
}

Verification verify_results(const Side& test, const Side& reference, const Expected& expected, const Calls& calls,
                            const std::function<void()>& on_call) {
  const bool both = reference.program != nullptr, given = !expected.tensors.empty();
  if (both && test.f().outputs.size() != reference.f().outputs.size()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("'{}' of the reference has {} results, but '{}' has {}: they cannot be compared",
                     reference.f().name, reference.f().outputs.size(), test.f().name, test.f().outputs.size()));
  }
  Session own = test.session(test.program);
  std::optional<Session> other;
  if (both) other.emplace(reference.session(reference.program));
  Compared to_expected{test.title, expected.title, {}}, of_reference{reference.title, expected.title, {}},
      to_reference{test.title, reference.title, {}};
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const bool last = c + 1 == calls.size();
    const CallResults actual = run_call(test, own, calls[c], last);
    if (given) compare_expected(actual.tensors, expected, c, to_expected);
    if (both) {
      const CallResults exact = run_call(reference, *other, calls[c], last);
      if (given) compare_expected(exact.tensors, expected, c, of_reference);
      compare_call(actual.tensors, exact.tensors, c, to_reference);
    }
    on_call();
  }
  Verification v;
  v.calls = calls.size();
  if (given) v.compared.push_back(std::move(to_expected));
  if (given && both) v.compared.push_back(std::move(of_reference));
  if (both) v.compared.push_back(std::move(to_reference));
  return v;
}

}  // namespace tern
