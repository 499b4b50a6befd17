// NCCL's library file and installation hint.
#pragma once

namespace tern::gpu::names {

constexpr const char* kNccl = "NCCL";
constexpr const char* kNcclVariable = "TERN_NCCL";
constexpr const char* kNcclHint = "install NVIDIA's package libnccl2, or from PyPI: nvidia-nccl-cu13";
constexpr const char* kNcclLibraries[] = {"libnccl.so.2", "libnccl.so"};

}  // namespace tern::gpu::names
