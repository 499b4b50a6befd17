#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "exporter/pt2/json.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {

// Receives the events of nlohmann's parser, free of recursion.
class JsonBuilder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;
  using Kind = JsonValue::Kind;

  explicit JsonBuilder(JsonDocument& document) : document_(document) {}

  bool null() { return add(Kind::null), true; }
  bool boolean(bool value) { return add(Kind::boolean).integer = value, true; }
  bool number_integer(number_integer_t value) { return add(Kind::integer).integer = value, true; }
  bool number_unsigned(number_unsigned_t value) {
    auto& node = add(Kind::integer);
    node.integer = static_cast<std::int64_t>(value);
    node.too_large = value > static_cast<number_unsigned_t>(INT64_MAX);
    return true;
  }
  bool number_float(number_float_t value, const string_t&) { return add(Kind::real).real = value, true; }
  bool string(string_t& value) {
    const auto text = store_text(value);
    return add(Kind::string).string = text, true;
  }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Kind::object); }
  bool start_array(std::size_t) { return open(Kind::array); }
  bool key(string_t& value) { return key_ = store_text(value), true; }
  bool end_array() { return close(), true; }
  bool end_object() {
    const std::uint32_t index = open_containers_.back();
    close();
    check_keys(index);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    std::string problem = error.what();
    problem = problem.substr(0, problem.find("; last read"));
    fail(ErrorCode::bad_file,
         fmt::format("{}: byte {}: not valid JSON: {}", document_.entry_, position, problem.substr(0, 300)));
  }

 private:
  JsonDocument::StoredValue& add(Kind kind) {
    if (!open_containers_.empty()) ++document_.stored_values_[open_containers_.back()].count;
    if (document_.stored_values_.size() >= kMaxJsonValues)
      document_.root().bad(fmt::format("the JSON has more than {} values", kMaxJsonValues));
    auto& value = document_.stored_values_.emplace_back();
    value.kind = kind;
    value.key = std::exchange(key_, JsonDocument::StringRange{});
    value.end = static_cast<std::uint32_t>(document_.stored_values_.size());
    return value;
  }

  bool open(Kind kind) {
    add(kind).end = UINT32_MAX;  // not known yet
    open_containers_.push_back(static_cast<std::uint32_t>(document_.stored_values_.size() - 1));
    if (open_containers_.size() > kMaxJsonDepth)
      document_.root().bad(fmt::format("the JSON is nested deeper than {} levels", kMaxJsonDepth));
    return true;
  }

  void close() {
    document_.stored_values_[open_containers_.back()].end = static_cast<std::uint32_t>(document_.stored_values_.size());
    open_containers_.pop_back();
  }

  JsonDocument::StringRange store_text(const std::string& text) {
    const JsonDocument::StringRange retained{static_cast<std::uint32_t>(document_.strings_.size()),
                                             static_cast<std::uint32_t>(text.size())};
    document_.strings_ += text;
    return retained;
  }

  void check_keys(std::uint32_t object) {
    keys_.clear();
    const auto& values = document_.stored_values_;
    for (std::uint32_t i = object + 1; i < values[object].end; i = values[i].end)
      keys_.push_back(document_.view(values[i].key));
    std::sort(keys_.begin(), keys_.end());
    const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
    if (twice != keys_.end()) JsonValue(document_, object).bad(fmt::format("the key {} occurs twice", quote(*twice)));
  }

  JsonDocument& document_;
  JsonDocument::StringRange key_{};
  std::vector<std::uint32_t> open_containers_;
  std::vector<std::string_view> keys_;
};

JsonDocument::JsonDocument(std::string_view text, std::string entry) : entry_(std::move(entry)) {
  if (text.size() > kMaxJsonBytes)
    fail(ErrorCode::bad_file,
         fmt::format("{}: {} bytes of JSON exceed the limit of {}", entry_, text.size(), kMaxJsonBytes));
  JsonBuilder builder(*this);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder) || stored_values_.empty())
    fail(ErrorCode::bad_file, fmt::format("{}: not valid JSON", entry_));
}

}  // namespace tern::pt2
