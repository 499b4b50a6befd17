// The errors of an archive: one finding for each broken rule, with its place.
#pragma once

#include <tern/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

struct Finding {
  std::string rule;                      ///< "segments.tiling"; docs/format.md lists them
  ErrorCode code = ErrorCode::bad_file;  ///< or unsupported: lawful perhaps, but not known to this version
  std::string message;
  std::uint64_t offset = 0;  ///< in the file: of the field, the segment, or the table of the index
  std::string where;         ///< "state 'fc.weight'", "node 3 of 'forward' (matmul, from aten.mm, model.py:4)"
};

/// "'state 'x': message (rule states.inside, byte 4711)"
std::string describe(const Finding& finding);

/// Takes findings as checks make them.
class Findings {
 public:
  enum class Mode { throw_first, collect };
  static constexpr std::size_t kMax = 1000;
  explicit Findings(Mode mode) : mode_(mode) {}

  /// Thrown with the last finding that is taken: it ends the check, so that no further message is made.
  struct Full {};

  /// Throws Error when the mode says so, Full where there are kMax of them.
  void add(std::string_view rule, std::uint64_t offset, std::string where, std::string message,
           ErrorCode code = ErrorCode::bad_file);
  /// How many break a rule, rather than being unsupported: later checks cannot rely on what was read.
  std::size_t broken() const { return broken_; }
  bool full() const { return list_.size() >= kMax; }  ///< not everything was checked
  const std::vector<Finding>& list() const { return list_; }

 private:
  Mode mode_;
  std::size_t broken_ = 0;
  std::vector<Finding> list_;
};

}  // namespace tern
