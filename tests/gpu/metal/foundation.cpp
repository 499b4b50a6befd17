#include "tests/gpu/metal/foundation.h"

#include <algorithm>
#include <memory>

#include "tests/gpu/metal/classes.h"
#include "tests/gpu/metal/system.h"

namespace tern::emulator::metal {
namespace {

// The pools of a thread, the innermost last.
thread_local std::vector<std::vector<Object*>> pools;

struct AutoreleasePool : Object {
  AutoreleasePool();
  ~AutoreleasePool() {
    if (pools.size() != depth_) fatal("an autorelease pool ends before one that began later on its thread");
    const std::vector<Object*> objects = std::move(pools.back());
    pools.pop_back();
    for (Object* object : objects) release(object);
  }
  Object* init() {
    pools.emplace_back();
    depth_ = pools.size();
    return this;
  }

 private:
  std::size_t depth_ = 0;
};

Class& pool_class() {
  static Class& type =
      make_class("NSAutoreleasePool", destroy<AutoreleasePool>, {{"init", method<&AutoreleasePool::init>()}});
  return type;
}
AutoreleasePool::AutoreleasePool() : Object(pool_class()) {}

Class& string_class() {
  static Class& type = make_class("NSString", destroy<String>, {{"UTF8String", method<&String::utf8>()}});
  return type;
}
Class& error_class() {
  static Class& type =
      make_class("NSError", destroy<Error>, {{"localizedDescription", method<&Error::localized_description>()}});
  return type;
}
Class& array_class() {
  static Class& type = make_class("NSArray", destroy<Array>,
                                  {{"count", method<&Array::count>()}, {"objectAtIndex:", method<&Array::at>()}});
  return type;
}

// A struct of three numbers, as NS::OperatingSystemVersion.
struct SystemVersion {
  std::int64_t major, minor, patch;
};

struct ProcessInfo : Object {
  ProcessInfo();
  Object* version_string() { return string("Version " + std::to_string(system_version()) + ".0 (emulated)"); }
  bool is_at_least(SystemVersion version) { return system_version() >= version.major; }
};
Class& process_info_class() {
  static Class& type = make_class("NSProcessInfo", nullptr,
                                  {{"operatingSystemVersionString", method<&ProcessInfo::version_string>()},
                                   {"isOperatingSystemAtLeastVersion:", method<&ProcessInfo::is_at_least>()}});
  return type;
}
ProcessInfo::ProcessInfo() : Object(process_info_class()) {}

Object* process_info(Object*, Selector) {
  static ProcessInfo& info = *std::make_unique<ProcessInfo>().release();
  return &info;
}

Object* string_of_c(Object*, Selector, const char* text, std::uint64_t encoding) {
  const MethodCall call("stringWithCString:encoding:");
  constexpr std::uint64_t kUtf8 = 4;  // NSUTF8StringEncoding
  if (encoding != kUtf8) fatal("a string in encoding %d; the stand-in reads UTF-8", static_cast<int>(encoding));
  return string(text);
}

Object* allocate_pool(Object*, Selector) {
  const MethodCall call("alloc");
  return std::make_unique<AutoreleasePool>().release();
}

}  // namespace

Object* autorelease(Object* object) {
  // NSAutoreleasePool: without a pool the object leaks, with a system message.
  if (pools.empty())
    fatal("%s autoreleases a %s on a thread without a pool", current_method(), object->isa->name.c_str());
  pools.back().push_back(object);
  return object;
}

String::String(std::string value) : Object(string_class()), text(std::move(value)) {}

String* string(std::string text) {
  auto* made = std::make_unique<String>(std::move(text)).release();
  autorelease(made);
  return made;
}

Error::Error(std::string description) : Object(error_class()), text(std::move(description)) {}

void give_error(Object** place, std::string description) {
  Object* made = autorelease(std::make_unique<Error>(std::move(description)).release());
  if (place != nullptr) *place = made;
}

Array::Array() : Object(array_class()) {}

Object* Array::at(std::uint64_t index) {
  if (index >= objects.size()) fatal("object %d of an array of %zu", static_cast<int>(index), objects.size());
  return objects[index].get();
}

void add_foundation_classes() {
  add_class_object("NSAutoreleasePool", {{"alloc", reinterpret_cast<Imp>(&allocate_pool)}});
  add_class_object("NSString", {{"stringWithCString:encoding:", reinterpret_cast<Imp>(&string_of_c)}});
  add_class_object("NSProcessInfo", {{"processInfo", reinterpret_cast<Imp>(&process_info)}});
}

}  // namespace tern::emulator::metal
