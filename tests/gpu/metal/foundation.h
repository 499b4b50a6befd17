// The classes of Foundation used by the plugin.
#pragma once

#include <string>
#include <vector>

#include "tests/gpu/metal/object.h"

namespace tern::emulator::metal {

struct String : Object {
  explicit String(std::string value);
  const char* utf8() { return text.c_str(); }  // valid as long as the string
  std::string text;
};
// Autoreleased.
String* string(std::string text);

struct Error : Object {
  explicit Error(std::string description);
  Object* localized_description() { return string(text); }
  std::string text;
};
// Stores an autoreleased error in `place`, unless null.
void give_error(Object** place, std::string description);

struct Array : Object {
  Array();
  std::uint64_t count() { return objects.size(); }
  Object* at(std::uint64_t index);
  std::vector<Ref<Object>> objects;
};

}  // namespace tern::emulator::metal
