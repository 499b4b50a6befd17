// Errors of an archive: one finding with a location for each broken rule.
#pragma once

#include <tern/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

struct Finding {
  std::string rule;                      ///< "segments.tiling"; see the list in docs/format.md
  ErrorCode code = ErrorCode::bad_file;  ///< or unsupported: possibly valid, but unknown to this version
  std::string message;
  std::uint64_t offset = 0;  ///< file offset of the field, the segment, or the table of the index
  std::string where;         ///< "state 'fc.weight'", "node 3 of 'forward' (matmul, from aten.mm, model.py:4)"
};

/// Formats "'state 'x': message (rule states.inside, byte 4711)".
std::string describe(const Finding& finding);

/// Collects the findings of checks.
class Findings {
 public:
  enum class Mode { throw_first, collect };
  static constexpr std::size_t kMax = 1000;
  explicit Findings(Mode mode) : mode_(mode) {}

  /// Thrown with the last accepted finding, to end the check.
  struct Full {};

  /// Throws Error in mode throw_first, Full after kMax findings.
  void add(std::string_view rule, std::uint64_t offset, std::string where, std::string message,
           ErrorCode code = ErrorCode::bad_file);
  /// Number of broken rules, without unsupported features: later checks cannot rely on the data read.
  std::size_t broken() const { return broken_; }
  bool full() const { return list_.size() >= kMax; }  ///< true if the check stopped early
  const std::vector<Finding>& list() const { return list_; }

 private:
  Mode mode_;
  std::size_t broken_ = 0;
  std::vector<Finding> list_;
};

}  // namespace tern
