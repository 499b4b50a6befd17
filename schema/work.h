// A budget of work for what reads a file of a stranger's: counted, so that the same file always gets the same answer.
#pragma once

#include <tern/error.h>

#include <cstdint>

namespace tern {

/// Thrown when the work of this thread's WorkBudget is done.
class WorkExceeded : public Error {
 public:
  explicit WorkExceeded(std::uint64_t limit);
};

/// What a file of so many bytes may ask for. A unit is a term of an expression that is looked at, or a byte of what is
/// made for it. docs/format.md states this, and the time and memory that it comes to.
constexpr std::uint64_t work_of(std::uint64_t file_bytes) {
  return (std::uint64_t{16} << 20) + 16 * file_bytes;
}

/// While it lives, charge_work() of this thread counts against it. A budget inside another one hides that one.
class WorkBudget {
 public:
  explicit WorkBudget(std::uint64_t units);
  ~WorkBudget();
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

 private:
  friend void charge_work(std::uint64_t units);
  std::uint64_t limit_, left_;
  WorkBudget* outer_;
};

/// Takes units from this thread's budget, if it has one. Throws WorkExceeded.
void charge_work(std::uint64_t units);

}  // namespace tern
