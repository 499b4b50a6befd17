// Compares the results of two runs, call by call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/verify/expected.h"
#include "tools/verify/side.h"
#include "tools/verify/tensors.h"

namespace tern {

struct ResultDeviation {
  std::string name;
  std::size_t call = 0;
  DType dtype = DType::invalid;  ///< invalid for None
  std::vector<std::int64_t> sizes;
  std::string mismatch;  ///< differing type or sizes; `deviation` is then empty
  Deviation deviation;
};

/// A comparison of two runs.
struct Compared {
  std::string run, against;
  std::vector<ResultDeviation> results;
};

struct Verification {
  std::vector<Compared> compared;  ///< limits hold for the first
  std::size_t calls = 0;
};

using Calls = std::vector<std::vector<Tensor>>;

/// Compares the tensors left by a call in the run under test and the reference run; skips tensors present in only one
/// run.
void compare_call(const std::vector<LeftTensor>& actual, const std::vector<LeftTensor>& reference, std::size_t call,
                  Compared& to);

/// Deviation of each result, all calls together.
std::vector<ResultDeviation> over_calls(const std::vector<ResultDeviation>& results);

/// Compares the run under test with expected results if given, the reference with expected results, and the run under
/// test with the reference. A side without program is skipped. States are compared after the last call.
Verification verify_results(const Side& test, const Side& reference, const Expected& expected, const Calls& calls,
                            const std::function<void()>& on_call);

}  // namespace tern
