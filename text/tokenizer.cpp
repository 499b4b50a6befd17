// tern::Tokenizer.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/text.h>

#include <array>
#include <filesystem>

#include "text/configuration.h"
#include "text/files.h"
#include "text/tokenizer_impl.h"
#include "text/unicode.h"

namespace tern {
namespace {

using text::Configuration;

constexpr std::array<const char*, 7> kUsualBos = {"<s>",   "<bos>", "<|begin_of_text|>", "<|startoftext|>",
                                                  "[BOS]", "[CLS]", "<|endoftext|>"};
constexpr std::array<const char*, 7> kUsualEos = {"</s>",  "<eos>", "<|end_of_text|>", "<|im_end|>",
                                                  "[EOS]", "[SEP]", "<|endoftext|>"};

template <class Names>
std::optional<std::int64_t> first_special(const TokenizerImpl& impl, const Names& names) {
  for (const char* name : names) {
    if (const auto id = impl.find(name); id && impl.token(*id)->is_special) return id;
  }
  return {};
}

std::shared_ptr<TokenizerImpl> read_tokenizer(std::string_view bytes, std::string_view configuration_text) {
  const Configuration configuration = text::read_configuration(configuration_text);
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  const bool is_json = begin != std::string_view::npos && bytes[begin] == '{';
  std::shared_ptr<TokenizerImpl> impl =
      is_json ? text::read_json_tokenizer(bytes)
              : text::read_sentencepiece(bytes, configuration.add_bos, configuration.add_eos);
  const auto id_of = [&](const char* name) -> std::optional<std::int64_t> {
    const auto found = configuration.special_tokens.find(name);
    return found == configuration.special_tokens.end() ? std::nullopt : impl->find(found->second);
  };
  const bool is_configured = !configuration.special_tokens.empty();
  if (const auto id = id_of("bos_token")) impl->bos = id;
  if (const auto id = id_of("eos_token")) impl->eos = id;
  if (!impl->bos && !is_configured) impl->bos = first_special(*impl, kUsualBos);
  if (!impl->eos && !is_configured) impl->eos = first_special(*impl, kUsualEos);
  return impl;
}

}  // namespace

Tokenizer Tokenizer::open(const std::string& path) {
  const text::TokenizerPaths paths = text::find_tokenizer(path);
  return text::add_path_to_errors(paths.tokenizer, [&] {
    const std::string configuration =
        paths.configuration.empty() ? std::string() : text::read_file(paths.configuration);
    return Tokenizer(read_tokenizer(text::read_file(paths.tokenizer), configuration));
  });
}

Tokenizer Tokenizer::from_bytes(std::string_view bytes, std::string_view configuration) {
  return Tokenizer(read_tokenizer(bytes, configuration));
}

Tokenizer Tokenizer::from_model(const Model& model) {
  const char* name = text::has_file(model, TextFiles::tokenizer) ? TextFiles::tokenizer : TextFiles::sentencepiece;
  if (!has_tokenizer(model))
    fail(
        ErrorCode::invalid_argument,
        "the archive carries no tokenizer: export the model with --tokenizer FOLDER, or open the tokenizer's own file");
  return Tokenizer(read_tokenizer(model.file(name), text::file_or_empty(model, TextFiles::configuration)));
}

bool has_tokenizer(const Model& model) {
  return text::has_file(model, TextFiles::tokenizer) || text::has_file(model, TextFiles::sentencepiece);
}

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  if (const std::size_t valid = text::valid_size(text); valid != text.size())
    fail(ErrorCode::invalid_argument, fmt::format("the text is not UTF-8 at byte {}", valid));
  std::vector<std::int64_t> ids;
  impl_->encode(text, options, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids, bool skip_special) const {
  for (const std::int64_t id : ids) {
    if (id < 0) fail(ErrorCode::invalid_argument, fmt::format("token id {} is negative", id));
  }
  return impl_->decode(ids, skip_special);
}

std::int64_t Tokenizer::vocabulary_size() const {
  return impl_->size();
}
std::optional<std::int64_t> Tokenizer::id_of(std::string_view token) const {
  return impl_->find(token);
}
std::optional<TokenInfo> Tokenizer::token(std::int64_t id) const {
  return impl_->token(id);
}
std::vector<TokenInfo> Tokenizer::special_tokens() const {
  return impl_->special_tokens();
}
std::optional<std::int64_t> Tokenizer::bos() const {
  return impl_->bos;
}
std::optional<std::int64_t> Tokenizer::eos() const {
  return impl_->eos;
}

}  // namespace tern
