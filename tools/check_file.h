// Checks a file: an archive against the rules of the format, a .pt2 file by importing the program.
#pragma once

#include <tern/error.h>

#include <optional>
#include <string>
#include <vector>

#include "loader/findings.h"

namespace tern {

struct FileCheck {
  std::string path;
  std::vector<Finding> findings;
  std::optional<Error> failure;  ///< failure of the check itself: an unreadable file, no memory

  bool valid() const { return findings.empty() && !failure; }
  /// Exit status: the failure's; else broken rules or merely unsupported content (exit_codes.h).
  int status() const;
};

/// Throws nothing. Checks a .pt2 file's container, JSON, bytes of weights and the imported program.
FileCheck check_file(const std::string& path);

}  // namespace tern
