// The results of a run against those of another, call by call.
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
  std::string mismatch;  ///< type or sizes that cannot be compared; then `deviation` is empty
  Deviation deviation;
};

/// What was compared with what.
struct Compared {
  std::string run, against;
  std::vector<ResultDeviation> results;
};

struct Verification {
  std::vector<Compared> compared;  ///< limits hold for the first
  std::size_t calls = 0;
};

using Calls = std::vector<std::vector<Tensor>>;

/// Adds what one call left in the run under test, against the reference run; what only one of them has is passed over.
void compare_call(const std::vector<Left>& actual, const std::vector<Left>& reference, std::size_t call, Compared& to);

/// Of each result, all calls as one.
std::vector<ResultDeviation> over_calls(const std::vector<ResultDeviation>& results);

/// The run under test against expected results where there are any, the reference against those, and the run under test
/// against the reference. A side without program takes no part. States are compared after the last call.
Verification verify_results(const Side& test, const Side& reference, const Expected& expected, const Calls& calls,
                            const std::function<void()>& on_call);

}  // namespace tern
