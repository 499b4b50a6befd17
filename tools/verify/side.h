// A side of a comparison: a program, its preparation, and the tensors left by a call.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

struct Side {
  std::shared_ptr<const Program> program;
  std::uint32_t function = 0;  ///< an entry
  PrepareOptions options;      ///< excludes `keep` (marked in `program`); also holds for derived programs
  std::uint64_t seed = 0;
  std::string title;  ///< "bfloat16"
  /// Transformation of a program before running, also of programs derived from `program` with other results or some of
  /// its nodes: quantizing at export. Both sides thus keep the same nodes. The transformation must keep the results in
  /// order.
  std::function<std::shared_ptr<const Program>(const std::shared_ptr<const Program>&)> finish;

  const Function& f() const { return program->functions[function]; }
  /// A session of a program derived from this side's, or of `program` itself.
  Session session(std::shared_ptr<const Program> of) const;
};

/// The program with full precision for float32 products matching `patterns`, regardless of marks.
std::shared_ptr<const Program> keeping(const std::shared_ptr<const Program>& program,
                                       const std::vector<std::string>& patterns);
/// The same for all products of the program (possibly none).
std::shared_ptr<const Program> keeping_all(const std::shared_ptr<const Program>& program);
/// True if the archive sets the precision of any node.
bool has_marks(const Program& program);

/// Copies of a call's inputs, because a run may modify inputs.
std::vector<Tensor> copies_of(const std::vector<Tensor>& inputs);

/// A tensor left by a call: a result ("out0"), a modified input ("mut1"), or a state.
struct LeftTensor {
  std::string key, name;
  Tensor tensor;
};
/// Valid until the next run.
struct CallResults {
  std::vector<Tensor> inputs;  ///< inputs of the call; results may share their memory
  std::vector<LeftTensor> tensors;
};
CallResults run_call(const Side& program_side, Session& session, const std::vector<Tensor>& inputs, bool with_states);

}  // namespace tern
