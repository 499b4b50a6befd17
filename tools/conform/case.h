// A conformance case: a program, calls on a session (or on the sessions of a group) with their inputs, and PyTorch's
// results.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exporter/importer.h"
#include "tools/compare.h"
#include "tools/files/host_tensor.h"

namespace tern {

/// A single call. Keys are positions K of `inK`, `outK`, `mutK` and `gradK`.
struct CaseCall {
  std::map<int, const HostTensor*> inputs, outputs, mutated, gradients;
  std::string error;  ///< metadata `callC.error`: the call fails, and the message contains this
};

struct ConformCase {
  std::string path;  ///< path of the program
  std::string name;  ///< path below the given path: "add/f32_0"
  std::string op;    ///< metadata `op`, else the file's stem
  std::string dtype;
  std::optional<Tolerance> tolerance;
  NamedTensors tensors;
  std::vector<std::string> groups;           ///< metadata `groups`: tools/subgroups.h
  std::vector<std::vector<CaseCall>> ranks;  ///< the calls of each rank of a group; a single list without a group
};

/// All .pt2, .gguf and .tern files at or below the paths, sorted. Fails (io) for a missing path.
std::vector<std::string> find_cases(const std::vector<std::string>& paths);

/// An archive that Tern wrote earlier, perhaps in a former version of the format.
inline bool is_archive_case(const std::string& path) {
  return path.ends_with(".tern");
}
/// Imports the program of a case: a .pt2 file, the decoder of a GGUF file, or an archive's program as it is.
Program import_case(const std::string& path, const ImportOptions& options);

/// Reads NAME.safetensors: tensors "inK", "outK", "mutK", "gradK", with the prefix "callC." for several calls, and
/// "rankR." before it if metadata `ranks` sets a number of sessions running the program together. Fails if the file is
/// not beside the program or a key has another form.
ConformCase read_case(const std::string& pt2_path, const std::string& name);

}  // namespace tern
