#include "tests/gpu/metal/classes.h"

#include <memory>

namespace tern::emulator::metal {
namespace {

std::map<std::string, std::unique_ptr<Object>>& class_objects() {
  static auto& all = *std::make_unique<std::map<std::string, std::unique_ptr<Object>>>().release();
  return all;
}

}  // namespace

void add_class_object(const char* name, std::map<std::string, Imp> methods) {
  class_objects()[name] =
      std::make_unique<Object>(make_class((std::string("class ") + name).c_str(), nullptr, std::move(methods)));
}

Object* class_object(const std::string& name) {
  static const bool added = [] {
    add_foundation_classes();
    add_compiler_classes();
    add_metal4_classes();
    return true;
  }();
  static_cast<void>(added);
  const auto at = class_objects().find(name);
  return at == class_objects().end() ? nullptr : at->second.get();
}

}  // namespace tern::emulator::metal
