// What a translation collects while it reads a module of LLVM's IR.
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
  bool by_reference = false;  // the kernel gets its address in the block of parameters
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
  bool dynamic = false;  // its size is that of the launch
  std::uint64_t offset = 0;
};

// What a function mentions, for properties that kernels inherit from the functions that they call.
struct References {
  std::set<std::string> names;  // functions and variables
  bool groups = false;          // threads wait for each other
};

// A declared function that runtime/ computes.
struct RuntimeCall {
  std::string result;                   // the type's text, or void
  std::vector<std::string> parameters;  // types
};

struct Module {
  Types types;
  std::vector<Kernel> kernels;
  std::map<std::string, LocalVariable> locals;
  std::map<std::string, References> functions;
  std::map<std::string, RuntimeCall> runtime_calls;   // by the whole name: llvm.amdgcn.rcp.f32
  std::map<std::string, std::uint32_t> most_threads;  // of a block, by the attributes of a function
};

// Gives each variable in local memory its place, and returns the size of all. Those of a dynamic size are behind them.
std::uint64_t place_locals(Module& module);
// The bytes of local memory that a kernel has of its own, and whether its threads wait for each other.
struct KernelNeeds {
  std::uint64_t local_bytes = 0;
  bool groups = false;
};
KernelNeeds needs(const Module& module, const Kernel& kernel);

}  // namespace tern::gpu::amd

#endif
