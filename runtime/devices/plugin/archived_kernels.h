// The kernels that an archive brings compiled, found by the text that they were made from.
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
  /// The module of that target for the kernel `name` with this text; empty where the archive has none. Fails (bad_file)
  /// where its bytes are none. Thread-safe.
  std::span<const std::byte> find(const std::string& target, const std::string& name, const std::string& text) const;

 private:
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>;
  std::shared_ptr<StorageSource> source_;
  std::map<Key, DeviceKernel> kernels_;
};

}  // namespace tern
