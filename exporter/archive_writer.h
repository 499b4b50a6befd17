// Writes a program as a .tern archive (docs/format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

struct WriteOptions {
  enum class Codec : std::uint8_t { none, zstd };
  Codec codec = Codec::none;
  int level = 3;  ///< zstd level, 1 to 22
  /// Called now and then with bytes of weights done and in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress;
};

struct WriteReport {
  std::uint64_t file_size = 0;
  std::uint64_t index_size = 0;
  std::uint64_t segments = 0;
  std::uint64_t weights = 0;  ///< bytes of all storages viewed by states
  std::uint64_t stored = 0;   ///< bytes of segments in the file
};

/// Streams the weights from the program's source; the file gets its name on completion. Storages without a viewing
/// state are omitted, and the others renumbered. Throws Error (io; invalid_argument for a program outside the format's
/// limits; unsupported for a violation of the loader's rules, without creating a file).
WriteReport write_archive(const Program& program, const std::string& path, const WriteOptions& options = {});

/// Writes the archive into memory, without checking the loader's rules.
std::vector<std::byte> archive_bytes(const Program& program, const WriteOptions& options = {});

}  // namespace tern
