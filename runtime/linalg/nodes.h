// Single nodes of linear algebra, run on tensors by the CPU's kernels: what the functions of tern/linalg.h are made of.
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

/// One call of a public function: messages have its name, and its nodes its number of threads.
class Nodes {
 public:
  /// `function`: "solve". It must outlive the object.
  Nodes(const char* function, int threads) : function_(function), scope_(Threads::chosen(threads)) {}

  /// The node's results, in memory of their own. `unwanted`: bit k has result k left out, as a tensor without type.
  std::vector<Tensor> run(Op op, std::initializer_list<Tensor> operands, std::vector<Attr> attrs = {},
                          unsigned unwanted = 0) const;
  /// Throws where `info` of a factorization is not zero; `why` has places {0} for the number there.
  void require_factored(const Tensor& info, const char* why) const;
  [[noreturn]] void refuse(const std::string& why) const;
  /// That the operand has matrices of a type of linear algebra.
  void require_matrices(const Tensor& a) const;

 private:
  const char* function_;
  ThreadScope scope_;
};

}  // namespace tern::linalg
