// Optional libraries of the vendor, opened on first use.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "platform/library.h"

namespace tern::gpu {

struct LibraryPlaces {
  const char* title;                   ///< "cuBLASLt"
  const char* variable;                ///< environment variable naming a single file instead
  std::span<const char* const> files;  ///< preferred file first
  const char* hint;                    ///< installation hint
};

/// Environment variable: "TERN_CUDA" or "TERN_ROCM", followed by `end`.
std::string plugin_variable(const char* end);

/// Returns false if TERN_CUDA_LIBRARIES=0 (TERN_ROCM_LIBRARIES=0) disables all libraries.
bool wants_libraries();

/// Opens the first existing file accepted by `takes`; returns null with `why` otherwise. `takes` returns its reason for
/// refusing a library, empty to accept.
template <class Takes>
void* open_library(const LibraryPlaces& places, Takes takes, std::string* why);

/// Returns the files to try: the files of `places`, or the file named by the environment.
std::vector<std::string> files_of(const LibraryPlaces& places);
/// Message: "cuBLASLt is missing: no library libcublasLt.so.13, ...; install it ..."
std::string missing(const LibraryPlaces& places);
/// Message explaining disabled libraries.
std::string left_out();

template <class Takes>
void* open_library(const LibraryPlaces& places, Takes takes, std::string* why) {
  if (!wants_libraries()) {
    *why = std::string(places.title) + " is not used: " + left_out();
    return nullptr;
  }
  why->clear();
  for (const std::string& file : files_of(places)) {
    void* library = platform::open_library(file);
    if (library == nullptr) continue;
    const std::string refusal = takes(library, file.c_str());
    if (refusal.empty()) {
      why->clear();
      return library;
    }
    if (why->empty()) *why = refusal;  // reason of the preferred file
    platform::close_library(library);
  }
  if (why->empty()) *why = missing(places);
  return nullptr;
}

}  // namespace tern::gpu
