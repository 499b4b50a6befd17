// Reads as much of an archive as possible and collects its findings. Opening, validating and inspecting share this.
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

/// Where the reading of a file with findings stopped.
enum class ReadStage {
  container,  ///< only the prologue is known
  index,      ///< `program` can be looked at in part: its tables are there, but may contradict each other
  program,    ///< all rules hold, but for what is unsupported by this version
};

struct ReadArchive {
  std::shared_ptr<const FileBytes> file;
  Prologue prologue;
  ReadStage stage = ReadStage::container;
  std::vector<SegmentInfo> segments;
  std::vector<std::int32_t> segment_of;  ///< by storage; -1 for an empty one
  std::shared_ptr<Program> program;      ///< without a source
};

/// Checks every rule but the hashes and the contents of segments, which are not touched.
ReadArchive read_archive(std::shared_ptr<const FileBytes> file, Findings& findings);

/// Hashes and decodes every segment that lies in the file, and looks into kernels.
void check_segments(const ReadArchive& archive, Findings& findings);

/// Looks into kernels of forms that are known. For archives that were read to the stage of a program.
void check_modules(const ReadArchive& archive, Findings& findings);

/// For messages: the first state of each segment.
std::vector<std::string> segment_names(const ReadArchive& archive);

}  // namespace tern
