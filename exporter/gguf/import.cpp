#include "exporter/gguf/import.h"

#include <algorithm>
#include <cstring>

#include "exporter/attach_file.h"
#include "exporter/gguf/decoder.h"
#include "exporter/gguf/decoder_config.h"
#include "exporter/gguf/tokenizer.h"
#include "exporter/passes/pipeline.h"
#include "schema/work.h"

namespace tern::gguf {
namespace {

void attach_text(Program& program, const char* name, const std::string& text) {
  if (text.empty()) return;
  const auto bytes = std::as_bytes(std::span(text));
  attach_file(program, name, {bytes.begin(), bytes.end()});
}

void attach_texts(Program& program, const TokenizerTexts& texts) {
  attach_text(program, "tokenizer.json", texts.tokenizer);
  attach_text(program, "tokenizer_config.json", texts.configuration);
  attach_text(program, "chat_template.jinja", texts.chat_template);
  attach_text(program, "generation_config.json", texts.generation);
}

}  // namespace

GgufImport import_gguf(const File& file, std::int64_t context, const ImportOptions& options, ImportReport* report) {
  const WorkBudget budget(work_of(file.bytes().size()));
  const Metadata metadata(file);
  GgufImport result;
  const DecoderConfig config = decoder_config(file, metadata, context);
  Program& program = result.program;
  program = decoder_program(file, config);
  const std::int64_t vocabulary = file.tensor("token_embd.weight")->sizes[0];
  const TokenizerTexts texts = tokenizer_texts(metadata, vocabulary);
  if (texts.adds_bos) result.bos = texts.bos;
  result.eos = texts.eos;
  result.architecture = metadata.architecture();
  result.name = metadata.text("general.name").value_or("");
  if (!texts.missing.empty()) result.note = "the archive carries no tokenizer: " + texts.missing;
  program.metadata.emplace_back("architecture", result.architecture);
  if (report != nullptr) report->traced_nodes = program.functions[0].nodes.size();
  run_passes(program, Stage::lowered, Stage::fold, options, report);
  if (options.store_weights) store_weights(program, options, report);
  attach_texts(program, texts);
  return result;
}

}  // namespace tern::gguf
