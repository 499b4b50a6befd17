#include "tests/gpu/amd/ir/module.h"

#include <algorithm>

#include "tests/gpu/amd/error.h"

namespace tern::gpu::amd {
namespace {

// A compute unit of gfx9: "Local data share: 64 KiB" (AMD CDNA 3 ISA, 2.3).
constexpr std::uint64_t kLocalMemory = 64 << 10;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

std::uint64_t place_locals(Module& module) {
  std::uint64_t end = 0, dynamic_alignment = 16;
  for (auto& [name, variable] : module.locals) {
    if (variable.dynamic) {
      dynamic_alignment = std::max(dynamic_alignment, variable.alignment);
      continue;
    }
    variable.offset = round_up(end, variable.alignment);
    end = variable.offset + variable.type.size;
  }
  if (end > kLocalMemory) {
    throw Error("local memory (" + std::to_string(end) +
                ") exceeds limit (65536): the __shared__ variables of a kernel must fit "
                "in the LDS of one compute unit");
  }
  end = round_up(end, dynamic_alignment);
  for (auto& [name, variable] : module.locals) {
    if (variable.dynamic) variable.offset = end;
  }
  return end;
}

KernelNeeds kernel_needs(const Module& module, const Kernel& kernel) {
  KernelNeeds result;
  std::set<std::string> seen;
  std::vector<std::string> open{kernel.name};
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (!seen.insert(name).second) continue;
    if (const auto variable = module.locals.find(name); variable != module.locals.end() && !variable->second.dynamic) {
      result.local_bytes = round_up(result.local_bytes, variable->second.alignment) + variable->second.type.size;
    }
    if (const auto function = module.functions.find(name); function != module.functions.end()) {
      result.groups |= function->second.groups;
      open.insert(open.end(), function->second.names.begin(), function->second.names.end());
    }
  }
  return result;
}

}  // namespace tern::gpu::amd
