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

/// A source that hands bytes over while it checks them, so that they are brought into the processor's caches once.
class PartedSource {
 public:
  virtual ~PartedSource() = default;
  /// All bytes of the storage, in order; parts are valid during the call. Fails after the last one where the hash is
  /// wrong: what was handed over is then no good.
  virtual void read(std::uint32_t storage, const std::function<void(std::span<const std::byte>)>& part) = 0;
};

/// Thread-safe: a segment is prepared by the thread that asks first, with all cores; others that want it wait.
class SegmentSource : public StorageSource, public PartedSource {
 public:
  /// `segments` must have passed the checks of the loader; `segment_of` and `sizes` are by storage, -1 for an empty
  /// one. `names` say what each segment is for, in messages. Verify::now: the caller has checked all segments.
  SegmentSource(std::shared_ptr<const FileBytes> file, std::vector<SegmentInfo> segments,
                std::vector<std::int32_t> segment_of, std::vector<std::string> names, Verify verify);

  std::span<const std::byte> bytes(std::uint32_t storage) override;
  void read(std::uint32_t storage, const std::function<void(std::span<const std::byte>)>& part) override;
  /// Of a segment that is stored as it is: in the mapping, not checked yet.
  const std::byte* address(std::uint32_t storage) override;
  /// Gives back mapped pages. What was decompressed stays.
  void release(std::uint32_t storage) override;
  /// The file's, with the segment's place and hash. The hash alone does not do: whoever writes an archive can give a
  /// segment the hash of another archive's. Empty for bytes that nobody checks.
  std::string identity(std::uint32_t storage) const override;

 private:
  struct Slot {
    std::atomic<bool> ready{false};
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

/// Stored bytes of a segment that lies in the file.
std::span<const std::byte> stored_bytes(std::span<const std::byte> file, const SegmentInfo& segment);
/// Empty when the frames decode to exactly `out`; else what is wrong with them.
std::string decode_frames(std::span<const std::byte> stored, const SegmentInfo& segment, std::span<std::byte> out);
/// The same, and whether booleans are (boolean_problem), without memory for more than a frame of each thread.
std::string check_frames(std::span<const std::byte> stored, const SegmentInfo& segment);
/// Empty when all bytes of the segment that are booleans are 0 or 1. `bytes` are its decoded bytes from `at` on.
std::string boolean_problem(const SegmentInfo& segment, std::span<const std::byte> bytes, std::uint64_t at = 0);

}  // namespace tern
