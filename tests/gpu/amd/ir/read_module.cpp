#include "tests/gpu/amd/ir/read_module.h"

#include <algorithm>
#include <charconv>

#include "tests/gpu/amd/error.h"
#include "tests/gpu/amd/ir/rewriter.h"

namespace tern::gpu::amd {
namespace {

constexpr std::string_view kLocal = " addrspace(3) global ";

std::uint64_t number_after(std::string_view text, std::string_view before, std::uint64_t otherwise) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return otherwise;
  std::uint64_t number = otherwise;
  std::from_chars(text.data() + at + before.size(), text.data() + text.size(), number);
  return number;
}

bool begins_type(std::string_view text) {
  for (const std::string_view word : {"void", "ptr", "half", "bfloat", "float", "double", "<", "{", "[", "%"}) {
    if (text.starts_with(word)) return true;
  }
  return text.size() > 1 && text[0] == 'i' && text[1] >= '0' && text[1] <= '9';
}

// Skips linkage, calling convention and attributes, up to a type: "noundef align 4 range(i32 0, 1024) i32".
void skip_to_type(std::string_view& text) {
  skip_spaces(text);
  while (!text.empty() && !begins_type(text)) {
    const std::size_t end = std::min(text.find_first_of(" ("), text.size());
    text.remove_prefix(end);
    if (text.starts_with('(')) text.remove_prefix(bracketed(text).size());
    skip_spaces(text);
    if (!text.empty() && text[0] >= '0' && text[0] <= '9') text.remove_prefix(std::min(text.find(' '), text.size()));
    skip_spaces(text);
  }
}

std::string plain_type(const Module& module, std::string_view& text) {
  if (take_prefix(text, "void")) return "void";
  References none;
  return Rewriter(module).line(module.types.parse_type(text).text, none);
}

std::vector<std::string_view> operands(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '"') i = list.find('"', i + 1);
    depth += c == '(' || c == '{' || c == '[' || c == '<';
    depth -= c == ')' || c == '}' || c == ']' || c == '>';
    if (c == ',' && depth == 0) {
      parts.push_back(list.substr(start, i - start));
      start = i + 1;
    }
  }
  if (start < list.size()) parts.push_back(list.substr(start));
  return parts;
}

void read_local(Module& module, std::string_view line) {
  std::string_view text = line;
  const std::string name = take_name(text);
  LocalVariable variable;
  variable.dynamic = text.find(" external ") < text.find(kLocal);
  text.remove_prefix(text.find(kLocal) + kLocal.size());
  variable.type = module.types.parse_type(text);
  variable.alignment = number_after(text, ", align ", variable.type.alignment);
  module.locals[name] = variable;
}

void read_kernel(Module& module, std::string_view line) {
  Kernel kernel;
  std::string_view text = line.substr(line.find('@'));
  kernel.name = take_name(text);
  std::string_view list = bracketed(text);
  text.remove_prefix(list.size());
  list = list.substr(1, list.size() - 2);
  for (std::string_view operand : operands(list)) {
    Parameter parameter;
    skip_spaces(operand);
    parameter.type = module.types.parse_type(operand);
    // "The kernel argument segment ... byref: the type's size and alignment" (LLVM, User Guide for AMDGPU Backend)
    if (const std::size_t at = operand.find("byref("); at != std::string_view::npos) {
      parameter.is_reference = true;
      std::string_view of = operand.substr(at + 6);
      parameter.type = module.types.parse_type(of);
      parameter.type.alignment = number_after(of, " align ", parameter.type.alignment);
    }
    const std::uint64_t alignment = parameter.type.alignment;
    parameter.offset = (kernel.parameter_bytes + alignment - 1) / alignment * alignment;
    kernel.parameter_bytes = parameter.offset + parameter.type.size;
    kernel.parameters.push_back(parameter);
  }
  if (const std::size_t group = text.find('#'); group != std::string_view::npos) {
    kernel.attributes = text.substr(group, text.find(' ', group) - group);
  }
  module.kernels.push_back(std::move(kernel));
}

void read_declaration(Module& module, std::string_view line) {
  const std::size_t at = line.find('@');
  std::string_view after = line.substr(at);
  const std::string name = portable_intrinsic(take_name(after));
  if (!name.starts_with("llvm.")) {
    throw Error("undefined hidden symbol: " + name +
                ": the kernel calls a function that neither the text nor AMD's device libraries define");
  }
  if (!is_runtime_call(name)) return;
  RuntimeCall call;
  std::string_view result = line.substr(8, at - 8);
  skip_to_type(result);
  call.result = plain_type(module, result);
  const std::string_view list = bracketed(after);
  for (std::string_view operand : operands(list.substr(1, list.size() - 2))) {
    skip_to_type(operand);
    call.parameters.push_back(plain_type(module, operand));
  }
  module.runtime_calls[name] = std::move(call);
}

// attributes #1 = { ... "amdgpu-flat-work-group-size"="1,1024" ... }
void read_attributes(Module& module, std::string_view line) {
  const std::string group(line.substr(11, line.find(' ', 11) - 11));
  if (line.find("\"=\"preserve-sign") != std::string_view::npos ||
      line.find("\"=\"positive-zero") != std::string_view::npos) {
    throw Error(
        "the kernel is compiled to flush subnormal numbers, which is not emulated: leave out "
        "-fgpu-flush-denormals-to-zero");
  }
  constexpr std::string_view kSize = "\"amdgpu-flat-work-group-size\"=\"";
  if (const std::size_t at = line.find(kSize); at != std::string_view::npos) {
    module.most_threads[group] = static_cast<std::uint32_t>(number_after(line.substr(at), ",", 0));
  }
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view bracketed(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') i = text.find('"', i + 1);
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (depth == 0) return text.substr(0, i + 1);
  }
  throw Error("a bracket is not closed: " + std::string(text.substr(0, 60)));
}

bool defines_kernel(std::string_view line) {
  return line.starts_with("define ") && line.find(" amdgpu_kernel ") < line.find('@');
}

bool defines_local(std::string_view line) {
  return line.starts_with('@') && line.find(kLocal) < line.find('"', 2);
}

Module read_module(const std::vector<std::string_view>& lines) {
  Module module;
  for (const std::string_view line : lines) {
    if (line.starts_with('%') && line.find(" = type ") != std::string_view::npos) module.types.define(line);
  }
  for (const std::string_view line : lines) {
    if (defines_local(line)) read_local(module, line);
    if (defines_kernel(line)) read_kernel(module, line);
    if (line.starts_with("declare ")) read_declaration(module, line);
    if (line.starts_with("attributes ")) read_attributes(module, line);
  }
  if (module.kernels.empty()) throw Error("the text defines no kernel: a kernel is a __global__ function");
  return module;
}

}  // namespace tern::gpu::amd
