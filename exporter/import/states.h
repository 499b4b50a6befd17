// Parameters, buffers and constants of a .pt2 file as states of the program.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "exporter/import/storages.h"
#include "exporter/pt2/model.h"

namespace tern::importing {

class States {
 public:
  States(Program& program, ArchiveSource& source, const pt2::Program& model)
      : program_(program), source_(source), model_(model) {}

  /// The state of a parameter, buffer or tensor constant, added when it is new. Throws when its bytes are not in the
  /// file, or are a pickle.
  std::uint32_t state_of(const pt2::InputSpec& spec);

  /// A state without a name in PyTorch: the whole storage of `state`, as a run of its elements. For states that overlap
  /// and are written.
  std::uint32_t whole_storage(std::uint32_t state);

  /// The two states share bytes without being the same tensor.
  bool overlap(std::uint32_t a, std::uint32_t b) const;

  /// Marks what is written, and all that shares bytes with it.
  void set_mutable(std::uint32_t state);

 private:
  std::uint32_t add(State state);

  Program& program_;
  ArchiveSource& source_;
  const pt2::Program& model_;
  std::map<std::string, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::uint32_t> wholes_;  ///< by storage
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_storage_;
  std::map<std::vector<std::int64_t>, std::uint32_t>
      same_;  ///< the first state of each view: storage, offset, dtype, sizes, strides
};

/// Numbers the storages of all the model's states.
void reserve_storages(const pt2::Program& model, ArchiveSource& source, Program& program);

/// Names of the graph's inputs that the graph may write to, or to views of which it may.
std::set<std::string> written_inputs(const pt2::Graph& graph);

}  // namespace tern::importing
