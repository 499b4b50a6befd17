// The functions of NVRTC that the tests call, looked up when they run.
#pragma once

#include <cstddef>
#include <string>

namespace tern::emulated {

struct Nvrtc {
  // nvrtc.h: nvrtcProgram is a pointer, nvrtcResult an enumeration whose NVRTC_SUCCESS is 0.
  using Program = void*;
  int (*create)(Program*, const char* text, const char* name, int headers, const char* const* texts,
                const char* const* names);
  int (*compile)(Program, int options, const char* const* values);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*ptx_size)(Program, std::size_t*);
  int (*ptx)(Program, char*);
  int (*destroy)(Program*);
};

// Throws std::runtime_error if there is no NVRTC: these tests fail without it.
const Nvrtc& nvrtc();

}  // namespace tern::emulated
