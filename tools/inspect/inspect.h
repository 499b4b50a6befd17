// The contents of an archive, as text for people and as JSON. Safe on any result of read_archive.
#pragma once

#include <string>
#include <vector>

#include "loader/findings.h"
#include "loader/read_archive.h"

namespace tern {

struct InspectOptions {
  std::size_t weights = 12;        ///< number of the largest weights to list
  bool nodes = false;              ///< every node of every function
  bool imported = false;           ///< the program is a .pt2 file's
  std::vector<std::string> sizes;  ///< NAME=NUMBER: sizes for the cost of a run
};

/// Reads an archive as far as possible; imports a .pt2 file. Throws Error for a failed import.
ReadArchive read_for_inspection(const std::string& path, bool* imported, Findings& findings);

std::string inspect_text(const std::string& path, const ReadArchive& archive, const std::vector<Finding>& findings,
                         const InspectOptions& options);
std::string inspect_json(const std::string& path, const ReadArchive& archive, const std::vector<Finding>& findings,
                         const InspectOptions& options = {});

/// Bytes of the storage behind a state, 0 without a storage.
std::uint64_t storage_bytes(const Program& program, const State& state);
/// Relations between sizes of inputs, checked by a function before it runs: "x.shape[0] > x.shape[1]".
std::vector<std::string> assumed_relations(const Function& f);
/// Number of occurrences of each op, the most frequent first.
std::vector<std::pair<std::string, std::size_t>> count_ops(const Program& program);
/// "matmul", or "op 200" for an op unknown to this version.
std::string op_text(Op op);
const char* kind_text(State::Kind kind);

}  // namespace tern
