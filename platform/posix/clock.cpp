#include "platform/clock.h"

namespace tern::platform {

std::tm local_time(std::time_t time) {
  std::tm parts{};
  ::localtime_r(&time, &parts);
  return parts;
}

}  // namespace tern::platform
