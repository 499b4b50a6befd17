// Methods of strings, lists and dictionaries that the sandbox of transformers allows.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <optional>

#include "text/jinja/failure.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/strings.h"
#include "text/unicode.h"

namespace tern::jinja {
namespace {

using Method = Value (*)(Interpreter&, const Value&, const Arguments&);

const std::string& text_argument(const Arguments& a, std::size_t i, const char* name) {
  const Value* v = a.find(i, name);
  if (v == nullptr || !v->is_string()) fail_rendering(fmt::format("a method needs a string as argument {}", i + 1));
  return v->string();
}

std::int64_t integer_argument(const Arguments& a, std::size_t i, const char* name, std::int64_t absent) {
  const Value* v = a.find(i, name);
  if (v == nullptr || v->is_none()) return absent;
  if (!v->is_integral()) fail_rendering(fmt::format("a method needs an integer as argument {}", i + 1));
  return v->integer();
}

std::string strip_sides(std::string_view s, const Arguments& a, bool left, bool right) {
  const Value* v = a.find(0, "chars");
  std::u32string characters;
  const bool is_space = v == nullptr || v->is_none();
  if (!is_space) characters = text::to_characters(text_argument(a, 0, "chars"));
  const auto is_stripped = [&](char32_t c) {
    return is_space ? text::is_white_space(c) || (c >= 0x1c && c <= 0x1f) : characters.find(c) != std::u32string::npos;
  };
  while (left && !s.empty()) {
    const text::Character c = text::character_at(s, 0);
    if (!is_stripped(c.code)) break;
    s.remove_prefix(c.size);
  }
  while (right && !s.empty()) {
    const text::Character c = text::last_character(s);
    if (!is_stripped(c.code)) break;
    s.remove_suffix(c.size);
  }
  return std::string(s);
}

std::size_t next_space(std::string_view s, std::size_t position, bool wants_space) {
  while (position < s.size()) {
    const text::Character c = text::character_at(s, position);
    if (text::is_white_space(c.code) == wants_space) break;
    position += c.size;
  }
  return position;
}

Value split(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const std::string_view s = v.string();
  const Value* separator = a.find(0, "sep");
  const std::int64_t limit = integer_argument(a, 1, "maxsplit", -1);
  List items_out;
  const auto may_split = [&] {
    interpreter.take_steps(1);
    return limit < 0 || static_cast<std::int64_t>(items_out.size()) < limit;
  };
  interpreter.take_steps(1 + s.size() / 16);
  if (separator == nullptr || separator->is_none()) {
    std::size_t position = next_space(s, 0, false);
    while (position < s.size()) {
      const std::size_t end = may_split() ? next_space(s, position, true) : s.size();
      std::string_view field = s.substr(position, end - position);
      if (end == s.size()) items_out.emplace_back(strip_sides(field, {}, false, true));
      if (end != s.size()) items_out.emplace_back(field);
      position = next_space(s, end, false);
    }
    return Value::list(std::move(items_out));
  }
  const std::string& delimiter = text_argument(a, 0, "sep");
  if (delimiter.empty()) fail_rendering("split needs a separator that is not empty");
  std::size_t position = 0;
  for (std::size_t found = s.find(delimiter); found != std::string_view::npos && may_split();
       found = s.find(delimiter, position)) {
    items_out.emplace_back(s.substr(position, found - position));
    position = found + delimiter.size();
  }
  items_out.emplace_back(s.substr(position));
  return Value::list(std::move(items_out));
}

Value rsplit(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const std::int64_t limit = integer_argument(a, 1, "maxsplit", -1);
  const Value* separator = a.find(0, "sep");
  if (limit < 0 || separator == nullptr || separator->is_none()) {
    if (limit >= 0) fail_rendering("rsplit with maxsplit needs a separator");
    return split(interpreter, v, a);
  }
  std::string_view s = v.string();
  const std::string& delimiter = text_argument(a, 0, "sep");
  if (delimiter.empty()) fail_rendering("rsplit needs a separator that is not empty");
  interpreter.take_steps(1 + s.size() / 16);
  List items_out;
  while (static_cast<std::int64_t>(items_out.size()) < limit) {
    const std::size_t found = s.rfind(delimiter);
    if (found == std::string_view::npos) break;
    interpreter.take_steps(1);
    items_out.emplace_back(s.substr(found + delimiter.size()));
    s = s.substr(0, found);
  }
  items_out.emplace_back(s);
  std::ranges::reverse(items_out);
  return Value::list(std::move(items_out));
}

Value splitlines(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const std::string_view s = v.string();
  const Value* keepends_argument = a.find(0, "keepends");
  const bool keeps_ends = keepends_argument != nullptr && keepends_argument->truth();
  interpreter.take_steps(1 + s.size() / 16);
  List items_out;
  std::size_t position = 0;
  while (position < s.size()) {
    std::size_t end = position, line_after = s.size();
    for (; end < s.size();) {
      const text::Character c = text::character_at(s, end);
      const bool is_break = (c.code >= 0x0a && c.code <= 0x0d) || (c.code >= 0x1c && c.code <= 0x1e) ||
                            c.code == 0x85 || c.code == 0x2028 || c.code == 0x2029;
      if (is_break) {
        line_after = end + c.size + (c.code == '\r' && end + 1 < s.size() && s[end + 1] == '\n' ? 1 : 0);
        break;
      }
      end += c.size;
    }
    interpreter.take_steps(1);
    items_out.emplace_back(s.substr(position, (keeps_ends ? line_after : end) - position));
    position = line_after;
  }
  return Value::list(std::move(items_out));
}

template <bool at_start>
Value affix(Interpreter&, const Value& v, const Arguments& a) {
  const Value* prefix = a.find(0, "prefix");
  const auto matches = [&](const Value& item) {
    if (!item.is_string()) fail_rendering("startswith and endswith need strings");
    return at_start ? v.string().starts_with(item.string()) : v.string().ends_with(item.string());
  };
  if (prefix != nullptr && prefix->is_tuple()) return Value(std::ranges::any_of(prefix->items(), matches));
  return Value(matches(prefix != nullptr ? *prefix : Value()));
}

Value replace(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const std::string& s = v.string();
  const std::string &old_text = text_argument(a, 0, "old"), &new_text = text_argument(a, 1, "new");
  const std::int64_t limit = integer_argument(a, 2, "count", -1);
  std::string text_out;
  std::size_t position = 0;
  for (std::int64_t count = 0; limit < 0 || count < limit; ++count) {
    const std::size_t found = s.find(old_text, position);
    if (found == std::string::npos) break;
    interpreter.take_steps(1);
    if (old_text.empty()) {  // before each character, and at the end
      text_out += new_text;
      if (position >= s.size()) break;
      const std::size_t size = text::character_at(s, position).size;
      text_out += s.substr(position, size);
      position += size;
      check_text_size(text_out.size());
      continue;
    }
    text_out += s.substr(position, found - position);
    text_out += new_text;
    position = found + old_text.size();
    check_text_size(text_out.size());
  }
  if (position < s.size()) text_out += s.substr(position);
  interpreter.take_text(text_out.size());
  return Value(std::move(text_out));
}

std::string change_case(std::string_view s, bool each_word) {
  std::string text_out;
  bool is_start = true;
  for (std::size_t position = 0; position < s.size();) {
    const text::Character c = text::character_at(s, position);
    const std::string_view character = s.substr(position, c.size);
    text_out += is_start ? text::upper_case(character) : text::lower_case(character);
    is_start = each_word && !text::is_cased(c.code);
    position += c.size;
  }
  return text_out;
}

Value find_text(Interpreter&, const Value& v, const Arguments& a, bool from_end, bool must_exist) {
  const std::string& s = v.string();
  const std::string& substring = text_argument(a, 0, "sub");
  const std::size_t found = from_end ? s.rfind(substring) : s.find(substring);
  if (found == std::string::npos) {
    if (must_exist) fail_rendering("substring not found");
    return Value(std::int64_t{-1});
  }
  return Value(static_cast<std::int64_t>(text::count_characters(std::string_view(s).substr(0, found))));
}

template <class Is>
Value all_characters(const Value& v, Is predicate) {
  const std::u32string characters = text::to_characters(v.string());
  return Value(!characters.empty() && std::ranges::all_of(characters, predicate));
}

Value join(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const Value* list = a.find(0, "iterable");
  std::string text_out;
  bool is_first = true;
  for (const Value& item : interpreter.elements(list != nullptr ? *list : Value())) {
    if (!item.is_string()) fail_rendering("join needs strings");
    if (!is_first) text_out += v.string();
    is_first = false;
    text_out += item.string();
    check_text_size(text_out.size());
  }
  interpreter.take_text(text_out.size());
  return Value(std::move(text_out));
}

/// "{} of {}".format(a, b), with names and numbers, without formats.
Value format(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const std::string& s = v.string();
  std::string text_out;
  std::size_t used_count = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if ((s[i] == '{' || s[i] == '}') && i + 1 < s.size() && s[i + 1] == s[i]) {
      text_out += s[i++];
      continue;
    }
    if (s[i] != '{') {
      text_out += s[i];
      continue;
    }
    const std::size_t end = s.find('}', i);
    if (end == std::string::npos) fail_rendering("a format has no '}'");
    const std::string name = s.substr(i + 1, end - i - 1);
    const bool is_number =
        !name.empty() && name.size() < 6 && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    const Value* found = nullptr;
    if (name.empty() || is_number) {
      const std::size_t position = is_number ? static_cast<std::size_t>(std::stoi(name)) : used_count++;
      if (position < a.positional.size()) found = &a.positional[position];
    } else {
      found = a.find(1u << 20, name);
    }
    if (found == nullptr) fail_rendering(fmt::format("a format has no argument '{}'", name));
    text_out += to_text(*found);
    check_text_size(text_out.size());
    i = end;
  }
  interpreter.take_text(text_out.size());
  return Value(std::move(text_out));
}

struct NamedMethod {
  std::string_view name;
  Method method;
};

constexpr NamedMethod kStringMethods[] = {
    {"strip",
     [](Interpreter& interpreter, const Value& v, const Arguments& a) {
       interpreter.take_text(v.string().size());
       return Value(strip_sides(v.string(), a, true, true));
     }},
    {"lstrip",
     [](Interpreter& interpreter, const Value& v, const Arguments& a) {
       interpreter.take_text(v.string().size());
       return Value(strip_sides(v.string(), a, true, false));
     }},
    {"rstrip",
     [](Interpreter& interpreter, const Value& v, const Arguments& a) {
       interpreter.take_text(v.string().size());
       return Value(strip_sides(v.string(), a, false, true));
     }},
    {"split", split},
    {"rsplit", rsplit},
    {"splitlines", splitlines},
    {"startswith", affix<true>},
    {"endswith", affix<false>},
    {"replace", replace},
    {"join", join},
    {"format", format},
    {"upper",
     [](Interpreter& interpreter, const Value& v, const Arguments&) {
       interpreter.take_text(v.string().size());
       return Value(text::upper_case(v.string()));
     }},
    {"lower",
     [](Interpreter& interpreter, const Value& v, const Arguments&) {
       interpreter.take_text(v.string().size());
       return Value(text::lower_case(v.string()));
     }},
    {"title",
     [](Interpreter& interpreter, const Value& v, const Arguments&) {
       interpreter.take_text(v.string().size());
       return Value(change_case(v.string(), true));
     }},
    {"capitalize",
     [](Interpreter& interpreter, const Value& v, const Arguments&) {
       interpreter.take_text(v.string().size());
       return Value(change_case(v.string(), false));
     }},
    {"find", [](Interpreter& interpreter, const Value& v,
                const Arguments& a) { return find_text(interpreter, v, a, false, false); }},
    {"rfind", [](Interpreter& interpreter, const Value& v,
                 const Arguments& a) { return find_text(interpreter, v, a, true, false); }},
    {"index", [](Interpreter& interpreter, const Value& v,
                 const Arguments& a) { return find_text(interpreter, v, a, false, true); }},
    {"count",
     [](Interpreter& interpreter, const Value& v, const Arguments& a) {
       const std::string& substring = text_argument(a, 0, "sub");
       if (substring.empty()) return Value(static_cast<std::int64_t>(text::count_characters(v.string()) + 1));
       std::int64_t count = 0;
       for (std::size_t position = v.string().find(substring); position != std::string::npos;
            position = v.string().find(substring, position + substring.size()))
         ++count;
       interpreter.take_steps(1 + v.string().size() / 16);
       return Value(count);
     }},
    {"removeprefix",
     [](Interpreter&, const Value& v, const Arguments& a) {
       const std::string& prefix = text_argument(a, 0, "prefix");
       return Value(v.string().starts_with(prefix) ? v.string().substr(prefix.size()) : v.string());
     }},
    {"removesuffix",
     [](Interpreter&, const Value& v, const Arguments& a) {
       const std::string& suffix = text_argument(a, 0, "suffix");
       return Value(v.string().ends_with(suffix) ? v.string().substr(0, v.string().size() - suffix.size())
                                                 : v.string());
     }},
    {"isdigit", [](Interpreter&, const Value& v, const Arguments&) { return all_characters(v, text::is_numeric); }},
    {"isnumeric", [](Interpreter&, const Value& v, const Arguments&) { return all_characters(v, text::is_numeric); }},
    {"isdecimal", [](Interpreter&, const Value& v, const Arguments&) { return all_characters(v, text::is_numeric); }},
    {"isalpha", [](Interpreter&, const Value& v, const Arguments&) { return all_characters(v, text::is_letter); }},
    {"isalnum",
     [](Interpreter&, const Value& v, const Arguments&) {
       return all_characters(v, [](char32_t c) { return text::is_letter(c) || text::is_numeric(c); });
     }},
    {"isspace", [](Interpreter&, const Value& v, const Arguments&) { return all_characters(v, text::is_white_space); }},
    {"isupper", [](Interpreter& interpreter, const Value& v,
                   const Arguments&) { return Value(interpreter.apply_test("upper", v, {})); }},
    {"islower", [](Interpreter& interpreter, const Value& v, const Arguments&) {
       return Value(interpreter.apply_test("lower", v, {}));
     }}};

[[noreturn]] Value refuse_change(Interpreter&, const Value& v, const Arguments&) {
  fail_rendering(fmt::format("a {} cannot be changed: make another one with '+', or use a namespace", v.type_name()));
}

constexpr NamedMethod kListMethods[] = {
    {"index",
     [](Interpreter&, const Value& v, const Arguments& a) {
       const Value* value = a.find(0, "value");
       for (std::size_t i = 0; value != nullptr && i < v.items().size(); ++i) {
         if (equal(v.items()[i], *value)) return Value(static_cast<std::int64_t>(i));
       }
       fail_rendering("a list lacks the value that index() looks for");
     }},
    {"count",
     [](Interpreter&, const Value& v, const Arguments& a) {
       const Value* value = a.find(0, "value");
       return Value(static_cast<std::int64_t>(std::ranges::count_if(
           v.items(), [&](const Value& item) { return value != nullptr && equal(item, *value); })));
     }},
    {"copy",
     [](Interpreter& interpreter, const Value& v, const Arguments&) { return Value::list(interpreter.elements(v)); }},
    {"append", refuse_change},
    {"extend", refuse_change},
    {"insert", refuse_change},
    {"pop", refuse_change},
    {"remove", refuse_change},
    {"reverse", refuse_change},
    {"sort", refuse_change},
    {"clear", refuse_change}};

constexpr NamedMethod kDictMethods[] = {
    {"items", [](Interpreter& interpreter, const Value& v,
                 const Arguments&) { return interpreter.apply_filter("items", v, {}); }},
    {"keys",
     [](Interpreter& interpreter, const Value& v, const Arguments&) { return Value::list(interpreter.elements(v)); }},
    {"values",
     [](Interpreter& interpreter, const Value& v, const Arguments&) {
       interpreter.take_steps(v.dict().size());
       List items_out;
       for (const auto& item : v.dict().items()) items_out.push_back(item.second);
       return Value::list(std::move(items_out));
     }},
    {"get",
     [](Interpreter&, const Value& v, const Arguments& a) {
       const Value* key = a.find(0, "key");
       const Value* found = key != nullptr && key->is_string() ? v.dict().find(key->string()) : nullptr;
       if (found != nullptr) return *found;
       const Value* absent = a.find(1, "default");
       return absent != nullptr ? *absent : Value();
     }},
    {"copy",
     [](Interpreter& interpreter, const Value& v, const Arguments&) {
       interpreter.take_steps(v.dict().size());
       return Value::dict(v.dict());
     }},
    {"update", refuse_change},
    {"pop", refuse_change},
    {"popitem", refuse_change},
    {"setdefault", refuse_change},
    {"clear", refuse_change}};

template <std::size_t n>
bool find_in(const NamedMethod (&methods)[n], const Value& object, const std::string& name, Value& method) {
  const auto found = std::ranges::find(methods, name, &NamedMethod::name);
  if (found == std::end(methods)) return false;
  method = Value::callable({name, [object, call = found->method](Interpreter& interpreter, const Arguments& a) {
                              return call(interpreter, object, a);
                            }});
  return true;
}

}  // namespace

std::string strip(std::string_view s) {
  return strip_sides(s, {}, true, true);
}

bool find_method(const Value& object, const std::string& name, Value& method) {
  if (object.is_string()) return find_in(kStringMethods, object, name, method);
  if (object.is_list()) return find_in(kListMethods, object, name, method);
  if (object.is_dict() && !object.is_namespace()) return find_in(kDictMethods, object, name, method);
  return false;
}

}  // namespace tern::jinja
