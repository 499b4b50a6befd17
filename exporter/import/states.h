// Parameters, buffers and constants of a .pt2 file as states of the program.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exporter/import/storages.h"
#include "exporter/pt2/model.h"

namespace tern::importing {

/// What is known of the states of all models of a file.
struct KnownStates {
  std::map<std::string, std::uint32_t> by_name;
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_storage;
  /// The first of each view: storage, offset, dtype, sizes, strides.
  std::map<std::vector<std::int64_t>, std::uint32_t> same;
  /// Ranges of bytes whose booleans were checked: by storage, from the first byte to the last.
  std::map<std::uint32_t, std::map<std::int64_t, std::int64_t>> booleans;
  /// Pairs of storages that were compared: true where their bytes are the same.
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> equal;
};

/// The states of one model. Models of one file share those of one name that are equal, bytes too: prefill and decode
/// then work on one cache.
class States {
 public:
  /// `prefix` goes before the name of a state that differs from a known one.
  States(Program& program, ArchiveSource& source, const pt2::Program& model, KnownStates& known, std::string prefix)
      : program_(program), source_(source), model_(model), known_(known), prefix_(std::move(prefix)) {}

  /// The state of a parameter, buffer or tensor constant, added when it is new. Throws when its bytes are not in the
  /// file, or are a tensor subclass.
  std::uint32_t state_of(const pt2::InputSpec& spec);

  /// The tensor subclass that a parameter, buffer or constant is; null for plain tensors. Lives as long as the source.
  const pt2::PickledTensor* subclass_of(const pt2::InputSpec& spec);
  /// The state of a plain tensor inside of the subclass that `spec` is, by a name such as "weight.scale".
  std::uint32_t pickled_state(const pt2::InputSpec& spec, const std::string& name, const pt2::PickledTensor& tensor);

  /// A state without a name in PyTorch: the whole storage of `state`, as a run of its elements. For states that overlap
  /// and are written.
  std::uint32_t whole_storage(std::uint32_t state);

  /// The two states share bytes without being the same tensor.
  bool overlap(std::uint32_t a, std::uint32_t b) const;

  /// Marks what is written, and all that shares bytes with it.
  void set_mutable(std::uint32_t state);

 private:
  std::uint32_t add(State state);
  /// Of a state with type, strides, offset and storage.
  std::uint32_t known_or_added(const pt2::InputSpec& spec, const std::string& name, State state);
  void require_booleans(const State& state, const std::string& name);
  void require_booleans(std::uint32_t storage, std::int64_t first, std::int64_t last, const std::string& name);
  bool same_tensor(const State& a, const State& b);
  bool equal_storages(std::uint32_t a, std::uint32_t b);

  Program& program_;
  ArchiveSource& source_;
  const pt2::Program& model_;
  KnownStates& known_;
  std::string prefix_;
  std::map<std::string, std::uint32_t> numbers_;   ///< of this model, by its names
  std::map<std::uint32_t, std::uint32_t> wholes_;  ///< by storage
};

/// Numbers the storages of all the model's states.
void reserve_storages(const pt2::Program& model, ArchiveSource& source, Program& program);

/// Names of the graph's inputs that the graph may write to, or to views of which it may.
std::set<std::string> written_inputs(const pt2::Graph& graph);

}  // namespace tern::importing
