#include "tests/gpu/ptx/translate.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <vector>

#include "tests/gpu/compile_c.h"
#include "tests/gpu/ptx/error.h"
#include "tests/gpu/ptx/function_writer.h"
#include "tests/gpu/ptx/parser.h"
#include "tests/gpu/ptx/types.h"

namespace tern::emulated {
namespace {

struct Written {
  const Function* function;
  std::string c;
  bool uses_groups;
  std::set<std::string> calls;
  std::uint64_t shared_bytes;
};

bool is_dynamic_shared(const Variable& variable) {
  return variable.space == "shared" && (variable.is_extern || (variable.is_array && variable.count == 0));
}

std::string bytes_of(std::uint64_t bits, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(bits >> 8 * i & 255) + ",";
  return text;
}

// Other libraries have names of their own, and a host looks up variables by their PTX names after this prefix.
std::string global_name(const Variable& variable) {
  return c_name("tern_global_", variable.name);
}

// The definition of a .global or .const variable. Its data are PTX's bytes, or words if they include addresses.
std::string definition(const Variable& variable, const Symbols& symbols) {
  const int bits = find_type(variable.type) ? find_type(variable.type)->bits : 0;
  const std::string align =
      " __attribute__((visibility(\"default\"), aligned(" + std::to_string(std::max(alignment_of(variable), 8)) + ")))";
  const bool addresses = std::any_of(variable.initial.begin(), variable.initial.end(),
                                     [](const Initial& initial) { return !initial.symbol.empty(); });
  if (!addresses) {
    std::string text = "char " + global_name(variable) + "[" +
                       std::to_string(std::max<std::uint64_t>(size_of(variable), 1)) + "]" + align;
    std::string values;
    for (const Initial& initial : variable.initial) values += bytes_of(initial.bits, bits / 8);
    return text + (values.empty() ? "" : " = {" + values + "}") + ";\n";
  }
  if (bits != 64) throw TranslationError(variable.line, "an address as a value of " + std::to_string(bits) + " bits");
  std::string text = "u64 " + global_name(variable) + "[" + std::to_string(variable.count) + "]" + align + " = {";
  for (const Initial& initial : variable.initial) {
    if (!initial.symbol.empty()) {
      const auto symbol = symbols.variables.find(initial.symbol);
      if (symbol == symbols.variables.end() || symbol->second.space == "shared") {
        throw TranslationError(variable.line,
                               "the address of '" + initial.symbol + "', which is no variable of the module");
      }
      text += symbol->second.address + " + ";
    }
    text += std::to_string(initial.bits) + "ull, ";
  }
  return text + "};\n";
}

// Declares all variables before defining any, so that variables may hold addresses of each other.
std::string variables(const Module& module, Symbols& symbols) {
  std::string declared, defined;
  Layout shared;
  for (const Variable& variable : module.variables) {
    if (is_dynamic_shared(variable)) {
      symbols.variables[variable.name] = {"shared", "(u64)T->dynamic_shared"};
      symbols.dynamic_align = std::max(symbols.dynamic_align, alignment_of(variable));
    } else if (variable.space == "shared") {
      symbols.variables[variable.name] = {"shared", std::to_string(shared.allocate(variable)) + "ull"};
    } else {
      if (variable.is_extern)
        throw TranslationError(variable.line, "the variable '" + variable.name + "' of another module");
      symbols.variables[variable.name] = {variable.space, "(u64)" + global_name(variable)};
    }
  }
  for (const Variable& variable : module.variables) {
    if (variable.space == "shared") continue;
    const std::string text = definition(variable, symbols);
    declared += "extern " + text.substr(0, text.find('=')) + ";\n";
    defined += text;
  }
  symbols.shared_bytes = shared.end();
  return declared + defined;
}

std::string prototype(const std::string& c) {
  return c.substr(0, c.find(" {\n")) + ";\n";
}

// True if a function or its callees have barriers or exchanges.
bool needs_groups(const Written& written, const std::vector<Written>& all) {
  std::set<std::string> seen, open = written.calls;
  bool uses = written.uses_groups;
  while (!open.empty() && !uses) {
    const std::string name = open.extract(open.begin()).value();
    if (!seen.insert(name).second) continue;
    for (const Written& other : all) {
      if (other.function->name != name) continue;
      uses |= other.uses_groups;
      open.insert(other.calls.begin(), other.calls.end());
    }
  }
  return uses;
}

std::string kernel_wrapper(const Written& written, bool uses_groups, int dynamic_align) {
  const Function& function = *written.function;
  Layout layout;
  std::string parameters;
  for (const Variable& parameter : function.parameters) {
    const std::uint64_t offset = layout.allocate(parameter);
    parameters += "{" + std::to_string(offset) + ", " + std::to_string(size_of(parameter)) + "}, ";
  }
  const std::string name = function.name, body = c_name("f_", name);
  return "static const tern_emulated_parameter " + c_name("parameters_", name) + "[] = {" + parameters + "{0, 0}};\n" +
         "static const tern_ptx_kernel " + c_name("kernel_", name) + " = {\"" + name + "\", " +
         std::to_string(written.shared_bytes) + ", " + std::to_string(dynamic_align) + ", " +
         std::to_string(function.most_threads) + ", " + (uses_groups ? "1" : "0") + "};\n" + "static void " +
         c_name("run_", name) + "(const tern_emulated_launch* launch) { tern_ptx_run(launch, &" +
         c_name("kernel_", name) + ", " + body + "); }\n";
}

std::string kernel_record(const Written& written, bool uses_groups) {
  const Function& function = *written.function;
  Layout layout;
  for (const Variable& parameter : function.parameters) layout.allocate(parameter);
  return "{\"" + function.name + "\", " + std::to_string(layout.end()) + ", " +
         std::to_string(function.parameters.size()) + ", " + c_name("parameters_", function.name) + ", " +
         std::to_string(written.shared_bytes) + ", " + std::to_string(function.most_threads) + ", " +
         (uses_groups ? "1" : "0") + ", " + c_name("run_", function.name) + "},\n";
}

}  // namespace

std::string to_c(std::string_view ptx, Counts counts) {
  const Module module = parse(ptx);
  Symbols symbols;
  std::string text = "#include \"tests/gpu/ptx/device/kernel_prelude.h\"\n" + variables(module, symbols);
  for (const Function& function : module.functions) {
    const Function*& known = symbols.functions[function.name];
    if (!known || function.has_body) known = &function;
  }
  // Device functions first: kernels share their variables in shared memory.
  std::vector<Written> all;
  for (const bool entries : {false, true}) {
    for (const Function& function : module.functions) {
      if (!function.has_body || function.is_entry != entries) continue;
      FunctionWriter writer(function, symbols, symbols.shared_bytes, counts);
      std::string c = writer.write();
      all.push_back({&function, std::move(c), writer.uses_groups(), writer.calls(), writer.shared_end()});
      if (!entries) symbols.shared_bytes = writer.shared_end();
    }
  }
  for (const Written& written : all) text += prototype(written.c);
  std::string records;
  for (const Written& written : all) {
    text += written.c;
    if (!written.function->is_entry) continue;
    const bool uses_groups = needs_groups(written, all);
    text += kernel_wrapper(written, uses_groups, symbols.dynamic_align);
    records += kernel_record(written, uses_groups);
  }
  if (records.empty()) throw TranslationError(1, "no kernel: nothing is declared '.entry'");
  return text + "static const tern_emulated_kernel kernels[] = {\n" + records + "};\n" +
         "const tern_emulated_kernel* tern_emulated_kernels(u32* count) {\n*count = sizeof kernels / sizeof "
         "kernels[0];\n"
         "return kernels;\n}\n";
}

std::string compile_ptx_c(const std::string& c) {
  return compile_c(c, {.includes = {TERN_PTX_INCLUDE}, .library = TERN_PTX_DEVICE_LIBRARY});
}

}  // namespace tern::emulated
