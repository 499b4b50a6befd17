// Checkpoints: files to continue an interrupted run with the same results.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/files/host_tensor.h"
#include "tools/train/history.h"
#include "tools/train/patience.h"

namespace tern::train {

/// Settings which must be equal to continue a run bit by bit, readable by people: "archive", "data", "batch", "threads"
/// ...
using Settings = std::vector<std::pair<std::string, std::string>>;

/// Length of a run: bounds of the numbers in its checkpoints.
struct RunLength {
  std::uint64_t steps = 0, batches = 0;  ///< total; per epoch
};

/// A folder of checkpoints, named after their steps. A file holds every mutable state (`state.NAME`), the position in
/// the stream of random numbers, the history, and the settings, as safetensors. The file appears under its name only
/// when complete and on the disk: a process or machine may die at any moment without losing earlier checkpoints. The
/// folder keeps two.
class Checkpoints {
 public:
  explicit Checkpoints(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  /// Creates the folder if missing. Returns the file's path. Keeps only the newest checkpoint of lower steps. Throws
  /// Error (io).
  /// `offsets`: each rank's position in its stream of random numbers.
  std::string save(const Model& model, const Session& session, const History& history, const Settings& settings,
                   const std::vector<std::uint64_t>& offsets, const Patience& patience = Patience()) const;
  /// The newest readable checkpoint (checkpoint_file.h); `warnings` names unreadable files. Empty for a folder without
  /// checkpoints. Fails (invalid_argument) for different settings, naming them; bad_file if no checkpoint is readable,
  /// or none has a position within `extent`.
  std::optional<NamedTensors> newest(const Model& model, const Settings& settings, const RunLength& extent,
                                     std::vector<std::string>& warnings) const;
  /// Removes all checkpoints, and the folder if empty.
  void remove() const;
  /// True if the folder has a checkpoint.
  bool has_checkpoint() const { return !steps().empty(); }

 private:
  std::vector<std::uint64_t> steps() const;  ///< ascending
  std::string path(std::uint64_t step) const;
  void remove_unfinished() const;
  void remove_before(std::uint64_t step) const;

  std::string folder_;
};

}  // namespace tern::train
