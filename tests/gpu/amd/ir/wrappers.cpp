#include "tests/gpu/amd/ir/wrappers.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "tests/gpu/amd/ir/intrinsics.h"
#include "tests/gpu/amd/ir/rewriter.h"

namespace tern::gpu::amd {
namespace {

constexpr std::string_view kAmd = "llvm.amdgcn.";

// llvm.fma.f16 is tern_fma_f16.
std::string c_function(std::string_view name) {
  if (name.starts_with(kAmd)) return runtime_function(name.substr(kAmd.size()));
  std::string function = "tern_" + std::string(name.substr(5));
  std::replace(function.begin(), function.end(), '.', '_');
  return function;
}

bool small(std::string_view type) {
  return type == "i1" || type == "i8" || type == "i16";
}

bool is_passed_by_address(std::string_view type) {
  return type[0] == '<' || type[0] == '{' || type[0] == '[' || type[0] == '%';
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

std::string wrapper(const std::string& name, const RuntimeCall& call) {
  const Intrinsic kind =
      name.starts_with(kAmd) ? find_intrinsic(std::string_view(name).substr(kAmd.size())) : Intrinsic::plain;
  std::vector<std::string> parameters, passed, types;
  std::string body;
  if (kind == Intrinsic::wave || kind == Intrinsic::barrier) {
    parameters.push_back("i32 %site");
    passed.push_back("i32 %site");
    types.push_back("i32");
  }
  for (std::size_t i = 0; i < call.parameters.size(); ++i) {
    const std::string& type = call.parameters[i];
    const std::string operand = "%p" + std::to_string(i), converted = "%c" + std::to_string(i);
    parameters.push_back(type + ' ' + operand);
    if (small(type)) {
      body += "  " + converted + " = zext " + type + ' ' + operand + " to i32\n";
      passed.push_back("i32 " + converted);
    } else if (is_passed_by_address(type)) {
      body +=
          "  " + converted + " = alloca " + type + "\n  store " + type + ' ' + operand + ", ptr " + converted + "\n";
      passed.push_back("ptr " + converted);
    } else {
      passed.push_back(type + ' ' + operand);
    }
    types.push_back(small(type) ? "i32" : is_passed_by_address(type) ? "ptr" : type);
  }
  const std::string& result = call.result;
  std::string c_result = small(result) ? "i32" : result, end = "  ret " + result + " %result\n";
  if (is_passed_by_address(result)) {
    body += "  %to = alloca " + result + '\n';
    passed.push_back("ptr %to");
    types.push_back("ptr");
    c_result = "void";
    end = "  %result = load " + result + ", ptr %to\n" + end;
  } else if (small(result)) {
    end = "  %result = trunc i32 %value to " + result + '\n' + end;
  } else if (result == "void") {
    end = "  ret void\n";
  }
  const std::string function = c_function(name);
  std::string declaration;
  if (kind == Intrinsic::nothing) {
    body.clear();
  } else {
    declaration = "declare " + c_result + " @" + function + '(' + joined(types) + ")\n";
    body += c_result == "void" ? "  " : small(result) ? "  %value = " : "  %result = ";
    body += "call " + c_result + " @" + function + '(' + joined(passed) + ")\n";
  }
  return declaration + "define internal " + result + " @" + wrapper_name(name) + '(' + joined(parameters) +
         ") alwaysinline {\n" + body + end + "}\n";
}

}  // namespace

std::string wrappers(const Module& module) {
  std::string text;
  for (const auto& [name, call] : module.runtime_calls) text += wrapper(name, call);
  return text;
}

}  // namespace tern::gpu::amd
