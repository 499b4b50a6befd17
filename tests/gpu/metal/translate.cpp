#include "tests/gpu/metal/translate.h"

#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "tests/gpu/compile_c.h"

namespace tern::emulator::metal {
namespace {

struct Kernel {
  std::string name;
  std::vector<std::string> parameters;  // their attributes: "buffer(0)", "thread_position_in_grid"
};

// Parameters between the parenthesis at `begin` and its partner, unchanged.
std::vector<std::string> parameters_from(const std::string& text, std::size_t begin) {
  std::vector<std::string> all(1);
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '>') --depth;
    if (depth == 0) return all;
    if (c == ',' && depth == 1) {
      all.emplace_back();
    } else if (i != begin) {
      all.back() += c;
    }
  }
  throw std::runtime_error("a kernel's parameters do not end");
}

// The attribute between [[ and ]].
std::string attribute_of(const std::string& parameter, const std::string& kernel) {
  const std::size_t begin = parameter.find("[["), end = parameter.find("]]");
  if (begin != std::string::npos && end != std::string::npos && begin < end)
    return parameter.substr(begin + 2, end - begin - 2);
  throw std::runtime_error("kernel " + kernel + ": the parameter '" + parameter + "' has no attribute");
}

// Finds kernels; a macro may expand to a kernel's name.
std::vector<Kernel> kernels_of(const std::string& text) {
  const std::string before = "kernel void ";
  std::vector<Kernel> all;
  for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
    at += before.size();
    const std::size_t begin = text.find('(', at);
    if (begin == std::string::npos) break;
    Kernel k{text.substr(at, begin - at), {}};
    for (const std::string& p : parameters_from(text, begin)) k.parameters.push_back(attribute_of(p, k.name));
    all.push_back(std::move(k));
  }
  return all;
}

// -1: no buffer.
int buffer_of(const std::string& attribute) {
  int index = -1;
  return std::sscanf(attribute.c_str(), "buffer(%d)", &index) == 1 ? index : -1;
}

std::string argument(const Kernel& k, std::size_t i) {
  const std::string& attribute = k.parameters[i];
  if (attribute == "thread_position_in_grid") return "(uint)item";
  const int index = buffer_of(attribute);
  if (index < 0 || index > 30)
    throw std::runtime_error("kernel " + k.name + ": the stand-in for Metal does not know the attribute " + attribute);
  const std::string type = "ParameterOf<" + std::to_string(i) + ", decltype(&" + k.name + ")>::type";
  return "Buffer<" + type + ">::get(launch, \"" + k.name + "\", " + std::to_string(index) + ")";
}

// True if items of a group cooperate. Ignores the macro definitions at the start of Tern's sources.
bool uses_groups(const std::string& text) {
  std::vector<std::string> words = {"TERN_BARRIER", "TERN_SHUFFLE_XOR"};
  if (text.find("#define TERN_BARRIER") == std::string::npos) words = {"threadgroup_barrier(", "simd_shuffle_xor("};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("//", 0) == 0 || line.rfind("#define TERN_", 0) == 0) continue;
    for (const std::string& word : words)
      if (line.find(word) != std::string::npos) return true;
  }
  return false;
}

// Cooperating items of a group run on fibers, all others one after the other.
std::string run_of(const Kernel& k, bool groups) {
  std::string call = k.name + "(";
  for (std::size_t i = 0; i < k.parameters.size(); ++i) call += (i == 0 ? "" : ", ") + argument(k, i);
  const std::string one =
      "static void item_" + k.name + "(const tern_emulated_launch* launch, uint64_t item) {\n  " + call + ");\n}\n";
  const std::string run = "static void run_" + k.name + "(const tern_emulated_launch* launch) {\n  ";
  return one + run + (groups ? "run_groups" : "run_items") + "(launch, item_" + k.name + ", \"" + k.name + "\");\n}\n";
}

// Buffer indices replace the parameter offsets of other GPUs' kernels.
std::string record_of(const Kernel& k, std::string& tables) {
  std::string entries;
  std::size_t count = 0;
  for (const std::string& attribute : k.parameters) {
    const int index = buffer_of(attribute);
    if (index < 0) continue;
    entries += "{" + std::to_string(index) + ", 8}, ";
    ++count;
  }
  tables += "static const tern_emulated_parameter parameters_" + k.name + "[] = {" + entries + "{0, 0}};\n";
  return "  {\"" + k.name + "\", sizeof(Block), " + std::to_string(count) + ", parameters_" + k.name +
         ", 0, 0, 0, run_" + k.name + "},\n";
}

}  // namespace

std::string library_of_metal(const std::string& text, const TranslateOptions& options) {
  const std::vector<Kernel> kernels = kernels_of(text);
  if (kernels.empty()) throw std::runtime_error("the text has no kernel");
  const bool groups = uses_groups(text);
  std::string functions, tables, records;
  for (const Kernel& k : kernels) {
    functions += run_of(k, groups);
    records += record_of(k, tables);
  }
  emulated::CompileOptions compile;
  const std::string shim = options.include + "/tests/gpu/metal/shim";
  compile.includes = {shim, options.include};
  compile.depends = {shim + "/metal_stdlib", shim + "/call.h", shim + "/block.h", shim + "/groups.h"};
  compile.language = emulated::Language::metal;
  if (groups) compile.library = options.fibers;
  // Reported for an M4: Metal fuses a * b + c in any math mode, and only this pragma prevents fusion
  // (github.com/mathiasbourgoin/Sarek, pull request 315).
  const bool separate = text.find("#pragma METAL fp contract(off)") != std::string::npos;
  compile.flags = {"-fvisibility=hidden", "-fno-builtin"};  // a kernel may have the name of a function of the C library
  // The compiler fuses only with expensive optimizations.
  if (!separate) compile.flags.insert(compile.flags.end(), {"-ffp-contract=fast", "-fexpensive-optimizations"});
  if (options.flush) compile.flags.emplace_back("-DTERN_METAL_FLUSH=1");
  if (options.fast_math) compile.flags.emplace_back("-ffast-math");
  return emulated::compile_c(
      "#include \"tests/gpu/metal/shim/call.h\"\n#include \"tests/gpu/metal/shim/groups.h\"\n#define __METAL_VERSION__ "
      "300\n#line 1 \"program_source\"\n" +
          text + "\n#line 1 \"calls of kernels\"\nnamespace {\nusing namespace tern::emulator::metal::shim;\n" +
          functions + tables + "const tern_emulated_kernel kernels[] = {\n" + records +
          "};\n}\nextern \"C\" __attribute__((visibility(\"default\"))) const tern_emulated_kernel* "
          "tern_emulated_kernels(uint32_t* count) {\n  *count = " +
          std::to_string(kernels.size()) + ";\n  return kernels;\n}\n",
      compile);
}

}  // namespace tern::emulator::metal
