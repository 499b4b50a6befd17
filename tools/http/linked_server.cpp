// The server as a part of the command, for programs that load no libraries.
#include <tern/error.h>

#include "platform/export.h"
#include "tools/http/module.h"

extern "C" TERN_PLATFORM_EXPORT void tern_http_serve(const tern::http::ServerOptions& options, std::string* problem);

namespace tern::http {

void serve(const ServerOptions& options, const std::string&, const std::string&) {
  std::string problem;
  tern_http_serve(options, &problem);
  if (!problem.empty()) fail(ErrorCode::io, problem);
}

}  // namespace tern::http
