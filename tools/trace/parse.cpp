#include "tools/trace/parse.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <vector>

#include "exporter/file_kind.h"
#include "tools/text.h"
#include "tools/trace/stream.h"

namespace tern {
namespace {

using nlohmann::json;

/// Receives the parser's values one by one; keeps a single event, and the data beside the events.
class Handler final : public nlohmann::json_sax<json> {
 public:
  /// `read_bytes`: bytes read by the parser; `token`: receives the value of `read_bytes` at the end of the previous
  /// token.
  Handler(const TraceParse& parse, const std::size_t& read_bytes, std::size_t& token)
      : parse_(parse), read_bytes_(read_bytes), token_(token) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return value(v); }
  bool number_unsigned(number_unsigned_t v) override { return value(v); }
  bool number_float(number_float_t v, const string_t&) override { return value(v); }
  bool string(string_t& v) override { return count(v) && value(std::move(v)); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    token_ = read_bytes_;
    key_ = std::move(name);
    return count(key_);
  }
  bool parse_error(std::size_t byte_index, const std::string&, const nlohmann::detail::exception& e) override {
    error_position_ = byte_index;
    reason_ = e.what();
    return false;
  }

  std::size_t error_position() const { return error_position_; }
  const std::string& reason() const { return reason_; }
  json take_rest() {
    if (!is_object_) return json::object();
    return std::move(root_);
  }

 private:
  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  bool count(const std::string& text) {
    constexpr std::size_t kBytesOfValue = 64;
    values_ += text.size() / kBytesOfValue;
    return values_ <= TraceParse::kMaxValues || refuse_values();
  }
  bool refuse_values() {
    return refuse(
        fmt::format("one event, or the rest of the trace, has more than {} values, or 64 bytes of texts for each",
                    TraceParse::kMaxValues));
  }

  /// Inserts a value into the kept data; null: the parser is in the list of events, or outside of any value.
  json* insert_value(json&& v) {
    if (++values_ > TraceParse::kMaxValues) {
      refuse_values();
      return nullptr;
    }
    json* outer = stack_.back();
    if (outer == nullptr) {
      event_ = std::move(v);
      return &event_;
    }
    if (outer->is_array()) {
      outer->push_back(std::move(v));
      return &outer->back();
    }
    return &((*outer)[key_] = std::move(v));
  }

  template <class T>
  bool value(T&& v) {
    token_ = read_bytes_;
    if (stack_.empty()) return refuse("a trace must be an object or a list of events");
    if (stack_.back() == nullptr) return refuse("an event must be an object");
    return insert_value(json(std::forward<T>(v))) != nullptr;
  }

  bool open(json&& v) {
    token_ = read_bytes_;
    if (stack_.size() >= TraceParse::kMaxDepth)
      return refuse(fmt::format("values are nested deeper than {}", TraceParse::kMaxDepth));
    if (stack_.empty()) {
      is_object_ = v.is_object();
      root_ = std::move(v);
      stack_.push_back(is_object_ ? &root_ : nullptr);
      return true;
    }
    if (stack_.back() == nullptr) {
      if (!v.is_object()) return refuse("an event must be an object");
      outer_values_ = std::exchange(values_, 0);
    }
    if (stack_.size() == 1 && is_object_ && key_ == "traceEvents") {
      if (!v.is_array()) return refuse("\"traceEvents\" must be a list");
      stack_.push_back(nullptr);
      return true;
    }
    json* inserted = insert_value(std::move(v));
    if (inserted == nullptr) return false;
    stack_.push_back(inserted);
    return true;
  }

  bool close() {
    token_ = read_bytes_;
    stack_.pop_back();
    if (stack_.empty() || stack_.back() != nullptr || event_.is_null()) return true;
    values_ = outer_values_;
    parse_.on_event(std::exchange(event_, nullptr));
    return true;
  }

  const TraceParse& parse_;
  const std::size_t& read_bytes_;
  std::size_t& token_;
  json root_, event_;
  bool is_object_ = false;
  std::vector<json*> stack_;
  std::string key_, reason_;
  std::size_t values_ = 0, outer_values_ = 0, error_position_ = 0;
};

/// Characters of a stream buffer. The parser's own stream adapter hides errors of the buffer.
struct Characters {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;
  std::streambuf* buffer = nullptr;
  std::size_t* read_bytes = nullptr;
  const std::string* name = nullptr;   ///< the file's
  const std::size_t* token = nullptr;  ///< bytes read at the end of the last token

  char operator*() const { return static_cast<char>(buffer->sgetc()); }
  Characters& operator++() {
    buffer->sbumpc();
    if (++*read_bytes - *token > TraceParse::kMaxTokenBytes)
      fail(ErrorCode::bad_file, fmt::format("{}: byte {}: not a trace: a text has more than {} bytes",
                                            escape_name(*name), *token, TraceParse::kMaxTokenBytes));
    return *this;
  }
  Characters operator++(int) {
    const Characters old_position = *this;
    ++*this;
    return old_position;
  }
  bool is_at_end() const {
    using Traits = std::char_traits<char>;
    return buffer == nullptr || Traits::eq_int_type(buffer->sgetc(), Traits::eof());
  }
  bool operator==(const Characters& other) const { return is_at_end() == other.is_at_end(); }
};

}  // namespace

json parse_trace(std::istream& text, const std::string& name, const TraceParse& parse) {
  std::size_t read_bytes = 0, token = 0;
  Handler handler(parse, read_bytes, token);
  const bool valid = json::sax_parse(Characters{text.rdbuf(), &read_bytes, &name, &token}, Characters{}, &handler);
  if (!valid) {
    fail(ErrorCode::bad_file, fmt::format("{}: byte {}: not a trace: {}", escape_name(name),
                                          handler.error_position() > 0 ? handler.error_position() : read_bytes,
                                          escape_name(handler.reason())));
  }
  return handler.take_rest();
}

json parse_trace_file(const std::string& path, const TraceParse& parse) try {
  TraceBuffer buffer(path);
  std::istream text(&buffer);
  return parse_trace(text, path, parse);
} catch (const Error& e) {
  const FileKind kind = kind_of_file(path);
  if (e.code() != ErrorCode::bad_file || kind.name.empty() || kind.format == "json" || kind.format == "gzip") throw;
  fail(e.code(), fmt::format("{}; {}", e.what(), kind.text()));
}

}  // namespace tern
