// The only function throwing errors: a debugger needs a single breakpoint.
#include <tern/error.h>

#include "dtypes/printable.h"

namespace tern {

void fail(ErrorCode code, const std::string& message) {
  throw Error(code, printable_lines(message));  // the message quotes names of files
}

}  // namespace tern
