// Writes the bytes of a program's storages as segments: each content once, aligned, hashed, compressed on request.
#pragma once

#include <cstdint>
#include <vector>

#include "exporter/archive/sink.h"
#include "exporter/archive_writer.h"
#include "loader/hash.h"
#include "schema/program.h"

namespace tern::writing {

struct WrittenSegment {
  std::uint64_t offset = 0, stored_size = 0, size = 0, alignment = 64;
  bool compressed = false;
  Hash128 hash;
  std::uint32_t frame_size = 0;
  std::vector<std::uint32_t> frames;
};

struct WrittenStorages {
  struct Entry {
    std::uint64_t size = 0;
    std::int32_t segment = -1;
  };
  std::vector<WrittenSegment> segments;
  std::vector<Entry> storages;            ///< storages viewed by states
  std::vector<std::uint32_t> renumbered;  ///< keyed by the program's number; kUnused for others
  static constexpr std::uint32_t kUnused = 0xffffffff;
};

WrittenStorages write_storages(const Program& program, Sink& sink, const WriteOptions& options);

}  // namespace tern::writing
