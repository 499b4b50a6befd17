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
  std::optional<Error> failure;  ///< the check could not be done: the file cannot be read, memory ran out

  bool valid() const { return findings.empty() && !failure; }
  /// Exit status: of the failure; else whether a rule is broken or the file merely not supported (exit_codes.h).
  int status() const;
};

/// Throws nothing. Of a .pt2 file the container, the JSON, the weights' bytes and the imported program are checked.
FileCheck check_file(const std::string& path);

}  // namespace tern
