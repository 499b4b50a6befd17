// A case's results in float64, to find the nearer result if PyTorch rounds to 16 bits after each step, or a float32
// gradient cancels.
#pragma once

#include <optional>
#include <vector>

#include "tools/conform/case.h"

namespace tern {

/// Evaluates a case's program in float64 on the first request for a result.
class Reference {
 public:
  Reference() = default;  ///< has no results
  explicit Reference(const ConformCase& c, bool gradients = false) : case_(&c), gradients_(gradients) {}

  struct Call {
    std::vector<HostTensor> outputs, inputs;  ///< inputs after the call
  };
  /// Null if the program has no evaluation in float64: several ranks, or an op bound to its types.
  const HostTensor* output(std::size_t call, std::size_t index);
  const HostTensor* input(std::size_t call, std::size_t index);

 private:
  const Call* find(std::size_t call);
  const ConformCase* case_ = nullptr;
  bool gradients_ = false;  ///< outputs are followed by the gradients of add_case_gradients()
  std::optional<std::vector<Call>> calls_;
};

/// True if nearness can decide: float16, bfloat16 or the gradient of float32, and no comparison bit for bit.
bool can_be_nearer(const HostTensor& golden, const Tolerance& tolerance, bool gradient = false);

/// True if each element of the result is within the tolerance of PyTorch's result, or at most as far from the float64
/// result as PyTorch's. PyTorch's result must be plausible, to reject a wrong program with an equally wrong reference:
/// within kPlausible tolerances of the largest float64 element (at least 1).
inline constexpr double kPlausible = 16;
bool is_nearer(const HostTensor& actual, const HostTensor& golden, const HostTensor& wide_result,
               const Tolerance& tolerance);

}  // namespace tern
