#include "platform/posix/home.h"

#include <sys/stat.h>
#include <unistd.h>

#include "platform/environment.h"

namespace tern::platform {

std::string own_home() {
  std::string home = trusted_variable("HOME").value_or("");
  struct stat info {};
  // Commands run as root with a user's HOME (sudo) must not create root's folders there.
  if (!home.starts_with('/') || ::stat(home.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return {};
  return home;
}

}  // namespace tern::platform
