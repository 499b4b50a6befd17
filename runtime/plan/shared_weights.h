// Packed weights shared by the plans of a prepared program.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "kernels/kernel.h"

namespace tern {

class SharedWeights {
 public:
  /// Calls `pack` once per view and key of a constant; the last user frees the result. The lock is held during `pack`,
  /// so that concurrent plans share the result too. Thread-safe.
  std::shared_ptr<const void> share(const TensorView& weight, const std::string& key,
                                    const std::function<std::shared_ptr<const void>()>& pack);

 private:
  std::mutex mutex_;
  std::map<std::pair<const std::byte*, std::string>, std::weak_ptr<const void>> packed_;
};

}  // namespace tern
