// RCCL's library file and installation hint. Function names equal NCCL's.
#pragma once

namespace tern::gpu::names {

constexpr const char* kNccl = "RCCL";
constexpr const char* kNcclVariable = "TERN_RCCL";
constexpr const char* kNcclHint = "install the package rccl of ROCm";
constexpr const char* kNcclLibraries[] = {"librccl.so.1", "librccl.so", "/opt/rocm/lib/librccl.so.1"};

}  // namespace tern::gpu::names
