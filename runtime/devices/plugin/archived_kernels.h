// Compiled kernels of an archive, found by their source text.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>

#include "schema/program.h"

namespace tern {

class ArchivedKernels {
 public:
  explicit ArchivedKernels(const Program& program);
  /// Returns the target's module for kernel `name` with this source text; empty if the archive has no such module.
  /// Fails (bad_file) if the module's bytes are invalid. Thread-safe.
  std::span<const std::byte> find(const std::string& target, const std::string& name, const std::string& text) const;

 private:
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>;
  std::shared_ptr<StorageSource> source_;
  std::map<Key, DeviceKernel> kernels_;
};

}  // namespace tern
