// Facts collected by a translation while reading a module of LLVM's IR.
#ifndef TERN_TESTS_GPU_AMD_IR_MODULE_H
#define TERN_TESTS_GPU_AMD_IR_MODULE_H

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/gpu/amd/ir/types.h"

namespace tern::gpu::amd {

struct Parameter {
  Type type;
  bool is_reference = false;  // the kernel gets the parameter's address in the parameter block
  std::uint64_t offset = 0;
};

struct Kernel {
  std::string name;
  std::string attributes;  // #4
  std::vector<Parameter> parameters;
  std::uint64_t parameter_bytes = 0;
};

// A variable in local memory (LDS, address space 3).
struct LocalVariable {
  Type type;
  std::uint64_t alignment = 1;
  bool dynamic = false;  // sized at the launch
  std::uint64_t offset = 0;
};

// Names mentioned in a function: kernels inherit properties from the functions they call.
struct References {
  std::set<std::string> names;  // functions and variables
  bool groups = false;          // threads wait for each other
};

// A declared function implemented in runtime/.
struct RuntimeCall {
  std::string result;                   // the type's notation, or void
  std::vector<std::string> parameters;  // types
};

struct Module {
  Types types;
  std::vector<Kernel> kernels;
  std::map<std::string, LocalVariable> locals;
  std::map<std::string, References> functions;
  std::map<std::string, RuntimeCall> runtime_calls;   // keyed by full name: llvm.amdgcn.rcp.f32
  std::map<std::string, std::uint32_t> most_threads;  // threads per block, by attribute group of a function
};

// Assigns each variable in local memory an offset, and returns the total size. Variables of dynamic size come last.
std::uint64_t place_locals(Module& module);
// The bytes of a kernel's own local memory, and true in `groups` if its threads wait for each other.
struct KernelNeeds {
  std::uint64_t local_bytes = 0;
  bool groups = false;
};
KernelNeeds kernel_needs(const Module& module, const Kernel& kernel);

}  // namespace tern::gpu::amd

#endif
