#include "tools/serve/embedding_call.h"

#include <bit>
#include <cstring>
#include <utility>

#include "tools/serve/call_json.h"

namespace tern::serve {
namespace {

constexpr std::size_t kMaxTexts = 2048;  // OpenAI's
constexpr const char* kInputForm = "'input' must be a text, texts, token ids, or lists of token ids";

std::vector<std::int64_t> text_tokens(const ParsedJson& text, const TextEmbedder& embedder) {
  if (text.is_string()) return embedder.encode(text.get_ref<const std::string&>());
  if (!text.is_array()) refuse(kInputForm);
  return token_ids(text, "input");
}

void read_texts(const ParsedJson* input, const TextEmbedder& embedder, bool truncates, EmbeddingCall& call) {
  if (input == nullptr || (input->is_array() && input->empty())) refuse("'input' lacks a text");
  const bool is_one = !input->is_array() || input->front().is_number();
  if (!is_one && input->size() > kMaxTexts) refuse(fmt::format("'input' has more than {} texts", kMaxTexts));
  if (is_one) {
    call.texts.push_back(text_tokens(*input, embedder));
  } else {
    for (const ParsedJson& text : *input) call.texts.push_back(text_tokens(text, embedder));
  }
  if (!truncates) return;
  for (std::vector<std::int64_t>& text : call.texts) text = embedder.cut(std::move(text));
}

/// Bytes in base 64 (RFC 4648), of floats in little-endian order.
std::string base64_of(const std::vector<float>& numbers) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  for (const float x : numbers) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 255);
  }
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t byte_index) {
      return byte_index < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[byte_index])) : 0U;
    };
    const std::uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (std::size_t digit = 0; digit < 4; ++digit)
      text += i + digit > bytes.size() ? '=' : kDigits[three >> (18 - 6 * digit) & 63];
  }
  return text;
}

}  // namespace

EmbeddingCall read_embedding_call(std::string_view text, const TextEmbedder& embedder) {
  const ParsedJson json = parse_object(text);
  const Members members(json);
  EmbeddingCall call;
  call.model = members.text("model");
  const std::string format = members.text("encoding_format");
  if (!format.empty() && format != "float" && format != "base64")
    refuse("'encoding_format' must be 'float' or 'base64'");
  call.is_base64 = format == "base64";
  const std::int64_t width = embedder.dimensions();
  call.dimensions = static_cast<std::size_t>(members.integer("dimensions", width, 1, width));
  if (!embedder.cuts() && call.dimensions != static_cast<std::size_t>(width)) {
    refuse(
        fmt::format("'dimensions': the model's vectors have {} numbers, and its export does not say that fewer are an "
                    "embedding, too (--matryoshka)",
                    width));
  }
  read_texts(members.find("input"), embedder, members.flag("truncate", false), call);
  return call;
}

std::string embedding_reply(const EmbeddingCall& call, const std::string& model, const std::vector<float>& vectors) {
  const std::size_t width = vectors.size() / call.texts.size();
  nlohmann::ordered_json reply = {{"object", "list"}, {"data", nlohmann::ordered_json::array()}, {"model", model}};
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < call.texts.size(); ++i) {
    const auto begin = vectors.begin() + static_cast<std::ptrdiff_t>(i * width);
    std::vector<float> vector(begin, begin + static_cast<std::ptrdiff_t>(width));
    if (call.dimensions < width) vector = shortened_embedding(std::move(vector), call.dimensions);
    nlohmann::ordered_json embedding = {{"object", "embedding"}, {"index", i}};
    if (call.is_base64) {
      embedding["embedding"] = base64_of(vector);
    } else {
      embedding["embedding"] = vector;
    }
    reply["data"].push_back(std::move(embedding));
    tokens += call.texts[i].size();
  }
  reply["usage"] = {{"prompt_tokens", tokens}, {"total_tokens", tokens}};
  return reply.dump();
}

}  // namespace tern::serve
