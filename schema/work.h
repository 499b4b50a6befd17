// Work budget for reading untrusted files: deterministic, so the same file always gets the same answer.
#pragma once

#include <tern/error.h>

#include <cstdint>

namespace tern {

/// Thrown if this thread's WorkBudget is exhausted.
class WorkExceeded : public Error {
 public:
  explicit WorkExceeded(std::uint64_t limit);
};

/// Work allowed for a file of this size. A unit is a visited term of an expression, or a byte created for it.
/// docs/format.md states the limit, and the resulting time and memory.
constexpr std::uint64_t work_of(std::uint64_t file_bytes) {
  return (std::uint64_t{16} << 20) + 16 * file_bytes;
}

/// While alive, receives the charge_work() calls of this thread. An inner budget hides the outer budget.
class WorkBudget {
 public:
  explicit WorkBudget(std::uint64_t units);
  ~WorkBudget();
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

 private:
  friend void charge_work(std::uint64_t units);
  std::uint64_t limit_, remaining_;
  WorkBudget* outer_;
};

/// Takes units from this thread's budget, if any. Throws WorkExceeded.
void charge_work(std::uint64_t units);

}  // namespace tern
