// One of the two runs that are compared: a program, how it is prepared, and what a call leaves behind.
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
  PrepareOptions options;      ///< without `keep`, which `program` notes: it also holds for programs made of that one
  std::uint64_t seed = 0;
  std::string title;  ///< "bfloat16"
  /// What a program goes through before it runs, also one that was made of `program` with other results or of some of
  /// its nodes: quantizing at export. Both sides keep the same nodes so. It must keep results, in their order.
  std::function<std::shared_ptr<const Program>(const std::shared_ptr<const Program>&)> finish;

  const Function& f() const { return program->functions[function]; }
  /// A session of a program made of this one's, or of `program` itself.
  Session session(std::shared_ptr<const Program> of) const;
};

/// The program with all products of float32 in full precision where `patterns` match, whatever its marks say.
std::shared_ptr<const Program> keeping(const std::shared_ptr<const Program>& program,
                                       const std::vector<std::string>& patterns);
/// The same for all products of the program; it may have none.
std::shared_ptr<const Program> keeping_all(const std::shared_ptr<const Program>& program);
/// Whether the archive says a precision for some node.
bool has_marks(const Program& program);

/// Copies of the inputs of a call, which a run may write to.
std::vector<Tensor> copies_of(const std::vector<Tensor>& inputs);

/// What a call leaves: a result ("out0"), an input that it wrote to ("mut1"), or a state.
struct Left {
  std::string key, name;
  Tensor tensor;
};
/// Valid until the next run.
struct CallResults {
  std::vector<Tensor> inputs;  ///< of the call; results may lie in their memory
  std::vector<Left> left;
};
CallResults run_call(const Side& side, Session& session, const std::vector<Tensor>& inputs, bool with_states);

}  // namespace tern
