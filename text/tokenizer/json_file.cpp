#include "text/tokenizer/json_file.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "text/json.h"

namespace tern::text {
namespace {

constexpr std::size_t kMaxEntries = kMaxId + 1;  ///< tokens, and merges

/// Handler of nlohmann's events. Builds JSON but for model.vocab and model.merges.
class TokenizerEvents {
 public:
  explicit TokenizerEvents(TokenizerFile& file) : file_(file) {}

  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  bool null() { return scalar(nullptr); }
  bool boolean(bool v) { return scalar(v); }
  bool number_integer(number_integer_t v) { return number(static_cast<double>(v), v < 0, 0, v); }
  bool number_unsigned(number_unsigned_t v) { return number(static_cast<double>(v), false, v, v); }
  bool number_float(number_float_t v, const string_t&) { return number(v, true, 0, v); }
  bool binary(binary_t&) { return false; }

  bool string(string_t& v) {
    if (list_ == List::none) return scalar(v);
    if (list_ == List::merges && level_ == 1) {
      const std::size_t space = v.find(' ');
      if (space == std::string::npos || v.find(' ', space + 1) != std::string::npos)
        refuse(fmt::format("merge {} must be two tokens with a space between them", file_.model.merges.size()));
      add_merge(v.substr(0, space), v.substr(space + 1));
    } else if (level_ == 2 && (list_ == List::merges || list_ == List::scores)) {
      pair_.push_back(std::move(v));
    } else {
      refuse("its vocabulary or merges hold a string in an unexpected place");
    }
    return true;
  }

  bool key(string_t& k) {
    if (list_ == List::none) {
      keys_.back() = std::move(k);
    } else {
      key_ = std::move(k);
    }
    return true;
  }

  bool start_object(std::size_t) {
    if (begins_list()) {
      if (keys_.back() != "vocab") refuse("its merges are an object");
      list_ = List::vocabulary;
      level_ = 1;
      return true;
    }
    if (list_ != List::none) refuse("its vocabulary or merges hold an object");
    return open(Json::object());
  }
  bool start_array(std::size_t) {
    if (begins_list()) {
      list_ = keys_.back() == "vocab" ? List::scores : List::merges;
      level_ = 1;
      return true;
    }
    if (list_ == List::none) return open(Json::array());
    if (level_ != 1 || list_ == List::vocabulary) refuse("its vocabulary or merges nest too deep");
    level_ = 2;
    pair_.clear();
    score_.reset();
    return true;
  }
  bool end_object() { return list_ == List::none ? close() : end_list(); }
  bool end_array() {
    if (list_ == List::none) return close();
    if (level_ == 1) return end_list();
    level_ = 1;
    if (list_ == List::merges) {
      if (pair_.size() != 2) refuse(fmt::format("merge {} must hold two tokens", file_.model.merges.size()));
      add_merge(std::move(pair_[0]), std::move(pair_[1]));
    } else {
      if (pair_.size() != 1 || !score_)
        refuse(fmt::format("token {} must have a text and a score", file_.model.scores.size()));
      check_count(file_.model.scores.size());
      file_.model.scores.emplace_back(std::move(pair_[0]), *score_);
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) {
    fail(ErrorCode::bad_file, fmt::format("tokenizer.json is not JSON: {}", e.what()));
  }

  Json take_root() { return std::move(root_); }

 private:
  enum class List { none, vocabulary, scores, merges };

  [[noreturn]] static void refuse(const std::string& problem) {
    fail(ErrorCode::bad_file, fmt::format("tokenizer.json is not a tokenizer of Hugging Face: {}", problem));
  }
  static void check_count(std::size_t count) {
    if (count >= kMaxEntries) refuse(fmt::format("it has more than {} tokens or merges", kMaxEntries));
  }
  void add_merge(std::string left, std::string right) {
    check_count(file_.model.merges.size());
    file_.model.merges.emplace_back(std::move(left), std::move(right));
  }

  /// True at the value of model.vocab or model.merges.
  bool begins_list() const {
    return list_ == List::none && keys_.size() == 2 && keys_[0] == "model" &&
           (keys_[1] == "vocab" || keys_[1] == "merges");
  }
  bool end_list() {
    list_ = List::none;
    level_ = 0;
    return true;
  }

  template <class T>
  bool number(double as_double, bool is_no_id, std::uint64_t id, T value) {
    if (list_ == List::none) return scalar(value);
    if (list_ == List::vocabulary) {
      if (is_no_id) refuse(fmt::format("token '{}' has an id that is no number from 0 on", key_));
      check_count(file_.model.vocabulary.size());
      file_.model.vocabulary.emplace_back(std::move(key_), id);
    } else if (list_ == List::scores && level_ == 2) {
      score_ = as_double;
    } else {
      refuse("its merges hold a number");
    }
    return true;
  }

  template <class T>
  bool scalar(T&& value) {
    if (list_ != List::none) refuse("its vocabulary or merges hold null, true or false");
    *next_value() = std::forward<T>(value);
    return true;
  }
  /// Place of the next value in the innermost open object or array.
  Json* next_value() {
    if (open_containers_.empty()) return &root_;
    Json& parent = *open_containers_.back();
    if (parent.is_object()) return &parent[keys_.back()];
    parent.push_back(nullptr);
    return &parent.back();
  }
  bool open(Json value) {
    if (open_containers_.size() >= static_cast<std::size_t>(kMaxJsonDepth)) refuse("it nests too deep");
    Json* container = next_value();
    *container = std::move(value);
    open_containers_.push_back(container);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_containers_.pop_back();
    keys_.pop_back();
    return true;
  }

  TokenizerFile& file_;
  Json root_;
  std::vector<Json*> open_containers_;  ///< objects and arrays from the root to the innermost one
  std::vector<std::string> keys_;       ///< last key of each
  List list_ = List::none;
  int level_ = 0;  ///< nesting inside the list
  std::string key_;
  std::vector<std::string> pair_;
  std::optional<double> score_;
};

}  // namespace

TokenizerFile read_tokenizer_file(std::string_view text) {
  TokenizerFile file;
  TokenizerEvents events(file);
  Json::sax_parse(text, &events);
  file.fields = events.take_root();
  if (!file.fields.is_object() || !file.fields.contains("model") || !file.fields["model"].is_object())
    fail(ErrorCode::bad_file, "tokenizer.json is not a tokenizer of Hugging Face: it has no object 'model'");
  file.model.fields = std::move(file.fields["model"]);
  file.fields.erase("model");
  return file;
}

}  // namespace tern::text
