// Runs single nodes of linear algebra on tensors by the CPU's kernels, for the functions of tern/linalg.h.
#pragma once

#include <tern/tensor.h>

#include <initializer_list>
#include <vector>

#include "schema/program.h"
#include "threads/threads.h"

namespace tern::linalg {

inline Attr attr(AttrKey key, std::int64_t value) {
  return {key, Dims{value}};
}
inline Attr attr_number(AttrKey key, double value) {
  return {key, std::vector<double>{value}};
}

inline constexpr const char* kSingular = "is singular: U[{0}, {0}] of its LU factors is zero";

/// A call of a public function: error messages start with the function's name, and nodes run on the call's thread
/// count.
class Nodes {
 public:
  /// `function`: "solve". Must outlive the object.
  Nodes(const char* function, int threads) : function_(function), scope_(Threads::chosen(threads)) {}

  /// Returns the node's results in new memory. `unwanted`: bit k skips result k and leaves a tensor without type.
  std::vector<Tensor> run(Op op, std::initializer_list<Tensor> operands, std::vector<Attr> attrs = {},
                          unsigned unwanted = 0) const;
  /// Throws if `info` of a factorization is not zero; `why` may contain {0} for the value.
  void require_factored(const Tensor& info, const char* why) const;
  /// Throws if `info` has a matrix with NaN or infinities (1), without convergence (2) or without a solution (3), for
  /// the reason `no_solution`: "is singular".
  void require_solved(const Tensor& info, const char* no_solution) const;
  [[noreturn]] void refuse(const std::string& why) const;
  /// Requires an operand of matrices of a linear algebra type.
  void require_matrices(const Tensor& a) const;

 private:
  const char* function_;
  ThreadScope scope_;
};

}  // namespace tern::linalg
