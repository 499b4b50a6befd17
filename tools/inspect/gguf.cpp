#include "tools/inspect/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "exporter/gguf/decoder_config.h"
#include "exporter/gguf/file.h"
#include "exporter/gguf/metadata.h"
#include "exporter/gguf/types.h"
#include "tools/json_text.h"
#include "tools/text.h"

namespace tern {
namespace {

using gguf::Architecture;

struct GgufFacts {
  std::uint64_t bytes = 0;
  std::uint32_t version = 0;
  std::string architecture, name, tokenizer, command;
  const Architecture* known_architecture = nullptr;
  std::optional<std::int64_t> context, vocabulary;
  std::size_t tensors = 0;
  std::vector<std::pair<std::string, std::size_t>>
      types;  ///< types and their number of tensors, the most frequent first
  bool has_template = false;
};

GgufFacts read_facts(const std::string& path) {
  const gguf::File file = gguf::File::open(path);
  const gguf::Metadata metadata(file);
  GgufFacts f{.bytes = file.bytes().size(), .version = file.version(), .architecture = metadata.architecture()};
  const auto found =
      std::ranges::find_if(gguf::architectures(), [&](const Architecture& a) { return f.architecture == a.name; });
  if (found != gguf::architectures().end()) f.known_architecture = &*found;
  f.name = metadata.text("general.name").value_or("");
  f.context = metadata.integer(".context_length", 0, INT64_MAX);
  if (const gguf::TensorRecord* table = file.tensor("token_embd.weight")) f.vocabulary = table->sizes[0];
  f.tokenizer = metadata.text("tokenizer.ggml.model").value_or("");
  f.has_template = metadata.has_key("tokenizer.chat_template");
  f.tensors = file.tensors().size();
  std::map<std::string, std::size_t> counts;
  for (const gguf::TensorRecord& t : file.tensors()) ++counts[gguf::type_text(t.type)];
  f.types.assign(counts.begin(), counts.end());
  std::ranges::stable_sort(f.types, std::greater(), [](const auto& t) { return t.second; });
  const std::string output = std::filesystem::path(path).filename().replace_extension(".tern").string();
  f.command = fmt::format("tern export {} -o {}", path, output);
  return f;
}

}  // namespace

std::string gguf_text(const std::string& path) {
  const GgufFacts f = read_facts(path);
  std::string report =
      fmt::format("{}: {}, GGUF file of llama.cpp, version {}\n", escape_name(path), human_bytes(f.bytes), f.version);
  if (!f.name.empty()) report += fmt::format("name: {}\n", escape_name(f.name));
  report +=
      fmt::format("architecture: {}{}\n", escape_name(f.architecture),
                  f.known_architecture != nullptr ? fmt::format(" ({})", f.known_architecture->models)
                                                  : "; not supported: supported are " + gguf::architectures_text());
  if (f.context) report += fmt::format("context: {} positions\n", *f.context);
  if (f.vocabulary) report += fmt::format("vocabulary: {} tokens\n", *f.vocabulary);
  if (!f.tokenizer.empty())
    report +=
        fmt::format("tokenizer: {}{}\n", escape_name(f.tokenizer), f.has_template ? ", with a chat template" : "");
  report += fmt::format("tensors: {}", f.tensors);
  for (std::size_t i = 0; i < f.types.size(); ++i)
    report += fmt::format("{}{} x {}", i == 0 ? ": " : ", ", f.types[i].second, f.types[i].first);
  report += "\n";
  if (f.known_architecture != nullptr) report += fmt::format("\nmake an archive: {}\n", escape_name(f.command, 4000));
  return report;
}

std::string gguf_json(const std::string& path) {
  const GgufFacts f = read_facts(path);
  nlohmann::ordered_json j = {{"format", "gguf"},
                              {"version", f.version},
                              {"bytes", f.bytes},
                              {"name", f.name},
                              {"architecture", f.architecture},
                              {"supported", f.known_architecture != nullptr},
                              {"tokenizer", f.tokenizer},
                              {"chat_template", f.has_template},
                              {"tensors", f.tensors},
                              {"types", nlohmann::ordered_json::object()}};
  if (f.context) j["context"] = *f.context;
  if (f.vocabulary) j["vocabulary"] = *f.vocabulary;
  for (const auto& [type, count] : f.types) j["types"][type] = count;
  if (f.known_architecture != nullptr) j["command"] = f.command;
  return json_text(j) + "\n";
}

}  // namespace tern
