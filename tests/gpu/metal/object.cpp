#include "tests/gpu/metal/object.h"

#include <deque>
#include <memory>

namespace tern::emulator::metal {
namespace {

std::map<std::string, std::unique_ptr<Class>>& classes() {
  static auto& all = *std::make_unique<std::map<std::string, std::unique_ptr<Class>>>().release();
  return all;
}

thread_local const char* method_now = "";

// Number of freed objects retained to detect messages to dead objects.
constexpr std::size_t kZombies = 65536;

void bury(Object* object) {
  static auto& zombies = *std::make_unique<std::deque<Object*>>().release();
  static auto& graves = *std::make_unique<std::map<std::string, std::unique_ptr<Class>>>().release();
  std::unique_ptr<Class>& grave = graves[object->isa->name];
  if (!grave) grave = std::make_unique<Class>(Class{"freed " + object->isa->name, nullptr, {}});
  object->isa = grave.get();
  zombies.push_back(object);
  if (zombies.size() <= kZombies) return;
  ::operator delete(zombies.front());
  zombies.pop_front();
}

struct Messages {
  static Object* retain_message(Object* self, Selector) {
    const MethodCall call("retain");
    retain(self);
    return self;
  }
  static void release_message(Object* self, Selector) {
    const MethodCall call("release");
    release(self);
  }
  static bool responds(Object* self, Selector, Selector asked) { return self->isa->methods.count(asked) != 0; }
  // Called for an unknown selector: asks for another responder.
  static Object* signature(Object*, Selector, Selector) { return nullptr; }
  static Object* autorelease_message(Object* self, Selector) {
    const MethodCall call("autorelease");
    return autorelease(self);
  }
};

}  // namespace

const char* current_method() {
  return method_now;
}

MethodCall::MethodCall(Selector selector)
    : lock_(Machine::get().lock), previous_(std::exchange(method_now, selector)) {}
MethodCall::~MethodCall() {
  method_now = previous_;
}

Class& make_class(const char* name, void (*destroy)(Object*), std::map<std::string, Imp> methods) {
  const std::lock_guard lock(Machine::get().lock);
  std::unique_ptr<Class>& made = classes()[name];
  made = std::make_unique<Class>(Class{name, destroy, std::move(methods)});
  made->methods.emplace("respondsToSelector:", reinterpret_cast<Imp>(&Messages::responds));
  made->methods.emplace("methodSignatureForSelector:", reinterpret_cast<Imp>(&Messages::signature));
  made->methods.emplace("retain", reinterpret_cast<Imp>(&Messages::retain_message));
  made->methods.emplace("release", reinterpret_cast<Imp>(&Messages::release_message));
  made->methods.emplace("autorelease", reinterpret_cast<Imp>(&Messages::autorelease_message));
  return *made;
}

Object::Object(Class& type) : isa(&type) {
  const std::lock_guard lock(Machine::get().lock);
  ++type.alive;
}

void retain(Object* object) {
  if (object == nullptr || object->isa->destroy == nullptr) return;
  const std::lock_guard lock(Machine::get().lock);
  ++object->references;
}

void release(Object* object) {
  if (object == nullptr || object->isa->destroy == nullptr) return;
  const std::lock_guard lock(Machine::get().lock);
  if (--object->references > 0) return;
  --object->isa->alive;
  object->isa->destroy(object);
  bury(object);
}

bool fails(const char* selector) {
  const std::lock_guard lock(Machine::get().lock);
  return Machine::get().counters.call(selector);
}

std::map<std::string, std::uint64_t> alive() {
  const std::lock_guard lock(Machine::get().lock);
  std::map<std::string, std::uint64_t> result;
  for (const auto& [name, type] : classes())
    if (type->alive != 0 && type->destroy != nullptr) result[name] = type->alive;
  return result;
}

}  // namespace tern::emulator::metal

namespace tern::emulator {

const char* current_call() {
  return metal::current_method();
}

}  // namespace tern::emulator
