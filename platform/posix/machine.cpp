#include "platform/machine.h"

#include <unistd.h>

#include <array>

namespace tern::platform {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

long process_number() {
  return static_cast<long>(::getpid());
}

}  // namespace tern::platform
