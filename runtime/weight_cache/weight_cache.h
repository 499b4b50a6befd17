// Packed weights that outlive the process: a program that packed them once maps them from then on.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/weight_cache/background_jobs.h"
#include "runtime/weight_cache/folder.h"
#include "runtime/weight_cache/packed_file.h"

namespace tern {

/// The cache as one prepared program uses it. Any number of threads may use it at the same time; processes and programs
/// share the folder. Without a safe folder nothing is found and nothing is kept.
class WeightCache {
 public:
  /// `choice`: PrepareOptions::weight_cache. Looks at no file yet.
  explicit WeightCache(std::string choice) : choice_(std::move(choice)) {}

  /// The weight whose bytes have this identity (StorageSource::identity), as packed by `key` (WeightAccess::packed).
  /// Mapped, valid as long as this object; empty if it is not there. What was offered here stays empty, even when it is
  /// kept: a program runs on the bytes that it began with, so that its results keep their bits.
  std::span<const std::byte> find(const std::string& identity, const std::string& key);
  /// Has a weight packed and kept, once, after others that were offered before: one at a time, by a thread of low
  /// priority that runs `make` on itself alone. `make` may throw; then nothing is kept. It must not use this object,
  /// and what it refers to must outlive this object.
  void offer(const std::string& identity, const std::string& key, std::function<std::vector<std::byte>()> make);
  /// Waits until all that was offered is kept or dropped.
  void wait() { jobs_.wait(); }
  /// Why nothing is kept; empty if the folder is used. Makes the folder, as find() does.
  const std::string& problem() { return folder().problem(); }

 private:
  const CacheFolder& folder();
  void keep(const std::string& text, const std::function<std::vector<std::byte>()>& make);

  std::string choice_;
  std::once_flag opened_;
  std::optional<CacheFolder> folder_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const PackedFile>> files_;
  std::set<std::string> offered_;
  std::atomic<bool> has_given_up_{false};  ///< a file could not be written
  BackgroundJobs jobs_;                    ///< the first to go: jobs use the others
};

}  // namespace tern
