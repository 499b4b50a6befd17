// Checks a program against every structural rule, and an archive's bytes against every rule of the format.
#pragma once

#include <string>
#include <vector>

#include "loader/findings.h"
#include "schema/program.h"

namespace tern {

/// File offsets of a program's parts, for findings. The default returns 0 for everything.
class ProgramOffsets {
 public:
  virtual ~ProgramOffsets() = default;
  virtual std::uint64_t storage(std::size_t) const { return 0; }
  virtual std::uint64_t state(std::size_t) const { return 0; }
  virtual std::uint64_t function(std::size_t) const { return 0; }
  virtual std::uint64_t input(std::size_t /*function*/, std::size_t) const { return 0; }
  virtual std::uint64_t output(std::size_t /*function*/, std::size_t) const { return 0; }
  virtual std::uint64_t writeback(std::size_t /*function*/, std::size_t) const { return 0; }
  virtual std::uint64_t node(std::size_t /*function*/, std::size_t) const { return 0; }
};

/// Checks every rule about a program's meaning. Requires the guarantees of index_reader.h. Skips stages relying on
/// parts already found broken. Programs needing more than `work` units (schema/work.h) get the finding index.work.
/// Returns when the list of findings is full.
void validate(const Program& program, Findings& findings, const ProgramOffsets& offsets = {},
              std::uint64_t work = ~std::uint64_t{0});

/// Lists all errors of a file, damaged segments included. Safe on any bytes. Throws only Error (io).
std::vector<Finding> validate_archive(const std::string& path);
std::vector<Finding> validate_archive(std::span<const std::byte> bytes);

}  // namespace tern
