#include "bert_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <span>

namespace {

constexpr char32_t kReplacement = 0xFFFD;

int combining_class(char32_t c) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

/// Ranges with marks, punctuation and format characters in Unicode versions after 8. `tokenizers` keeps the categories
/// of Unicode 8: unassigned or letters.
constexpr char32_t kLater[][2] = {
    {0x061D, 0x061D},   {0x07FD, 0x07FD},   {0x0890, 0x08E2},   {0x09FD, 0x09FE},   {0x0A76, 0x0A76},
    {0x0AFA, 0x0AFF},   {0x0B55, 0x0B55},   {0x0C04, 0x0C3C},   {0x0C77, 0x0C77},   {0x0C84, 0x0C84},
    {0x0D00, 0x0D00},   {0x0D3B, 0x0D3C},   {0x0D81, 0x0D81},   {0x0EBA, 0x0EBA},   {0x0ECE, 0x0ECE},
    {0x180F, 0x1886},   {0x1ABF, 0x1ACE},   {0x1B7D, 0x1B7E},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E5D},
    {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10F89},
    {0x11070, 0x11074}, {0x110C2, 0x110CD}, {0x111CF, 0x111CF}, {0x1123E, 0x11241}, {0x1133B, 0x1133B},
    {0x11438, 0x1145E}, {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1182F, 0x11FFF}, {0x12FF1, 0x13455},
    {0x16E97, 0x16F4F}, {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF}, {0x1E944, 0x1E95F}};

bool is_in(char32_t c, std::span<const char32_t[2]> ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [c](const auto& range) { return range[0] <= c && c <= range[1]; });
}

/// The category in Unicode 8, limited to marks, punctuation, spaces and control characters.
utf8proc_category_t category(char32_t c) {
  if (c == 0x166D || c == 0x111C9) return UTF8PROC_CATEGORY_PO;  // other kinds in later versions
  if (c == 0x1734) return UTF8PROC_CATEGORY_MN;
  if (c >= kLater[0][0] && is_in(c, kLater)) return UTF8PROC_CATEGORY_LO;
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_space(char32_t c) {
  const auto kind = category(c);
  return c == U'\t' || c == U'\n' || c == U'\r' || kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL ||
         kind == UTF8PROC_CATEGORY_ZP;
}

/// Control and format characters and private use.
bool is_dropped(char32_t c) {
  if (c == 0 || c == kReplacement) return true;
  if (is_space(c)) return false;
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_CO;
}

/// The blocks counted by `tokenizers`; the block beginning at 2B920 is U+2B820 in Unicode.
bool is_ideograph(char32_t c) {
  static constexpr char32_t kBlocks[][2] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                            {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                            {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return is_in(c, kBlocks);
}

std::u32string cleaned(std::string_view utf8) {
  std::u32string text;
  for (std::size_t i = 0; i < utf8.size();) {
    utf8proc_int32_t c = 0;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(utf8.data()) + i,
                                         static_cast<utf8proc_ssize_t>(utf8.size() - i), &c);
    i += length > 0 ? static_cast<std::size_t>(length) : 1;
    if (length <= 0 || is_dropped(static_cast<char32_t>(c))) continue;
    const auto kept = is_space(static_cast<char32_t>(c)) ? U' ' : static_cast<char32_t>(c);
    if (is_ideograph(kept)) {
      text.append({U' ', kept, U' '});
    } else {
      text.push_back(kept);
    }
  }
  return text;
}

/// Canonical decomposition (NFD).
std::u32string decomposed(const std::u32string& text) {
  std::u32string result;
  for (const char32_t c : text) {
    utf8proc_int32_t parts[8];  // the longest decomposition of a character has four
    int boundary = 0;
    const auto count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 8, UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 0; i < count; ++i) result.push_back(static_cast<char32_t>(parts[i]));
  }
  // Sorts the marks of a letter by class.
  for (auto at = result.begin(); at != result.end();) {
    at = std::find_if(at, result.end(), [](char32_t c) { return combining_class(c) != 0; });
    const auto end = std::find_if(at, result.end(), [](char32_t c) { return combining_class(c) == 0; });
    std::stable_sort(at, end, [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    at = end;
  }
  return result;
}

}  // namespace

std::u32string normalize(std::string_view utf8) {
  std::u32string text = decomposed(cleaned(utf8));
  std::erase_if(text, [](char32_t c) { return category(c) == UTF8PROC_CATEGORY_MN; });
  for (char32_t& c : text) c = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  return text;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

std::string to_utf8(std::u32string_view text) {
  std::string result;
  for (const char32_t c : text) {
    utf8proc_uint8_t bytes[4];
    const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
    result.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
  }
  return result;
}
