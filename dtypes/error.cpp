// The one place that throws, so that a debugger has one place to stop.
#include <tern/error.h>

namespace tern {

void fail(ErrorCode code, const std::string& message) {
  throw Error(code, message);
}

}  // namespace tern
