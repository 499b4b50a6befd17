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

/// Known states of all models of a file.
struct KnownStates {
  std::map<std::string, std::uint32_t> states_by_name;
  std::map<std::uint32_t, std::vector<std::uint32_t>> states_by_storage;
  /// The first of each view: storage, offset, dtype, sizes, strides.
  std::map<std::vector<std::int64_t>, std::uint32_t> states_by_view;
  /// Byte ranges with checked booleans: by storage, from the first byte to the last.
  std::map<std::uint32_t, std::map<std::int64_t, std::int64_t>> booleans;
  /// Compared pairs of storages: true for equal bytes.
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> equal;
};

/// States of one model. Models of one file share states equal in name and bytes: prefill and decode then work on one
/// cache.
class ModelStates {
 public:
  /// `prefix` precedes the name of a state different from a known one.
  ModelStates(Program& program, ArchiveSource& source, const pt2::Program& model, KnownStates& known,
              std::string prefix)
      : program_(program), source_(source), model_(model), known_states_(known), prefix_(std::move(prefix)) {}

  /// State of a parameter, buffer or tensor constant; adds new states. Throws if its bytes are absent from the file, or
  /// are a tensor subclass.
  std::uint32_t state_of(const pt2::InputSpec& spec);

  /// Tensor subclass of a parameter, buffer or constant; null for plain tensors. Lives as long as the source.
  const pt2::PickledTensor* subclass_of(const pt2::InputSpec& spec);
  /// State of a plain tensor inside the subclass of `spec`, with a name such as "weight.scale".
  std::uint32_t pickled_state(const pt2::InputSpec& spec, const std::string& name, const pt2::PickledTensor& tensor);

  /// State without a PyTorch name: the whole storage of `state`, as a run of its elements. Serves overlapping written
  /// states.
  std::uint32_t whole_storage(std::uint32_t state);

  /// True if two different states share bytes without being the same tensor.
  bool overlap(std::uint32_t a, std::uint32_t b) const;

  /// Marks a written state, and all states with bytes in common.
  void set_mutable(std::uint32_t state);

 private:
  std::uint32_t add(State state);
  /// Finds or adds a state with type, strides, offset and storage.
  std::uint32_t known_or_added(const pt2::InputSpec& spec, const std::string& name, State state);
  void require_booleans(const State& state, const std::string& name);
  void require_booleans(std::uint32_t storage, std::int64_t first, std::int64_t last, const std::string& name);
  bool same_tensor(const State& a, const State& b);
  bool equal_storages(std::uint32_t a, std::uint32_t b);

  Program& program_;
  ArchiveSource& source_;
  const pt2::Program& model_;
  KnownStates& known_states_;
  std::string prefix_;
  std::map<std::string, std::uint32_t> state_indices_;  ///< this model's states, keyed by its names
  std::map<std::uint32_t, std::uint32_t> wholes_;       ///< by storage
};

/// Numbers the storages of all the model's states.
void reserve_storages(const pt2::Program& model, ArchiveSource& source, Program& program);

/// Names of the graph's inputs possibly written, directly or through views.
std::set<std::string> written_inputs(const pt2::Graph& graph);

}  // namespace tern::importing
