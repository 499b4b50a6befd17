// A conformance case: a program, calls on a session (or on those of a group) with their inputs, and what PyTorch gave
// for them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/compare.h"
#include "tools/files/host_tensor.h"

namespace tern {

/// One call. Keys are positions K of `inK`, `outK`, `mutK` and `gradK`.
struct CaseCall {
  std::map<int, const HostTensor*> inputs, outputs, mutated, gradients;
  std::string error;  ///< metadata `callC.error`: the call fails, and the message contains this
};

struct ConformCase {
  std::string path;  ///< of the .pt2
  std::string name;  ///< below the path that was given: "add/f32_0"
  std::string op;    ///< metadata `op`, else the file's stem
  std::string dtype;
  std::optional<Tolerance> tolerance;
  NamedTensors tensors;
  std::vector<std::string> groups;           ///< metadata `groups`: tools/subgroups.h
  std::vector<std::vector<CaseCall>> ranks;  ///< the calls of each rank of a group; of a case without one, of one
};

/// All .pt2 files at or below the paths, sorted. Fails (io) when a path is not there.
std::vector<std::string> find_cases(const std::vector<std::string>& paths);

/// Reads NAME.safetensors: tensors "inK", "outK", "mutK", "gradK", with "callC." before where there are several calls,
/// and "rankR." before that where metadata `ranks` says how many sessions run the program together. Fails when it is
/// not beside NAME.pt2 or a key has another form.
ConformCase read_case(const std::string& pt2_path, const std::string& name);

}  // namespace tern
