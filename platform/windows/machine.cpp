#include "platform/machine.h"

#include <algorithm>
#include <array>
#include <vector>

#include "platform/windows/system.h"

namespace tern::platform {

std::string host_name() {
  std::array<wchar_t, 256> name{};
  auto size = static_cast<DWORD>(name.size());
  return ::GetComputerNameExW(ComputerNameDnsHostname, name.data(), &size) != 0 ? narrow({name.data(), size})
                                                                                : std::string();
}

bool allow_matrix_tiles() {
  constexpr DWORD64 kTileConfigAndData = DWORD64{0b11} << 17;
  using Enable = BOOL(WINAPI*)(DWORD64);
  // Windows 11 and Windows Server 2022 have this function.
  static const auto enable = reinterpret_cast<Enable>(reinterpret_cast<void*>(
      ::GetProcAddress(::GetModuleHandleW(L"kernel32.dll"), "EnableProcessOptionalXStateFeatures")));
  return enable != nullptr && (::GetEnabledXStateFeatures() & kTileConfigAndData) == kTileConfigAndData &&
         enable(kTileConfigAndData) != 0;
}

#if defined(__aarch64__)
bool has_extension(std::string_view name) {
  constexpr DWORD kDotProducts = 43;  // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
  return name == "asimddp" && ::IsProcessorFeaturePresent(kDotProducts) != 0;
}
#endif

std::int64_t last_cache_bytes() {
  DWORD size = 0;
  ::GetLogicalProcessorInformation(nullptr, &size);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> parts(size / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
  if (::GetLogicalProcessorInformation(parts.data(), &size) == 0) return 0;
  std::int64_t largest = 0;
  for (const auto& part : parts) {
    if (part.Relationship == RelationCache) largest = std::max<std::int64_t>(largest, part.Cache.Size);
  }
  return largest;
}

std::int64_t memory_bytes() {
  MEMORYSTATUSEX memory{};
  memory.dwLength = sizeof memory;
  return ::GlobalMemoryStatusEx(&memory) != 0 ? static_cast<std::int64_t>(memory.ullTotalPhys) : 0;
}

std::int64_t private_bytes() {
  PROCESS_MEMORY_COUNTERS_EX memory{};
  const bool is_known =
      ::K32GetProcessMemoryInfo(::GetCurrentProcess(), reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&memory),
                                sizeof memory) != 0;
  return is_known ? static_cast<std::int64_t>(memory.PrivateUsage) : 0;
}

long process_number() {
  return static_cast<long>(::GetCurrentProcessId());
}

}  // namespace tern::platform
