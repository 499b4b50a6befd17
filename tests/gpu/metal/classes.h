// Classes as objects: what messages such as alloc go to.
#pragma once

#include <map>
#include <string>

#include "tests/gpu/metal/object.h"

namespace tern::emulator::metal {

// The object of a class that answers messages, null for other names. All are there from the first call on.
Object* class_object(const std::string& name);

// By each file with such classes.
void add_class_object(const char* name, std::map<std::string, Imp> methods);
void add_foundation_classes();
void add_compiler_classes();
void add_metal4_classes();

}  // namespace tern::emulator::metal
