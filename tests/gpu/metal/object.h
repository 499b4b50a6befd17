// Objects of the stand-in for the Objective-C runtime: a class with methods, and a reference count.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/gpu/machine/machine.h"

namespace tern::emulator::metal {

struct Object;
using Selector = const char*;  // interned: equal selectors are equal pointers
using Imp = void (*)();

struct Class {
  std::string name;
  void (*destroy)(Object*);  // null: objects live as long as the process
  std::map<std::string, Imp> methods;
  std::uint64_t alive = 0;
};

struct Object {
  explicit Object(Class& type);
  Class* isa;  // first: metal-cpp reads the member
  std::int64_t references = 1;
};

// Follows Apple's "Advanced Memory Management Programming Guide": the caller of alloc, new..., copy or retain releases
// the object once; other results belong to the innermost pool.
void retain(Object* object);  // null: nothing
void release(Object* object);
// Returns the object.
Object* autorelease(Object* object);

// A strong reference.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { retain(object_); }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { release(object_); }
  T* operator->() const { return object_; }
  T* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

// The name of the method running on this thread, for messages.
const char* current_method();

class MethodCall {
 public:
  explicit MethodCall(Selector selector);
  ~MethodCall();
  MethodCall(const MethodCall&) = delete;
  MethodCall& operator=(const MethodCall&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  const char* previous_;
};

template <class T>
void destroy(Object* object) {
  static_cast<T*>(object)->~T();
}

// method<&Buffer::contents>() is the function called by a message.
template <auto function>
struct Method;
template <class T, class R, class... A, R (T::*function)(A...)>
struct Method<function> {
  static R call(T* self, Selector selector, A... arguments) {
    const MethodCall running(selector);
    try {
      return (self->*function)(arguments...);
    } catch (const Failure& failure) {
      fatal("%s %s: %s", self->isa->name.c_str(), selector, failure.why.c_str());
    }
  }
};
template <auto function>
Imp method() {
  return reinterpret_cast<Imp>(&Method<function>::call);
}

// The class of a name, with the table's methods, retain, release and autorelease. Lives as long as the process.
Class& make_class(const char* name, void (*destroy)(Object*), std::map<std::string, Imp> methods);

// True if a test requested a failure of this call (TERN_EMULATOR_FAIL=newCommandQueue:2).
bool fails(const char* selector);

// Number of live objects of every class.
std::map<std::string, std::uint64_t> alive();

}  // namespace tern::emulator::metal
