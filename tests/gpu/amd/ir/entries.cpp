#include "tests/gpu/amd/ir/entries.h"

#include <algorithm>

namespace tern::gpu::amd {
namespace {

// An address space no more: `ptr addrspace(1)` is `ptr`.
std::string plain(std::string type) {
  for (std::size_t at = type.find(" addrspace("); at != std::string::npos; at = type.find(" addrspace(")) {
    type.erase(at, type.find(')', at) + 1 - at);
  }
  return type;
}

std::string unquoted(const std::string& name) {
  return name.starts_with('"') ? name.substr(1, name.size() - 2) : name;
}

// Calls the kernel with operands from its parameter block.
std::string thread_function(const Kernel& kernel, const std::string& number) {
  std::string text = "define internal void @tern.thread." + number + "(ptr %parameters) {\n", operands;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    const std::string index = std::to_string(i), type = plain(parameter.type.text);
    text += "  %at" + index + " = getelementptr i8, ptr %parameters, i64 " + std::to_string(parameter.offset) + '\n';
    if (!parameter.is_reference) text += "  %v" + index + " = load " + type + ", ptr %at" + index + ", align 1\n";
    operands += i == 0 ? "" : ", ";
    operands += parameter.is_reference ? "ptr %at" + index : type + " %v" + index;
  }
  return text + "  call void @" + kernel.name + '(' + operands + ")\n  ret void\n}\n";
}

std::string run_function(const std::string& number) {
  return "define internal void @tern.run." + number +
         "(ptr %launch) {\n  call void @tern_run(ptr %launch, ptr @tern.program." + number +
         ", ptr @tern.locals)\n  ret void\n}\n";
}

}  // namespace

std::string entries(const Module& module, std::uint64_t local_bytes) {
  // struct tern_program of runtime/run.h, tern_emulated_parameter and tern_emulated_kernel
  std::string text =
      "%tern.program = type { ptr, ptr, i64, i32 }\n%tern.parameter = type { i32, i32 }\n"
      "%tern.kernel = type { ptr, i32, i32, ptr, i32, i32, i32, ptr }\ndeclare void @tern_run(ptr, ptr, ptr)\n";
  std::string table;
  for (std::size_t k = 0; k < module.kernels.size(); ++k) {
    const Kernel& kernel = module.kernels[k];
    const KernelNeeds need = kernel_needs(module, kernel);
    const auto most = module.most_threads.find(kernel.attributes);
    const std::string number = std::to_string(k), groups = need.groups ? "1" : "0";
    const std::string name = unquoted(kernel.name), count = std::to_string(kernel.parameters.size());
    std::string parameters;
    for (const Parameter& parameter : kernel.parameters) {
      parameters += parameters.empty() ? "" : ", ";
      parameters += "%tern.parameter { i32 " + std::to_string(parameter.offset) + ", i32 " +
                    std::to_string(parameter.type.size) + " }";
    }
    text += "@tern.name." + number + " = internal constant [" + std::to_string(name.size() + 1) + " x i8] c\"" + name +
            "\\00\"\n";
    text +=
        "@tern.parameters." + number + " = internal constant [" + count + " x %tern.parameter] [" + parameters + "]\n";
    text += "@tern.program." + number + " = internal constant %tern.program { ptr @tern.name." + number +
            ", ptr @tern.thread." + number + ", i64 " + std::to_string(local_bytes) + ", i32 " + groups + " }\n";
    text += thread_function(kernel, number) + run_function(number);
    table += table.empty() ? "" : ", ";
    table += "%tern.kernel { ptr @tern.name." + number + ", i32 " + std::to_string(kernel.parameter_bytes) + ", i32 " +
             count + ", ptr @tern.parameters." + number + ", i32 " + std::to_string(need.local_bytes) + ", i32 " +
             std::to_string(most == module.most_threads.end() ? 0 : most->second) + ", i32 " + groups +
             ", ptr @tern.run." + number + " }";
  }
  const std::string count = std::to_string(module.kernels.size());
  text += "@tern.kernels = internal constant [" + count + " x %tern.kernel] [" + table + "]\n";
  return text + "define ptr @tern_emulated_kernels(ptr %count) {\n  store i32 " + count +
         ", ptr %count\n  ret ptr @tern.kernels\n}\n";
}

}  // namespace tern::gpu::amd
