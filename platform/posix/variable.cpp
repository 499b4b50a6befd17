#include <cstdlib>

#include "platform/environment.h"

namespace tern::platform {

void set_variable(const char* name, const char* value) {
  value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
}

}  // namespace tern::platform
