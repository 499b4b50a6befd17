#include "platform/random.h"

#include <cstdlib>

namespace tern::platform {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  ::arc4random_buf(&number, sizeof number);
  return number;
}

}  // namespace tern::platform
