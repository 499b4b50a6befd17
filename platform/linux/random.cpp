#include "platform/random.h"

#include <sys/random.h>

namespace tern::platform {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  return ::getrandom(&number, sizeof number, 0) == sizeof number ? number : 0;
}

}  // namespace tern::platform
