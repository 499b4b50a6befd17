#include <algorithm>

#include "tools/option_text.h"
#include "tools/pages/pages.h"

namespace tern {
namespace {

struct CandidatesKind {
  const char* type_name;
  bool files;
  const char* words;
};
/// Completion by the type names of options and the names of arguments.
constexpr CandidatesKind kKinds[] = {
    {"FILE", true, ""},
    {"[NAME=]FILE", true, ""},
    {"FILE|FOLDER", true, ""},
    {"[NAME=]DATA", true, ""},
    {"[FILE.svg]", true, ""},
    {"LIBRARY", true, ""},
    {"INPUT", true, ""},
    {"MODEL", true, ""},
    {"FILES", true, ""},
    {"PATHS", true, ""},
    {"FORMAT", false, "safetensors npz npy"},
    {"FORMAT[:PATTERN]", false, "int8 int4 float8 mxfp4 mxfp6_e2m3 mxfp6_e3m2 mxfp8_e4m3 mxfp8_e5m2 nvfp4"},
    {"MODE", false, "floor even ceil"},
    {"TYPE", false, "bfloat16 float16"},
    {"CODEC", false, "none zstd"},
    {"TARGET", false, "cpu xpu:spirv cuda:ptx cuda:sm_80 cuda:sm_90 rocm:gfx90a rocm:gfx942 rocm:gfx1100"},
    {"DEVICE", false, "cpu cuda rocm xpu"},
};

}  // namespace

Candidates candidates_of(const CLI::App& app, const std::string& type_name) {
  if (type_name == "COMMAND") {
    Candidates commands;
    for (const CLI::App* c : commands_of(app)) commands.words += (commands.words.empty() ? "" : " ") + c->get_name();
    return commands;
  }
  const auto* found = std::ranges::find(kKinds, type_name, &CandidatesKind::type_name);
  return found == std::end(kKinds) ? Candidates{} : Candidates{found->files, found->words};
}

std::string first_sentence(const std::string& text) {
  const std::size_t end = text.find_first_of(".;:");
  const bool inside = end != std::string::npos && end + 1 < text.size() && text[end + 1] != ' ';
  return inside ? text.substr(0, text.find(". ")) : text.substr(0, end);
}

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace tern
