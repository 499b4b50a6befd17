// A descriptor of cuDNN's graph API.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "devices/gpu/cuda/cudnn_api.h"

namespace tern::gpu::cudnn {

class Descriptor {
 public:
  Descriptor(const CudnnApi& api, Kind kind) : api_(&api) {
    is_valid_ = api.descriptor_create(kind, &handle_) == kSuccess;
  }
  ~Descriptor() {
    if (handle_ != nullptr) api_->descriptor_destroy(handle_);
  }
  Descriptor(Descriptor&& other) noexcept : api_(other.api_), handle_(other.handle_), is_valid_(other.is_valid_) {
    other.handle_ = nullptr;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(handle_, other.handle_);
    std::swap(is_valid_, other.is_valid_);
    return *this;
  }

  template <class T>
  Descriptor& set(Attribute name, Type type, const T& value) {
    return set(name, type, std::span<const T>(&value, 1));
  }
  template <class T>
  Descriptor& set(Attribute name, Type type, std::span<const T> values) {
    is_valid_ = is_valid_ &&
                api_->set(handle_, name, type, static_cast<std::int64_t>(values.size()), values.data()) == kSuccess;
    return *this;
  }
  Descriptor& set(Attribute name, const std::vector<std::int64_t>& values) {
    return set(name, kTypeInt64, std::span<const std::int64_t>(values));
  }
  Descriptor& set(Attribute name, const Descriptor& value) {
    is_valid_ = is_valid_ && value.is_valid_;
    return set(name, kTypeDescriptor, value.handle_);
  }
  Descriptor& finalize() {
    is_valid_ = is_valid_ && api_->finalize(handle_) == kSuccess;
    return *this;
  }
  void fail() { is_valid_ = false; }
  [[nodiscard]] bool is_valid() const { return is_valid_; }
  [[nodiscard]] CudnnDescriptor handle() const { return handle_; }

 private:
  const CudnnApi* api_;
  CudnnDescriptor handle_ = nullptr;
  bool is_valid_ = false;  ///< all calls so far succeeded
};

}  // namespace tern::gpu::cudnn
