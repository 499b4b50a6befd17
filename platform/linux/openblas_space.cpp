// A check of the command `tern` before OpenBLAS loads; not a part of the library platform/.
#include <sys/mman.h>
#include <tern/error.h>
#include <unistd.h>

#include <string_view>

namespace {

/// Address space needed by OpenBLAS while loading; OpenBLAS retries forever without this space.
constexpr std::size_t kOpenBlasBytes = std::size_t{256} << 20;

/// Runs before the libraries' initialisation: only system calls are allowed here.
void check_address_space() {
  void* const space = ::mmap(nullptr, kOpenBlasBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space != MAP_FAILED) {
    ::munmap(space, kOpenBlasBytes);
    return;
  }
  constexpr std::string_view kMessage =
      "tern: out of memory: OpenBLAS, which tern loads, needs 256 MiB of address space; raise the limit (ulimit -v)\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(static_cast<int>(tern::ErrorCode::out_of_memory));
}

__attribute__((section(".preinit_array"), used)) void (*const check_first)() = check_address_space;

}  // namespace
