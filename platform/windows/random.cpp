#include "platform/random.h"

#include "platform/windows/system.h"

namespace tern::platform {

std::uint64_t random_number() {
  // RtlGenRandom, without its header: exported by advapi32 under this name.
  using Generate = BOOLEAN(WINAPI*)(void*, ULONG);
  static const auto generate = reinterpret_cast<Generate>(
      reinterpret_cast<void*>(::GetProcAddress(::LoadLibraryW(L"advapi32.dll"), "SystemFunction036")));
  std::uint64_t number = 0;
  return generate != nullptr && generate(&number, sizeof number) != 0 ? number : 0;
}

}  // namespace tern::platform
