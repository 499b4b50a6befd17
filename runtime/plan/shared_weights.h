// Weights that kernels packed, shared by the plans of a prepared program.
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
  /// What `make` makes of a constant with this view, once for equal views and keys; freed with its last user. The lock
  /// is held while it is made, so that two plans made at once share it too. From any thread.
  std::shared_ptr<const void> share(const TensorView& weight, const std::string& key,
                                    const std::function<std::shared_ptr<const void>()>& make);

 private:
  std::mutex mutex_;
  std::map<std::pair<const std::byte*, std::string>, std::weak_ptr<const void>> made_;
};

}  // namespace tern
