// Checks a program against every structural rule, and an archive's bytes against every rule of the format.
#pragma once

#include <string>
#include <vector>

#include "loader/findings.h"
#include "schema/program.h"

namespace tern {

/// Where the parts of a program lie in its file, for findings. The default knows nothing: 0.
class Places {
 public:
  virtual ~Places() = default;
  virtual std::uint64_t storage(std::size_t) const { return 0; }
  virtual std::uint64_t state(std::size_t) const { return 0; }
  virtual std::uint64_t function(std::size_t) const { return 0; }
  virtual std::uint64_t input(std::size_t /*function*/, std::size_t) const { return 0; }
  virtual std::uint64_t output(std::size_t /*function*/, std::size_t) const { return 0; }
  virtual std::uint64_t writeback(std::size_t /*function*/, std::size_t) const { return 0; }
  virtual std::uint64_t node(std::size_t /*function*/, std::size_t) const { return 0; }
};

/// Every rule about what a program means. What index_reader.h promises must hold already. Stages that rely on what an
/// earlier one found broken are left out. A program that takes more than `work` units (schema/work.h) gets the finding
/// index.work. Returns when the list of findings is full.
void validate(const Program& program, Findings& findings, const Places& places = {},
              std::uint64_t work = ~std::uint64_t{0});

/// Everything that is wrong with a file, damaged segments included. Safe on any bytes. Throws only Error (io).
std::vector<Finding> validate_archive(const std::string& path);
std::vector<Finding> validate_archive(std::span<const std::byte> bytes);

}  // namespace tern
