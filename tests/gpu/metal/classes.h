// Classes as objects, the receivers of messages such as alloc.
#pragma once

#include <map>
#include <string>

#include "tests/gpu/metal/object.h"

namespace tern::emulator::metal {

// The class object with methods, or null for unknown names. All exist from the first call on.
Object* class_object(const std::string& name);

// Called by each file with class objects.
void add_class_object(const char* name, std::map<std::string, Imp> methods);
void add_foundation_classes();
void add_compiler_classes();
void add_metal4_classes();

}  // namespace tern::emulator::metal
