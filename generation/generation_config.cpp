#include "generation/generation_config.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tern {
namespace {

using Json = nlohmann::json;

template <class Number>
void read_number(const Json& config, const char* key, Number& number) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return;
  if (!found->is_number()) fail(ErrorCode::bad_file, fmt::format("{}: '{}' is no number", TextFiles::generation, key));
  number = found->get<Number>();
}

}  // namespace

TextSampling read_generation_config(const Model& model, std::int64_t vocabulary) {
  TextSampling sampling;
  const auto& files = model.files();
  if (std::ranges::find(files, std::string_view(TextFiles::generation), &FileInfo::name) == files.end())
    return sampling;
  const Json config = Json::parse(model.file(TextFiles::generation), nullptr, false);
  if (!config.is_object())
    fail(ErrorCode::bad_file, fmt::format("the archive's {} is no JSON object", TextFiles::generation));
  read_number(config, "repetition_penalty", sampling.repetition_penalty);
  const auto samples = config.find("do_sample");
  if (samples != config.end() && samples->is_boolean() && samples->get<bool>()) {
    sampling.temperature = 1;
    sampling.top_k = 50;  // transformers' default
    read_number(config, "temperature", sampling.temperature);
    read_number(config, "top_k", sampling.top_k);
    read_number(config, "top_p", sampling.top_p);
    read_number(config, "min_p", sampling.min_p);
    read_number(config, "typical_p", sampling.typical_p);
  }
  try {
    sampling.check(vocabulary);
  } catch (const Error& e) {
    fail(ErrorCode::bad_file, fmt::format("the archive's {}: {}", TextFiles::generation, e.what()));
  }
  return sampling;
}

}  // namespace tern
