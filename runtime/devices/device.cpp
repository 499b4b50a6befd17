#include "runtime/devices/device.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "runtime/devices/plugin/open.h"

namespace tern {

Device& Device::open(const std::string& name) {
  if (name.empty() || name == "cpu") return cpu_device();
  return open_plugin_device(name);
}

void Device::refuse(const char* what) const {
  fail(ErrorCode::invalid_argument, fmt::format("{}: {}", name_, what));
}

std::byte* Device::allocate_host(std::uint64_t bytes) {
  return cpu_device().allocate(bytes);
}
void Device::free_host(std::byte* data) {
  cpu_device().free(data);
}
std::shared_ptr<const ArchivedKernels> Device::take_kernels(const Program& program) {
  return nullptr;
}
DeviceMemoryStats Device::memory() const {
  refuse("its memory is the process's, which Tern does not count");
}
void Device::set_memory_limit(std::uint64_t bytes) {
  refuse("its memory is the process's; PrepareOptions::max_memory limits a run's");
}
void Device::release_memory() {
  refuse("its memory is the process's, and freed at once");
}
std::vector<LoadedKernel> Device::loaded_kernels() const {
  refuse("its kernels are part of the library");
}

DeviceMemoryStats device_memory(const std::string& device) {
  return Device::open(device).memory();
}
void set_device_memory_limit(const std::string& device, std::uint64_t bytes) {
  Device::open(device).set_memory_limit(bytes);
}
void release_device_memory(const std::string& device) {
  Device::open(device).release_memory();
}
std::vector<LoadedKernel> loaded_kernels(const std::string& device) {
  return Device::open(device).loaded_kernels();
}

}  // namespace tern
