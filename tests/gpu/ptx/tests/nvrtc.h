// The functions of NVRTC called by the tests, looked up at run time.
#pragma once

#include <cstddef>
#include <string>

namespace tern::emulated {

struct Nvrtc {
  // nvrtc.h: nvrtcProgram is a pointer, nvrtcResult an enumeration with NVRTC_SUCCESS 0.
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

// Throws std::runtime_error without NVRTC: these tests need NVRTC.
const Nvrtc& nvrtc();

}  // namespace tern::emulated
