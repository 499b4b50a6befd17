#include "text/regex.h"

#include <fmt/format.h>
#include <tern/error.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/unicode.h"

namespace tern::text {
namespace {

constexpr std::size_t kMaxPattern = 1 << 16;
constexpr std::uint32_t kMatchSteps = 10'000'000;
constexpr std::size_t kHeapKibibytes = 64 << 10;
constexpr std::size_t kJitStack = 1 << 20;

/// Resources of a thread for matches.
struct Matcher {
  pcre2_match_data* data = pcre2_match_data_create(8, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 << 10, kJitStack, nullptr);
  Matcher() {
    if (data == nullptr || context == nullptr) throw std::bad_alloc();
    pcre2_set_heap_limit(context, kHeapKibibytes);
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;
  ~Matcher() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

}  // namespace

struct Regex::Code {
  std::string pattern;
  pcre2_code* code = nullptr;
  explicit Code(std::string_view text) : pattern(text) {
    if (text.size() > kMaxPattern)
      fail(ErrorCode::bad_file,
           fmt::format("a regular expression of the tokenizer has {} bytes; at most {} are allowed", text.size(),
                       kMaxPattern));
    const std::string translated = pcre2_pattern(text);
    int error = 0;
    PCRE2_SIZE error_offset = 0;
    pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
    if (context == nullptr) throw std::bad_alloc();
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, 100);
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                         PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &error_offset,
                         context);
    pcre2_compile_context_free(context);
    if (code == nullptr) {
      PCRE2_UCHAR message[256] = {};
      pcre2_get_error_message(error, message, sizeof message);
      fail(ErrorCode::bad_file, fmt::format("the tokenizer's regular expression '{}' does not compile: {}", pattern,
                                            reinterpret_cast<const char*>(message)));
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // PCRE2 interprets matches if it has no JIT compiler
  }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }

  /// Looks for a match from byte `from` on.
  bool find(Matcher& m, std::string_view text, std::size_t begin, std::uint32_t options) const {
    const auto run = [&](std::uint32_t extra_options) {
      return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), begin,
                         PCRE2_NO_UTF_CHECK | options | extra_options, m.data, m.context);
    };
    int result = run(0);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);
    if (result >= 0) return true;
    if (result == PCRE2_ERROR_NOMATCH) return false;
    PCRE2_UCHAR message[256] = {};
    pcre2_get_error_message(result, message, sizeof message);
    fail(ErrorCode::runtime, fmt::format("the tokenizer's regular expression '{}' fails on this text: {}", pattern,
                                         reinterpret_cast<const char*>(message)));
  }
};

Regex Regex::expression(std::string_view pattern) {
  Regex r;
  r.code_ = std::make_shared<Code>(pattern);
  return r;
}

Regex Regex::literal(std::string_view text) {
  Regex r;
  r.literal_ = text;
  return r;
}

void Regex::find_all(std::string_view text, std::vector<ByteRange>& matches) const {
  matches.clear();
  if (code_ == nullptr) {
    if (literal_.empty()) return;
    for (std::size_t position = text.find(literal_); position != std::string_view::npos;
         position = text.find(literal_, position)) {
      matches.push_back({position, position + literal_.size()});
      position += literal_.size();
    }
    return;
  }
  thread_local Matcher matcher;
  const std::uint64_t steps = kMatchSteps + 64 * static_cast<std::uint64_t>(text.size());
  pcre2_set_match_limit(matcher.context, static_cast<std::uint32_t>(std::min<std::uint64_t>(steps, 0xffffffffu)));
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(matcher.data);
  for (std::size_t position = 0; position <= text.size();) {
    if (!code_->find(matcher, text, position, 0)) return;
    const ByteRange match{range[0], range[1]};
    if (match.end < match.begin) return;  // \K inside a lookahead
    matches.push_back(match);
    position = match.end;
    if (match.begin == match.end) position += position < text.size() ? character_at(text, position).size : 1;
  }
}

std::string replace_matches(std::string_view text, const std::vector<ByteRange>& matches, std::string_view content) {
  std::string replaced;
  std::size_t position = 0;
  for (const ByteRange& m : matches) {
    replaced += text.substr(position, m.begin - position);
    replaced += content;
    position = m.end;
  }
  replaced += text.substr(position);
  return replaced;
}

}  // namespace tern::text
