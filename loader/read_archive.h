// Reads as much of an archive as possible and collects findings. Shared by opening, validating and inspecting.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loader/container.h"
#include "loader/file_bytes.h"
#include "loader/findings.h"
#include "schema/program.h"

namespace tern {

/// Last stage reached when reading a file with findings.
enum class ReadStage {
  container,  ///< only the prologue is known
  index,      ///< `program` is partly usable: its tables are present, but may contradict each other
  program,    ///< all rules hold, except for features unsupported by this version
};

struct ReadArchive {
  std::shared_ptr<const FileBytes> file;
  Prologue prologue;
  ReadStage stage = ReadStage::container;
  std::vector<SegmentInfo> segments;
  std::vector<std::int32_t> segment_of;  ///< keyed by storage; -1 for an empty storage
  std::shared_ptr<Program> program;      ///< the program, without a source
};

/// Checks every rule except hashes and contents of segments; does not read segments.
ReadArchive read_archive(std::shared_ptr<const FileBytes> file, Findings& findings);

/// Hashes and decodes every segment inside the file, and checks kernels.
void check_segments(const ReadArchive& archive, Findings& findings);

/// Checks kernels of known forms. Requires an archive read to stage `program`.
void check_modules(const ReadArchive& archive, Findings& findings);

/// Checks that texts among the attached files are UTF-8. Requires an archive read to stage `program`.
void check_files(const ReadArchive& archive, Findings& findings);

/// First state or file of each segment, for messages.
std::vector<std::string> segment_names(const ReadArchive& archive);

}  // namespace tern
