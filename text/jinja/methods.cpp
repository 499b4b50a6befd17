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
  const auto goes = [&](char32_t c) {
    return is_space ? text::is_white_space(c) || (c >= 0x1c && c <= 0x1f) : characters.find(c) != std::u32string::npos;
  };
  while (left && !s.empty()) {
    const text::Character c = text::character_at(s, 0);
    if (!goes(c.code)) break;
    s.remove_prefix(c.size);
  }
  while (right && !s.empty()) {
    const text::Character c = text::last_character(s);
    if (!goes(c.code)) break;
    s.remove_suffix(c.size);
  }
  return std::string(s);
}

std::size_t next_space(std::string_view s, std::size_t at, bool wants_space) {
  while (at < s.size()) {
    const text::Character c = text::character_at(s, at);
    if (text::is_white_space(c.code) == wants_space) break;
    at += c.size;
  }
  return at;
}

Value split(Interpreter& in, const Value& v, const Arguments& a) {
  const std::string_view s = v.string();
  const Value* separator = a.find(0, "sep");
  const std::int64_t limit = integer_argument(a, 1, "maxsplit", -1);
  List out;
  const auto may_split = [&] {
    in.take_steps(1);
    return limit < 0 || static_cast<std::int64_t>(out.size()) < limit;
  };
  in.take_steps(1 + s.size() / 16);
  if (separator == nullptr || separator->is_none()) {
    std::size_t at = next_space(s, 0, false);
    while (at < s.size()) {
      const std::size_t end = may_split() ? next_space(s, at, true) : s.size();
      std::string_view part = s.substr(at, end - at);
      if (end == s.size()) out.emplace_back(strip_sides(part, {}, false, true));
      if (end != s.size()) out.emplace_back(part);
      at = next_space(s, end, false);
    }
    return Value::list(std::move(out));
  }
  const std::string& by = text_argument(a, 0, "sep");
  if (by.empty()) fail_rendering("split needs a separator that is not empty");
  std::size_t at = 0;
  for (std::size_t found = s.find(by); found != std::string_view::npos && may_split(); found = s.find(by, at)) {
    out.emplace_back(s.substr(at, found - at));
    at = found + by.size();
  }
  out.emplace_back(s.substr(at));
  return Value::list(std::move(out));
}

Value rsplit(Interpreter& in, const Value& v, const Arguments& a) {
  const std::int64_t limit = integer_argument(a, 1, "maxsplit", -1);
  const Value* separator = a.find(0, "sep");
  if (limit < 0 || separator == nullptr || separator->is_none()) {
    if (limit >= 0) fail_rendering("rsplit with maxsplit needs a separator");
    return split(in, v, a);
  }
  std::string_view s = v.string();
  const std::string& by = text_argument(a, 0, "sep");
  if (by.empty()) fail_rendering("rsplit needs a separator that is not empty");
  in.take_steps(1 + s.size() / 16);
  List out;
  while (static_cast<std::int64_t>(out.size()) < limit) {
    const std::size_t found = s.rfind(by);
    if (found == std::string_view::npos) break;
    in.take_steps(1);
    out.emplace_back(s.substr(found + by.size()));
    s = s.substr(0, found);
  }
  out.emplace_back(s);
  std::ranges::reverse(out);
  return Value::list(std::move(out));
}

Value splitlines(Interpreter& in, const Value& v, const Arguments& a) {
  const std::string_view s = v.string();
  const Value* keep = a.find(0, "keepends");
  const bool keeps = keep != nullptr && keep->truth();
  in.take_steps(1 + s.size() / 16);
  List out;
  std::size_t at = 0;
  while (at < s.size()) {
    std::size_t end = at, after = s.size();
    for (; end < s.size();) {
      const text::Character c = text::character_at(s, end);
      const bool is_break = (c.code >= 0x0a && c.code <= 0x0d) || (c.code >= 0x1c && c.code <= 0x1e) ||
                            c.code == 0x85 || c.code == 0x2028 || c.code == 0x2029;
      if (is_break) {
        after = end + c.size + (c.code == '\r' && end + 1 < s.size() && s[end + 1] == '\n' ? 1 : 0);
        break;
      }
      end += c.size;
    }
    in.take_steps(1);
    out.emplace_back(s.substr(at, (keeps ? after : end) - at));
    at = after;
  }
  return Value::list(std::move(out));
}

template <bool at_start>
Value affix(Interpreter&, const Value& v, const Arguments& a) {
  const Value* prefix = a.find(0, "prefix");
  const auto matches = [&](const Value& each) {
    if (!each.is_string()) fail_rendering("startswith and endswith need strings");
    return at_start ? v.string().starts_with(each.string()) : v.string().ends_with(each.string());
  };
  if (prefix != nullptr && prefix->is_tuple()) return Value(std::ranges::any_of(prefix->items(), matches));
  return Value(matches(prefix != nullptr ? *prefix : Value()));
}

Value replace(Interpreter& in, const Value& v, const Arguments& a) {
  const std::string& s = v.string();
  const std::string &from = text_argument(a, 0, "old"), &to = text_argument(a, 1, "new");
  const std::int64_t limit = integer_argument(a, 2, "count", -1);
  std::string out;
  std::size_t at = 0;
  for (std::int64_t count = 0; limit < 0 || count < limit; ++count) {
    const std::size_t found = s.find(from, at);
    if (found == std::string::npos) break;
    in.take_steps(1);
    if (from.empty()) {  // before each character, and at the end
      out += to;
      if (at >= s.size()) break;
      const std::size_t size = text::character_at(s, at).size;
      out += s.substr(at, size);
      at += size;
      check_text_size(out.size());
      continue;
    }
    out += s.substr(at, found - at);
    out += to;
    at = found + from.size();
    check_text_size(out.size());
  }
  if (at < s.size()) out += s.substr(at);
  in.take_text(out.size());
  return Value(std::move(out));
}

std::string change_case(std::string_view s, bool each_word) {
  std::string out;
  bool is_start = true;
  for (std::size_t at = 0; at < s.size();) {
    const text::Character c = text::character_at(s, at);
    const std::string_view character = s.substr(at, c.size);
    out += is_start ? text::upper_case(character) : text::lower_case(character);
    is_start = each_word && !text::is_cased(c.code);
    at += c.size;
  }
  return out;
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
Value all_characters(const Value& v, Is is) {
  const std::u32string characters = text::to_characters(v.string());
  return Value(!characters.empty() && std::ranges::all_of(characters, is));
}

Value join(Interpreter& in, const Value& v, const Arguments& a) {
  const Value* list = a.find(0, "iterable");
  std::string out;
  bool is_first = true;
  for (const Value& each : in.elements(list != nullptr ? *list : Value())) {
    if (!each.is_string()) fail_rendering("join needs strings");
    if (!is_first) out += v.string();
    is_first = false;
    out += each.string();
    check_text_size(out.size());
  }
  in.take_text(out.size());
  return Value(std::move(out));
}

/// "{} of {}".format(a, b), with names and numbers, without formats.
Value format(Interpreter& in, const Value& v, const Arguments& a) {
  const std::string& s = v.string();
  std::string out;
  std::size_t used = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if ((s[i] == '{' || s[i] == '}') && i + 1 < s.size() && s[i + 1] == s[i]) {
      out += s[i++];
      continue;
    }
    if (s[i] != '{') {
      out += s[i];
      continue;
    }
    const std::size_t end = s.find('}', i);
    if (end == std::string::npos) fail_rendering("a format has no '}'");
    const std::string name = s.substr(i + 1, end - i - 1);
    const bool is_number =
        !name.empty() && name.size() < 6 && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    const Value* found = nullptr;
    if (name.empty() || is_number) {
      const std::size_t position = is_number ? static_cast<std::size_t>(std::stoi(name)) : used++;
      if (position < a.positional.size()) found = &a.positional[position];
    } else {
      found = a.find(1u << 20, name);
    }
    if (found == nullptr) fail_rendering(fmt::format("a format has no argument '{}'", name));
    out += to_text(*found);
    check_text_size(out.size());
    i = end;
  }
  in.take_text(out.size());
  return Value(std::move(out));
}

struct NamedMethod {
  std::string_view name;
  Method method;
};

constexpr NamedMethod kStringMethods[] = {
    {"strip",
     [](Interpreter& in, const Value& v, const Arguments& a) {
       in.take_text(v.string().size());
       return Value(strip_sides(v.string(), a, true, true));
     }},
    {"lstrip",
     [](Interpreter& in, const Value& v, const Arguments& a) {
       in.take_text(v.string().size());
       return Value(strip_sides(v.string(), a, true, false));
     }},
    {"rstrip",
     [](Interpreter& in, const Value& v, const Arguments& a) {
       in.take_text(v.string().size());
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
     [](Interpreter& in, const Value& v, const Arguments&) {
       in.take_text(v.string().size());
       return Value(text::upper_case(v.string()));
     }},
    {"lower",
     [](Interpreter& in, const Value& v, const Arguments&) {
       in.take_text(v.string().size());
       return Value(text::lower_case(v.string()));
     }},
    {"title",
     [](Interpreter& in, const Value& v, const Arguments&) {
       in.take_text(v.string().size());
       return Value(change_case(v.string(), true));
     }},
    {"capitalize",
     [](Interpreter& in, const Value& v, const Arguments&) {
       in.take_text(v.string().size());
       return Value(change_case(v.string(), false));
     }},
    {"find", [](Interpreter& in, const Value& v, const Arguments& a) { return find_text(in, v, a, false, false); }},
    {"rfind", [](Interpreter& in, const Value& v, const Arguments& a) { return find_text(in, v, a, true, false); }},
    {"index", [](Interpreter& in, const Value& v, const Arguments& a) { return find_text(in, v, a, false, true); }},
    {"count",
     [](Interpreter& in, const Value& v, const Arguments& a) {
       const std::string& substring = text_argument(a, 0, "sub");
       if (substring.empty()) return Value(static_cast<std::int64_t>(text::count_characters(v.string()) + 1));
       std::int64_t count = 0;
       for (std::size_t at = v.string().find(substring); at != std::string::npos;
            at = v.string().find(substring, at + substring.size()))
         ++count;
       in.take_steps(1 + v.string().size() / 16);
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
    {"isupper", [](Interpreter& in, const Value& v, const Arguments&) { return Value(in.apply_test("upper", v, {})); }},
    {"islower",
     [](Interpreter& in, const Value& v, const Arguments&) { return Value(in.apply_test("lower", v, {})); }}};

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
           v.items(), [&](const Value& each) { return value != nullptr && equal(each, *value); })));
     }},
    {"copy", [](Interpreter& in, const Value& v, const Arguments&) { return Value::list(in.elements(v)); }},
    {"append", refuse_change},
    {"extend", refuse_change},
    {"insert", refuse_change},
    {"pop", refuse_change},
    {"remove", refuse_change},
    {"reverse", refuse_change},
    {"sort", refuse_change},
    {"clear", refuse_change}};

constexpr NamedMethod kDictMethods[] = {
    {"items", [](Interpreter& in, const Value& v, const Arguments&) { return in.apply_filter("items", v, {}); }},
    {"keys", [](Interpreter& in, const Value& v, const Arguments&) { return Value::list(in.elements(v)); }},
    {"values",
     [](Interpreter& in, const Value& v, const Arguments&) {
       in.take_steps(v.dict().size());
       List out;
       for (const auto& item : v.dict().items()) out.push_back(item.second);
       return Value::list(std::move(out));
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
     [](Interpreter& in, const Value& v, const Arguments&) {
       in.take_steps(v.dict().size());
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
  method = Value::callable(
      {name, [object, call = found->method](Interpreter& in, const Arguments& a) { return call(in, object, a); }});
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
