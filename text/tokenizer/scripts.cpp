#include "text/tokenizer/scripts.h"

#include <tern/error.h>

#include <mutex>
#include <string>
#include <vector>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/unicode.h"

namespace tern::text {
namespace {

// Scripts with code points in PCRE2 10.40 to 10.42; one capturing group for each.
constexpr const char* kScripts[] = {"Han",
                                    "Latin",
                                    "Common",
                                    "Greek",
                                    "Cyrillic",
                                    "Armenian",
                                    "Hebrew",
                                    "Arabic",
                                    "Syriac",
                                    "Thaana",
                                    "Devanagari",
                                    "Bengali",
                                    "Gurmukhi",
                                    "Gujarati",
                                    "Oriya",
                                    "Tamil",
                                    "Telugu",
                                    "Kannada",
                                    "Malayalam",
                                    "Sinhala",
                                    "Thai",
                                    "Lao",
                                    "Tibetan",
                                    "Myanmar",
                                    "Georgian",
                                    "Hangul",
                                    "Ethiopic",
                                    "Cherokee",
                                    "Canadian_Aboriginal",
                                    "Ogham",
                                    "Runic",
                                    "Khmer",
                                    "Mongolian",
                                    "Bopomofo",
                                    "Yi",
                                    "Old_Italic",
                                    "Gothic",
                                    "Deseret",
                                    "Inherited",
                                    "Tagalog",
                                    "Hanunoo",
                                    "Buhid",
                                    "Tagbanwa",
                                    "Limbu",
                                    "Tai_Le",
                                    "Linear_B",
                                    "Ugaritic",
                                    "Shavian",
                                    "Osmanya",
                                    "Cypriot",
                                    "Braille",
                                    "Buginese",
                                    "Coptic",
                                    "New_Tai_Lue",
                                    "Glagolitic",
                                    "Tifinagh",
                                    "Syloti_Nagri",
                                    "Old_Persian",
                                    "Kharoshthi",
                                    "Balinese",
                                    "Cuneiform",
                                    "Phoenician",
                                    "Phags_Pa",
                                    "Nko",
                                    "Sundanese",
                                    "Lepcha",
                                    "Ol_Chiki",
                                    "Vai",
                                    "Saurashtra",
                                    "Kayah_Li",
                                    "Rejang",
                                    "Lycian",
                                    "Carian",
                                    "Lydian",
                                    "Cham",
                                    "Tai_Tham",
                                    "Tai_Viet",
                                    "Avestan",
                                    "Egyptian_Hieroglyphs",
                                    "Samaritan",
                                    "Lisu",
                                    "Bamum",
                                    "Javanese",
                                    "Meetei_Mayek",
                                    "Imperial_Aramaic",
                                    "Old_South_Arabian",
                                    "Inscriptional_Parthian",
                                    "Inscriptional_Pahlavi",
                                    "Old_Turkic",
                                    "Kaithi",
                                    "Batak",
                                    "Brahmi",
                                    "Mandaic",
                                    "Chakma",
                                    "Meroitic_Cursive",
                                    "Meroitic_Hieroglyphs",
                                    "Miao",
                                    "Sharada",
                                    "Sora_Sompeng",
                                    "Takri",
                                    "Caucasian_Albanian",
                                    "Bassa_Vah",
                                    "Duployan",
                                    "Elbasan",
                                    "Grantha",
                                    "Khojki",
                                    "Khudawadi",
                                    "Linear_A",
                                    "Mahajani",
                                    "Manichaean",
                                    "Mende_Kikakui",
                                    "Modi",
                                    "Mro",
                                    "Nabataean",
                                    "Old_North_Arabian",
                                    "Old_Permic",
                                    "Pahawh_Hmong",
                                    "Palmyrene",
                                    "Pau_Cin_Hau",
                                    "Psalter_Pahlavi",
                                    "Siddham",
                                    "Tirhuta",
                                    "Warang_Citi",
                                    "Ahom",
                                    "Anatolian_Hieroglyphs",
                                    "Hatran",
                                    "Multani",
                                    "Old_Hungarian",
                                    "SignWriting",
                                    "Adlam",
                                    "Bhaiksuki",
                                    "Marchen",
                                    "Newa",
                                    "Osage",
                                    "Tangut"};

/// Numbers of all characters of the Basic Multilingual Plane and two more, found by one expression with a group for
/// each script.
std::vector<std::int16_t> make_table() {
  std::string pattern;
  for (const char* name : kScripts) pattern += std::string(pattern.empty() ? "" : "|") + "(\\p{sc:" + name + "})";
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &error_offset, nullptr);
  if (code == nullptr) fail(ErrorCode::unsupported, "this version of PCRE2 lacks a script of Unicode");
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  pcre2_match_data* data = pcre2_match_data_create_from_pattern(code, nullptr);
  std::vector<std::int16_t> table(0x30000, static_cast<std::int16_t>(kAnyScript));
  std::string text;
  for (char32_t c = 0; data != nullptr && c < table.size(); ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    text.clear();
    append_character(text, c);
    const int groups =
        pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, PCRE2_NO_UTF_CHECK, data, nullptr);
    if (groups > 1) table[c] = static_cast<std::int16_t>(groups - 2);
  }
  pcre2_match_data_free(data);
  pcre2_code_free(code);
  return table;
}

}  // namespace

int script_of(char32_t c) {
  if (c == ' ') return kAnyScript;
  if (c == 0x30fc || (c >= 0x3041 && c <= 0x309f && c != 0x3099 && c != 0x309a && c != 0x309b && c != 0x309c) ||
      (c >= 0x30a1 && c <= 0x30ff && c != 0x30fb) || (c >= 0x31f0 && c <= 0x31ff) ||
      (c >= 0xff66 && c <= 0xff9d && c != 0xff70))
    return 0;  // Han
  static const std::vector<std::int16_t> table = make_table();
  return c < table.size() ? table[c] : kAnyScript;
}

}  // namespace tern::text
