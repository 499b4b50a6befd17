// metal-cpp (Apple's C++ bindings of Metal) plus the plugin's helpers: pools, strings, system versions.
#pragma once

#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <string>
#include <utility>

namespace tern::metal {

/// A reference to a Metal object. (NS::SharedPtr calls functions on null.)
template <class T>
class Owned {
 public:
  Owned() = default;
  Owned(std::nullptr_t) {}
  Owned(const Owned& other) : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr) object_->release();
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  template <class U>
  friend Owned<U> adopt(U* object);
  T* object_ = nullptr;
};

/// Takes ownership of results of functions with `new`, `alloc` or `Copy` in their name.
template <class T>
Owned<T> adopt(T* object) {
  Owned<T> made;
  made.object_ = object;
  return made;
}
/// Retains results of other functions.
template <class T>
Owned<T> share(T* object) {
  if (object != nullptr) object->retain();
  return adopt(object);
}

/// Objects returned by functions without `new` in their name live until the thread's innermost pool ends. Each plugin
/// function calling Metal has a pool; objects outliving the function are retained (`share`).
class Pool {
 public:
  Pool() : pool_(NS::AutoreleasePool::alloc()->init()) {}
  ~Pool() { pool_->release(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  NS::AutoreleasePool* pool_;
};

/// Copies the string: the pool owns the bytes of utf8String. Empty for null.
inline std::string text(const NS::String* string) {
  const char* bytes = string == nullptr ? nullptr : string->utf8String();
  return bytes == nullptr ? "" : bytes;
}
inline std::string text(const NS::Error* error) {
  return error == nullptr ? "Metal reports no reason" : text(error->localizedDescription());
}
/// The result lives until the pool ends.
inline NS::String* string(const char* utf8) {
  return NS::String::string(utf8, NS::UTF8StringEncoding);
}

/// True if the system is this version of macOS or later.
inline bool system_is(NS::Integer major) {
  return NS::ProcessInfo::processInfo()->isOperatingSystemAtLeastVersion({major, 0, 0});
}

}  // namespace tern::metal
