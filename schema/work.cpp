#include "schema/work.h"

#include <string>

namespace tern {
namespace {

thread_local WorkBudget* current = nullptr;

}  // namespace

WorkExceeded::WorkExceeded(std::uint64_t limit)
    : Error(ErrorCode::unsupported, "checking it takes more than the " + std::to_string(limit) +
                                        " units of work that a file of its size may ask for (docs/format.md, Budget)") {
}

WorkBudget::WorkBudget(std::uint64_t units) : limit_(units), remaining_(units), outer_(current) {
  current = this;
}

WorkBudget::~WorkBudget() {
  current = outer_;
}

void charge_work(std::uint64_t units) {
  WorkBudget* budget = current;
  if (budget == nullptr) return;
  if (units > budget->remaining_) {
    budget->remaining_ = 0;
    throw WorkExceeded(budget->limit_);
  }
  budget->remaining_ -= units;
}

}  // namespace tern
