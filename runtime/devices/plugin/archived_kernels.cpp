#include "runtime/devices/plugin/archived_kernels.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "loader/hash.h"
#include "loader/kernel_modules.h"

namespace tern {

ArchivedKernels::ArchivedKernels(const Program& program) : source_(program.source) {
  for (const DeviceKernel& k : program.kernels) kernels_[{k.target, k.text_low, k.text_high}] = k;
}

std::span<const std::byte> ArchivedKernels::find(const std::string& target, const std::string& name,
                                                 const std::string& text) const {
  const Hash128 hash = hash_of(std::as_bytes(std::span(text)));
  const auto it = kernels_.find({target, hash.low, hash.high});
  if (it == kernels_.end() || it->second.name != name) return {};
  const std::span<const std::byte> module = source_->bytes(it->second.storage);
  if (const std::string problem = module_problem(target, module); !problem.empty())
    fail(ErrorCode::bad_file, fmt::format("the archive's kernel '{}': {}", name, problem));
  return module;
}

}  // namespace tern
