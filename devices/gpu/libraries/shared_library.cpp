#include "devices/gpu/libraries/shared_library.h"

#include <cctype>
#include <utility>

#include "names.h"
#include "platform/environment.h"

namespace tern::gpu {
namespace {

std::string switch_name() {
  return plugin_variable("_LIBRARIES");
}

}  // namespace

std::string plugin_variable(const char* end) {
  std::string name = "TERN_";
  for (const char* c = names::kPlugin; *c != 0; ++c) name += static_cast<char>(std::toupper(*c));
  return name + end;
}

bool wants_libraries() {
  return platform::variable_is_on(switch_name().c_str(), true);
}

std::string left_out() {
  return switch_name() + " is 0";
}

std::vector<std::string> files_of(const LibraryPlaces& places) {
  std::string own = platform::trusted_variable(places.variable).value_or("");
  if (!own.empty()) return {std::move(own)};
  return {places.files.begin(), places.files.end()};
}

std::string missing(const LibraryPlaces& places) {
  std::string list;
  for (const std::string& file : files_of(places)) list += (list.empty() ? "" : ", ") + file;
  return std::string(places.title) + " is missing: no library " + list + "; " + places.hint + ", or set its path in " +
         places.variable;
}

}  // namespace tern::gpu
