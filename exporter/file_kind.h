// Kinds of files, recognised by their first bytes: errors name the kind, and the step that takes such a file.
#pragma once

#include <tern/error.h>

#include <cstddef>
#include <span>
#include <string>

namespace tern {

struct FileKind {
  std::string name;    ///< "a GGUF file of llama.cpp"; empty for an unknown file and one that is missing
  std::string advice;  ///< the command or step that takes it: a sentence without its full stop
  ErrorCode code = ErrorCode::unsupported;  ///< bad_file for what cannot be meant
  std::string format;                       ///< tern, zip, npy, safetensors, json, gzip: the formats that commands take

  bool is_program() const { return format == "tern" || format == "zip"; }
  std::string text() const { return "this is " + name + "; " + advice; }
};

/// The first bytes of a file, at least 512 where it has so many. An archive of Tern is a kind like others.
FileKind kind_of(std::span<const std::byte> start);
/// The same for a path, which may be a folder.
FileKind kind_of_file(const std::string& path);

/// Fails, naming the kind, where the file is neither an archive of Tern nor a zip archive such as a .pt2,
/// and its kind is known.
void refuse_other_kinds(const std::string& path);

}  // namespace tern
