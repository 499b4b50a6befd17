#include "exporter/lower/call_argument.h"

#include <fmt/format.h>
#include <tern/error.h>

namespace tern {

Call make_call(Builder& b, std::string target, std::vector<std::pair<std::string_view, CallArgument>> args,
               std::vector<TensorType> declared, std::string torch_version) {
  Call call;
  call.target = std::move(target);
  call.args = std::move(args);
  call.declared = std::move(declared);
  call.torch_version = std::move(torch_version);
  call.builder = &b;
  return call;
}

std::vector<ValueId> lower_call(Builder& b, const Call& c) {
  const LowerFn lower = find_lowering(c.target);
  if (lower == nullptr) fail(ErrorCode::internal, fmt::format("{} has no lowering", c.target));
  return lower(b, c);
}

}  // namespace tern
