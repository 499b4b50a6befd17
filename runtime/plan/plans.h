// The plans of a prepared program, shared by its sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace tern {

class Plans {
 public:
  /// Keeps at most `most` plans of each section of a function; sessions keep those that they use beside that.
  explicit Plans(std::size_t most) : most_(most) {}

  /// The plan for the key. Where there is none `make` makes it, while other threads that ask for the same wait, and
  /// *made is set. What `make` throws goes to its caller, and the next one tries anew. From any thread.
  std::shared_ptr<const Plan> get(const PlanKey& key, const std::function<std::shared_ptr<const Plan>()>& make,
                                  bool* made);
  /// Those that are kept now.
  std::vector<std::shared_ptr<const Plan>> all();

 private:
  struct Entry {
    PlanKey key;
    std::mutex making;
    std::shared_ptr<const Plan> plan;
    std::uint64_t used = 0;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  std::shared_ptr<Entry> entry_for(const PlanKey& key);
  static void drop_one(Entries& entries);

  std::size_t most_;
  std::mutex mutex_;
  std::uint64_t clock_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Entries> sections_;  ///< by function and section
};

}  // namespace tern
