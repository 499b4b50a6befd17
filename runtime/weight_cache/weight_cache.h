// Packed weights outliving the process: packed once, mapped by later runs.
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

/// The cache of one prepared program. Thread-safe; processes and programs share the folder. Without a safe folder,
/// lookups find nothing and offers are dropped.
class WeightCache {
 public:
  /// `choice`: PrepareOptions::weight_cache. Does not access files.
  explicit WeightCache(std::string choice) : choice_(std::move(choice)) {}

  /// Returns the weight with identity `identity` (StorageSource::identity), packed by `key` (WeightAccess::packed). The
  /// bytes are mapped and valid during this object's life; empty if missing. A weight offered through this object stays
  /// empty even after being stored: a program keeps its initial bytes, so that results keep their bits.
  std::span<const std::byte> find(const std::string& identity, const std::string& key);
  /// Packs and stores a weight once, after earlier offers: a low-priority thread runs `pack` single-threaded. If `pack`
  /// throws, nothing is stored. `pack` must not use this object; captured references must outlive this object.
  void offer(const std::string& identity, const std::string& key, std::function<std::vector<std::byte>()> pack);
  /// Waits until all offers are stored or dropped.
  void wait() { jobs_.wait(); }
  /// Reason for not storing weights; empty if the folder is in use. Creates the folder, like find().
  const std::string& problem() { return folder().problem(); }

 private:
  const CacheFolder& folder();
  void store_packed(const std::string& text, const std::function<std::vector<std::byte>()>& pack);

  std::string choice_;
  std::once_flag opened_;
  std::optional<CacheFolder> folder_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const PackedFile>> files_;
  std::set<std::string> offered_;
  std::atomic<bool> has_given_up_{false};  ///< set after a failed write
  BackgroundJobs jobs_;                    ///< destroyed first: jobs use the other members
};

}  // namespace tern
