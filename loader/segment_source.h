// The bytes of an archive's storages: mapped segments, hashed and decompressed when first used.
#pragma once

#include <tern/tern.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "loader/container.h"
#include "loader/file_bytes.h"
#include "loader/memory_pages.h"
#include "schema/program.h"

namespace tern {

/// A source returning bytes during their check, so that each byte enters the processor's caches only once.
class PartedSource {
 public:
  virtual ~PartedSource() = default;
  /// Passes all bytes of the storage in order; parts are valid during the call. Fails after the last part if the hash
  /// is wrong: discard all parts then.
  virtual void read(std::uint32_t storage, const std::function<void(std::span<const std::byte>)>& part) = 0;
};

/// Thread-safe: the first thread requesting a segment prepares it with all cores; other threads wait.
class SegmentSource : public StorageSource, public PartedSource {
 public:
  /// Requires checked `segments`; `segment_of` and `sizes` are indexed by storage, -1 for an empty storage. `names`
  /// describe segments in messages. Verify::now: the caller has checked all segments.
  SegmentSource(std::shared_ptr<const FileBytes> file, std::vector<SegmentInfo> segments,
                std::vector<std::int32_t> segment_of, std::vector<std::string> names, Verify verify);

  std::span<const std::byte> bytes(std::uint32_t storage) override;
  void read(std::uint32_t storage, const std::function<void(std::span<const std::byte>)>& part) override;
  /// Address of an uncompressed segment in the mapping, unchecked.
  const std::byte* address(std::uint32_t storage) override;
  /// Releases mapped pages. Decompressed bytes stay.
  void release(std::uint32_t storage) override;
  /// Identity of the file plus the segment's position and hash. The hash alone does not suffice: the author of an
  /// archive can copy a hash from another archive. Empty for unchecked bytes.
  std::string identity(std::uint32_t storage) const override;

 private:
  struct Slot {
    std::atomic<bool> is_ready{false};
    std::mutex mutex;
    std::span<const std::byte> bytes;
    MemoryPages decoded;
  };
  void prepare(std::size_t segment);
  [[noreturn]] void damaged(std::size_t segment, const std::string& what) const;

  std::shared_ptr<const FileBytes> file_;
  std::vector<SegmentInfo> segments_;
  std::vector<std::int32_t> segment_of_;
  std::vector<std::string> names_;
  Verify verify_;
  std::unique_ptr<Slot[]> slots_;
};

/// Stored bytes of a segment inside the file.
std::span<const std::byte> stored_bytes(std::span<const std::byte> file, const SegmentInfo& segment);
/// Returns an empty string if the frames decode to exactly `out`; else the error.
std::string decode_frames(std::span<const std::byte> stored, const SegmentInfo& segment, std::span<std::byte> out);
/// Likewise, also checking booleans (boolean_problem); needs memory for one frame per thread only.
std::string check_frames(std::span<const std::byte> stored, const SegmentInfo& segment);
/// Passes the decoded bytes in order, one frame at a time. Returns an empty string, or the error of the first damaged
/// frame.
std::string read_frames(std::span<const std::byte> stored, const SegmentInfo& segment,
                        const std::function<void(std::span<const std::byte>)>& part);
/// Returns an empty string if all boolean bytes of the segment are 0 or 1. `bytes` are its decoded bytes starting at
/// `at`.
std::string boolean_problem(const SegmentInfo& segment, std::span<const std::byte> bytes, std::uint64_t at = 0);

}  // namespace tern
