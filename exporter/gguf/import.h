// Imports GGUF files: the decoder that the metadata describe becomes a Program, with the file's tokenizer attached.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exporter/gguf/file.h"
#include "exporter/importer.h"
#include "schema/program.h"

namespace tern::gguf {

struct GgufImport {
  Program program;                  ///< holds one function, for add_generation (exporter/llm/add_generation.h)
  std::optional<std::int64_t> bos;  ///< the first token of a text
  std::vector<std::int64_t> eos;    ///< tokens that end an answer
  std::string architecture, name;
  std::string note;  ///< something that the archive will lack, or empty
};

/// `context`: positions of the cache; 0: those of the model, at most kDefaultContext (decoder_config.h). Weights keep
/// the file's bits, except for `options`. Throws Error: io, bad_file with the file offset, or unsupported.
GgufImport import_gguf(const File& file, std::int64_t context, const ImportOptions& options = {},
                       ImportReport* report = nullptr);

}  // namespace tern::gguf
