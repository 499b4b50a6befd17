#include "platform/machine.h"

#include <mach/mach.h>
#include <sys/sysctl.h>

namespace tern::platform {
namespace {

/// Value of a fact of the kernel; 0 if unknown.
std::int64_t kernel_fact(const char* name) {
  std::int64_t value = 0;
  std::size_t size = sizeof value;
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

}  // namespace

bool allow_matrix_tiles() {
  return false;  // no Mac has AMX of Intel
}

#if defined(__aarch64__)
bool has_extension(std::string_view name) {
  if (name == "asimddp") return kernel_fact("hw.optional.arm.FEAT_DotProd") != 0;
  if (name == "i8mm") return kernel_fact("hw.optional.arm.FEAT_I8MM") != 0;
  if (name == "bf16") return kernel_fact("hw.optional.arm.FEAT_BF16") != 0;
  return false;
}
#endif

std::int64_t last_cache_bytes() {
  const std::int64_t third = kernel_fact("hw.l3cachesize");
  return third != 0 ? third : kernel_fact("hw.l2cachesize");
}

std::int64_t memory_bytes() {
  return kernel_fact("hw.memsize");
}

std::int64_t private_bytes() {
  task_vm_info_data_t info{};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  const bool is_known =
      ::task_info(::mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count) == KERN_SUCCESS;
  return is_known ? static_cast<std::int64_t>(info.phys_footprint) : 0;
}

}  // namespace tern::platform
