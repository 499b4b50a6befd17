// The contents of an archive, as text for people and as JSON. Safe on any result of read_archive.
#pragma once

#include <string>
#include <vector>

#include "loader/findings.h"
#include "loader/read_archive.h"

namespace tern {

struct InspectOptions {
  std::size_t weights = 12;        ///< how many of the largest weights are listed
  bool nodes = false;              ///< every node of every function
  bool imported = false;           ///< the program is a .pt2 file's
  std::vector<std::string> sizes;  ///< NAME=NUMBER: for what a run takes
};

/// What inspection can read of an archive; of a .pt2 file, which is imported, the program. Throws Error for that.
ReadArchive read_for_inspection(const std::string& path, bool* imported, Findings& findings);

std::string inspect_text(const std::string& path, const ReadArchive& archive, const std::vector<Finding>& findings,
                         const InspectOptions& options);
std::string inspect_json(const std::string& path, const ReadArchive& archive, const std::vector<Finding>& findings,
                         const InspectOptions& options = {});

/// Bytes of the storage that a state views, 0 where there is none.
std::uint64_t storage_bytes(const Program& program, const State& state);
/// Relations between sizes of inputs that a function checks before it runs: "x.shape[0] > x.shape[1]".
std::vector<std::string> assumed_relations(const Function& f);
/// How often each op occurs, the most frequent first.
std::vector<std::pair<std::string, std::size_t>> count_ops(const Program& program);
/// "matmul", and "op 200" for one that this version does not know.
std::string op_text(Op op);
const char* kind_text(State::Kind kind);

}  // namespace tern
