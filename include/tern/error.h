// The exception reporting every failure: a code, and a message stating the problem, the location and the remedy.
#pragma once

#include <tern/api.h>

#include <stdexcept>
#include <string>

namespace tern {

enum class ErrorCode {
  invalid_argument = 2,  ///< the caller's arguments: wrong count, dtype, shape, name
  io = 3,                ///< a file cannot be opened, read, mapped or written
  bad_file = 4,          ///< bytes violate their format
  unsupported = 5,       ///< valid, but not supported by this version (an unknown op, a newer format)
  runtime = 6,           ///< a failure while running: an index out of range, a failed assertion of the program
  out_of_memory = 7,
  internal = 8,  ///< a defect of Tern itself
};

class TERN_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Throws Error.
[[noreturn]] TERN_API void fail(ErrorCode code, const std::string& message);

}  // namespace tern
