// Runs an archive in every mode of Tern: an accepted archive gives results or an error. Anything else is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fuzz/run/choices.h"

namespace tern::fuzz {

struct Outcome {
  enum Kind {
    refused,    ///< rejected by the loader
    too_large,  ///< beyond the fuzzer's limits
    failed,     ///< every run ended with an error
    clean,      ///< some run gave results
    finding,    ///< a defect by its own account (ErrorCode::internal), or an exception of another type
  };
  Kind kind = refused;
  std::string message;  ///< last error
};

/// Opens the archive, makes inputs of allowed sizes from `c`, and runs each entry function twice in each mode: plain,
/// reproducible, as a graph, and with a random algorithm. The bytes must be aligned to 64 and outlive the call.
Outcome run_archive(std::span<const std::byte> archive, Choices& c);

}  // namespace tern::fuzz
