// Kinds of files, recognised by their first bytes: errors name the kind, and the command or step for such a file.
#pragma once

#include <tern/error.h>

#include <cstddef>
#include <span>
#include <string>

namespace tern {

struct FileKind {
  std::string name;                         ///< "a GGUF file of llama.cpp"; empty for unknown and missing files
  std::string advice;                       ///< command or step for the file: a sentence without its full stop
  ErrorCode code = ErrorCode::unsupported;  ///< bad_file for files with no possible use
  std::string format;                       ///< tern, zip, gguf, npy, safetensors, json, gzip: accepted by commands

  bool is_program() const { return format == "tern" || format == "zip"; }
  std::string text() const { return "this is " + name + "; " + advice; }
};

/// `start` has the first 512 bytes of a file, or the whole of a shorter file. An archive of Tern is a kind like others.
FileKind kind_of(std::span<const std::byte> start);
/// Accepts a path, possibly of a folder.
FileKind kind_of_file(const std::string& path);
/// True for a file that begins as GGUF files do.
bool is_gguf(const std::string& path);

/// Fails, naming the kind, for a file of a known kind other than Tern archives and zip archives such as .pt2.
void refuse_other_kinds(const std::string& path);

}  // namespace tern
