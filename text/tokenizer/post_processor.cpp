#include "text/tokenizer/post_processor.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <array>

#include "text/tokenizer/fields.h"

namespace tern::text {
namespace {

constexpr int kMaxPostProcessorDepth = 16;
constexpr std::size_t kMaxFrame = 1024;  ///< ids beside a text

TokenId id_of_json(const nlohmann::json& j) {
  const std::int64_t id = j.is_number_integer() ? j.get<std::int64_t>() : -1;
  if (id < 0 || id > kMaxId)
    fail(ErrorCode::bad_file,
         fmt::format("the tokenizer's post-processor has a token whose id is not from 0 to {}", kMaxId));
  return static_cast<TokenId>(id);
}

/// Id of a pair ["</s>", 2].
TokenId id_of_pair(const nlohmann::json& owner, const char* name) {
  const nlohmann::json& pair = array_field(owner, name);
  if (pair.size() != 2)
    fail(ErrorCode::bad_file,
         fmt::format("the field '{}' of the tokenizer's post-processor must hold a token and its id", name));
  return id_of_json(pair[1]);
}

Frame template_frame(const nlohmann::json& j) {
  Frame frame;
  bool after_text = false;
  for (const auto& template_item : array_field(j, "single")) {
    if (has_field(template_item, "Sequence")) {
      if (after_text) fail(ErrorCode::unsupported, "the tokenizer's post-processor repeats the text");
      after_text = true;
      continue;
    }
    const std::string name = text_field(required_field(template_item, "SpecialToken"), "id");
    const nlohmann::json& token = required_field(required_field(j, "special_tokens"), name.c_str());
    for (const auto& id : array_field(token, "ids"))
      (after_text ? frame.suffix : frame.prefix).push_back(id_of_json(id));
  }
  if (!after_text) fail(ErrorCode::unsupported, "the tokenizer's post-processor leaves the text out");
  return frame;
}

}  // namespace

Frame make_frame(const nlohmann::json& j, int depth) {
  if (j.is_null()) return {};
  if (depth > kMaxPostProcessorDepth) fail(ErrorCode::bad_file, "the post-processors of the tokenizer nest too deep");
  const std::string type = text_field(j, "type");
  if (type == "ByteLevel") return {};  // changes offsets alone
  if (type == "TemplateProcessing") return template_frame(j);
  if (type == "BertProcessing" || type == "RobertaProcessing") return {{id_of_pair(j, "cls")}, {id_of_pair(j, "sep")}};
  if (type == "Sequence") {
    Frame frame;
    for (const auto& processor_json : array_field(j, "processors")) {
      const Frame outer = make_frame(processor_json, depth + 1);
      frame.prefix.insert(frame.prefix.begin(), outer.prefix.begin(), outer.prefix.end());
      frame.suffix.insert(frame.suffix.end(), outer.suffix.begin(), outer.suffix.end());
      if (frame.prefix.size() + frame.suffix.size() > kMaxFrame)
        fail(ErrorCode::bad_file, fmt::format("the tokenizer's post-processors add more than {} tokens", kMaxFrame));
    }
    return frame;
  }
  fail(ErrorCode::unsupported,
       fmt::format("the tokenizer has a post-processor of type '{}', which is not known", type));
}

}  // namespace tern::text
