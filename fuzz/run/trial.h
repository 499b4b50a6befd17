// Runs what an archive holds in every way that Tern has: an archive that the loader accepts gives results or an error.
// Anything else is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fuzz/run/choices.h"

namespace tern::fuzz {

struct Outcome {
  enum Kind {
    refused,    ///< by the loader
    too_large,  ///< for a fuzzer
    failed,     ///< every run ended with an error
    clean,      ///< at least one run gave results
    finding,    ///< a defect by its own account (ErrorCode::internal), or an exception of another type
  };
  Kind kind = refused;
  std::string message;  ///< of the last error
};

/// Opens the archive, makes inputs of allowed sizes by `c`, and runs each entry function twice in each mode: plain,
/// reproducible, as a graph, and by an algorithm that `c` chooses. The bytes must be aligned to 64 and outlive the
/// call.
Outcome run_archive(std::span<const std::byte> archive, Choices& c);

}  // namespace tern::fuzz
