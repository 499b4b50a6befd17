// Checkpoints: files from which a run continues as if it had never stopped.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/files/host_tensor.h"
#include "tools/train/history.h"

namespace tern::train {

/// What must be the same for a run to continue bit by bit, and for people: "archive", "data", "batch", "threads" ...
using Settings = std::vector<std::pair<std::string, std::string>>;

/// How far a run goes: what the numbers of its checkpoints are checked against.
struct Extent {
  std::uint64_t steps = 0, batches = 0;  ///< in all; of an epoch
};

/// A folder of checkpoints, named after their steps. A file holds every mutable state (`state.NAME`), the position in
/// the stream of random numbers, the history, and the settings, as safetensors. It appears under its name when it is
/// complete and on the disk, so that a process or machine that dies at any moment leaves the ones before. Two are kept.
class Checkpoints {
 public:
  explicit Checkpoints(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  /// Makes the folder if there is none. Returns the file's path. Of the checkpoints of lower steps, the newest stays.
  /// Throws Error (io).
  /// `offsets`: of each rank, in its stream of random numbers.
  std::string save(const Model& model, const Session& session, const History& history, const Settings& settings,
                   const std::vector<std::uint64_t>& offsets) const;
  /// The newest checkpoint that can be read (checkpoint_file.h); `warnings` names those that cannot. Nothing where the
  /// folder has none. Fails (invalid_argument) if its settings are others, and says which; bad_file if none can be
  /// read, or none has a position within `extent`.
  std::optional<NamedTensors> newest(const Model& model, const Settings& settings, const Extent& extent,
                                     std::vector<std::string>& warnings) const;
  /// All of them, and the folder if nothing else is in it.
  void remove() const;
  /// Whether there is any.
  bool any() const { return !steps().empty(); }

 private:
  std::vector<std::uint64_t> steps() const;  ///< ascending
  std::string path(std::uint64_t step) const;
  void remove_unfinished() const;
  void remove_before(std::uint64_t step) const;

  std::string folder_;
};

}  // namespace tern::train
