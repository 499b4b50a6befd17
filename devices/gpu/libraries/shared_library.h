// Libraries of the vendor that the plugin does without where they are missing: they are opened when they are first
// needed.
#pragma once

#include <span>
#include <string>

namespace tern::gpu {

struct LibraryPlaces {
  const char* title;                   ///< "cuBLASLt"
  const char* variable;                ///< of the environment: it names one file instead
  std::span<const char* const> files;  ///< the preferred one first
  const char* hint;                    ///< how to get it
};

/// A variable of the environment: "TERN_CUDA" or "TERN_ROCM", then `end`.
std::string plugin_variable(const char* end);

/// False where TERN_CUDA_LIBRARIES=0 (TERN_ROCM_LIBRARIES=0) leaves all of them out.
bool wants_libraries();

/// Opens the first file that is there and that `takes` accepts; null with `why` if none is. `takes` returns why it
/// refuses a library, and is empty where it takes it.
template <class Takes>
void* open_library(const LibraryPlaces& places, Takes takes, std::string* why);

/// The files to look for: those of `places`, or the one that the environment names.
std::span<const char* const> files_of(const LibraryPlaces& places);
/// Null if it cannot be opened.
void* open_file(const char* file);
void close_file(void* library);
void* symbol_of(void* library, const char* name);
/// "cuBLASLt is missing: no library libcublasLt.so.13, ...; install it ..."
std::string missing(const LibraryPlaces& places);
/// Why the libraries are off, for people.
std::string left_out();

template <class Takes>
void* open_library(const LibraryPlaces& places, Takes takes, std::string* why) {
  if (!wants_libraries()) {
    *why = std::string(places.title) + " is not used: " + left_out();
    return nullptr;
  }
  why->clear();
  for (const char* file : files_of(places)) {
    void* library = open_file(file);
    if (library == nullptr) continue;
    const std::string refusal = takes(library, file);
    if (refusal.empty()) {
      why->clear();
      return library;
    }
    if (why->empty()) *why = refusal;  // of the preferred one
    close_file(library);
  }
  if (why->empty()) *why = missing(places);
  return nullptr;
}

}  // namespace tern::gpu
