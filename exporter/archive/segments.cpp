#include "exporter/archive/segments.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "exporter/archive/frames.h"
#include "exporter/constants.h"
#include "loader/format.h"

namespace tern::writing {
namespace {

/// Bytes hashed and written at a time.
constexpr std::uint64_t kBatch = 256 * kHashPiece;

bool all_zero(std::span<const std::byte> bytes) {
  return !bytes.empty() && bytes[0] == std::byte{0} &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

class Storages {
 public:
  Storages(const Program& program, Sink& sink, const WriteOptions& options)
      : program_(program), sink_(sink), options_(options) {}

  WrittenStorages write() {
    number();
    for (std::uint32_t storage_index : order_) {
      WrittenStorages::Entry& entry = out_.storages[out_.renumbered[storage_index]];
      if (entry.size == 0) continue;
      const auto bytes = bytes_of(storage_index);
      entry.segment = find_equal(storage_index, bytes);
      if (entry.segment < 0) entry.segment = add(storage_index, bytes);
      written_bytes_ += entry.size;
      progress();
      program_.source->release(storage_index);
      if (auto* extendable = dynamic_cast<ExtendableSource*>(program_.source.get())) extendable->discard(storage_index);
    }
    return std::move(out_);
  }

 private:
  /// Numbers the storages viewed by states, in state order, then packed storages, kernels and attached files.
  void number() {
    out_.renumbered.assign(program_.storages.size(), WrittenStorages::kUnused);
    for (const State& s : program_.states) {
      if (s.storage >= program_.storages.size()) {
        fail(ErrorCode::internal, fmt::format("state '{}' views storage {}, which does not exist", s.name, s.storage));
      }
      number(s.storage);
    }
    for (const Packing& p : program_.packings) {
      if (p.storage >= program_.storages.size() || p.packed >= program_.storages.size()) {
        fail(ErrorCode::internal, "a packing names a storage that does not exist");
      }
      number(p.storage);
      number(p.packed);
    }
    for (const DeviceKernel& k : program_.kernels) {
      if (k.storage >= program_.storages.size()) fail(ErrorCode::internal, "a kernel's storage does not exist");
      number(k.storage);
    }
    for (const AttachedFile& f : program_.files) {
      if (f.storage >= program_.storages.size()) fail(ErrorCode::internal, "an attached file's storage does not exist");
      number(f.storage);
      files_.insert(f.storage);
    }
  }
  void number(std::uint32_t storage) {
    std::uint32_t& number = out_.renumbered[storage];
    if (number != WrittenStorages::kUnused) return;
    number = static_cast<std::uint32_t>(out_.storages.size());
    const std::uint64_t size = program_.storages[storage].size;
    out_.storages.push_back({size, -1});
    order_.push_back(storage);
    total_bytes_ += size;
    ++counts_by_size_[size];
  }

  std::span<const std::byte> bytes_of(std::uint32_t storage) const {
    if (program_.source == nullptr) fail(ErrorCode::internal, "a program with weights has no source of bytes");
    const auto bytes = program_.source->bytes(storage);
    const std::uint64_t size = program_.storages[storage].size;
    if (bytes.size() < size) {
      fail(ErrorCode::internal, fmt::format("storage {} has {} bytes, but declares {}", storage, bytes.size(), size));
    }
    return bytes.first(size);
  }

  /// The segment with the same bytes, or -1. Only storages of equal sizes are hashed.
  std::int32_t find_equal(std::uint32_t storage, std::span<const std::byte> bytes) {
    if (counts_by_size_[bytes.size()] < 2) return -1;
    const Hash128 hash = segment_hash(bytes);
    auto& same_size = written_by_size_[bytes.size()];
    for (const WrittenContent& s : same_size) {
      if (!(s.hash == hash)) continue;
      const auto stored_bytes = bytes_of(s.storage);
      if (std::memcmp(stored_bytes.data(), bytes.data(), bytes.size()) == 0) return s.segment;
    }
    same_size.push_back({hash, storage, static_cast<std::int32_t>(out_.segments.size())});
    return -1;
  }

  std::int32_t add(std::uint32_t storage, std::span<const std::byte> bytes) {
    WrittenSegment segment;
    segment.size = bytes.size();
    // Attached files are texts: a reader parses them whole, and mapping them saves nothing.
    if (options_.codec == WriteOptions::Codec::zstd || files_.contains(storage)) {
      segment.compressed = compress(bytes, segment);
      if (!segment.compressed) segment.frames.clear();
    }
    if (!segment.compressed) {
      segment.stored_size = segment.size;
      align(segment);
      SegmentHasher hasher;
      for (std::uint64_t offset = 0; offset < bytes.size(); offset += kBatch) {
        const auto batch = bytes.subspan(offset, std::min<std::uint64_t>(kBatch, bytes.size() - offset));
        hasher.add(batch);
        write_sparse(batch);
        if (options_.on_progress) options_.on_progress(written_bytes_ + offset, total_bytes_);
      }
      segment.hash = hasher.finish();
    }
    out_.segments.push_back(std::move(segment));
    return static_cast<std::int32_t>(out_.segments.size() - 1);
  }

  /// False if compression gains nothing, or if the archive would expand beyond the readers' limit.
  bool compress(std::span<const std::byte> bytes, WrittenSegment& segment) {
    Frames frames(options_.level);
    const std::uint64_t limit = bytes.size() - bytes.size() / 16;
    std::vector<std::byte> compressed;
    for (std::uint64_t offset = 0; offset < bytes.size(); offset += Frames::kBatch) {
      frames.compress(bytes.subspan(offset, std::min<std::uint64_t>(Frames::kBatch, bytes.size() - offset)), compressed,
                      segment.frames);
      if (compressed.size() >= limit) return false;
      if (options_.on_progress) options_.on_progress(written_bytes_ + offset, total_bytes_);
    }
    const std::uint64_t file = sink_.size() + compressed.size();
    if (expanded_ + bytes.size() > file * kMaxExpansion + kFreeExpansion) {
      return false;
    }
    expanded_ += bytes.size();
    segment.frame_size = kFrameSize;
    segment.stored_size = compressed.size();
    align(segment);
    segment.hash = segment_hash(compressed);
    sink_.write(compressed);
    return true;
  }

  void align(WrittenSegment& segment) {
    segment.alignment = alignment_of(segment.stored_size);
    segment.offset = align_up(sink_.size(), segment.alignment);
    sink_.write_zeros(segment.offset - sink_.size());
  }

  /// Pieces of zeros become holes of the file.
  void write_sparse(std::span<const std::byte> bytes) {
    std::uint64_t pending = 0;  // unwritten bytes before `at`
    for (std::uint64_t offset = 0; offset < bytes.size(); offset += kHashPiece) {
      const std::uint64_t size = std::min<std::uint64_t>(kHashPiece, bytes.size() - offset);
      if (size == kHashPiece && all_zero(bytes.subspan(offset, size))) {
        sink_.write(bytes.subspan(offset - pending, pending));
        sink_.write_zeros(size);
        pending = 0;
      } else {
        pending += size;
      }
    }
    sink_.write(bytes.last(pending));
  }

  void progress() {
    if (options_.on_progress) options_.on_progress(written_bytes_, total_bytes_);
  }

  struct WrittenContent {
    Hash128 hash;
    std::uint32_t storage;
    std::int32_t segment;
  };
  const Program& program_;
  Sink& sink_;
  const WriteOptions& options_;
  WrittenStorages out_;
  std::vector<std::uint32_t> order_;
  std::set<std::uint32_t> files_;  ///< storages of attached files
  std::map<std::uint64_t, std::uint32_t> counts_by_size_;
  std::map<std::uint64_t, std::vector<WrittenContent>> written_by_size_;
  std::uint64_t written_bytes_ = 0, total_bytes_ = 0, expanded_ = 0;
};

}  // namespace

WrittenStorages write_storages(const Program& program, Sink& sink, const WriteOptions& options) {
  return Storages(program, sink, options).write();
}

}  // namespace tern::writing
