// Memory layout of the structs of DLPack 1.1, under names of our own: programs bring their own dlpack.h. From
// dlpack/dlpack.h, Copyright (c) 2017 by Contributors, Apache License 2.0, https://github.com/dmlc/dlpack.
#pragma once

#include <cstdint>

namespace tern::dlpack {

inline constexpr std::int32_t kCpu = 1;  // kDLCPU
inline constexpr std::uint32_t kMajor = 1, kMinor = 1;
inline constexpr std::uint64_t kReadOnly = 1;  // DLPACK_FLAG_BITMASK_READ_ONLY

struct DeviceId {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Array {  // DLTensor
  void* data;
  DeviceId device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // null: row-major (before 1.2)
  std::uint64_t byte_offset;
};

struct Managed {  // DLManagedTensor
  Array array;
  void* context;
  void (*deleter)(Managed*);
};

struct Versioned {  // DLManagedTensorVersioned
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  Array array;
};

}  // namespace tern::dlpack
