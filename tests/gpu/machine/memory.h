// Memory of the emulated machine: device memory, pinned memory, memory objects and their mappings.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tests/gpu/machine/address_space.h"
#include "tests/gpu/machine/context.h"
#include "tests/gpu/machine/counters.h"
#include "tests/gpu/machine/handles.h"

namespace tern::emulator {

// Memory without addresses (cuMemCreate).
struct Physical {
  uint64_t handle = 0, bytes = 0;
  int device = 0, file = -1;
  bool released = false;
  uint64_t mappings = 0;

  Physical() = default;
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical();
};

class Memory {
 public:
  static constexpr uint64_t kGranularity = 2 << 20;

  explicit Memory(Counters* counters) : counters_(counters) {}

  uint64_t allocate(const std::shared_ptr<Context>& context, uint64_t bytes, const char* by);
  void free(uint64_t address, const char* by);
  uint64_t allocate_pinned(const std::shared_ptr<Context>& context, uint64_t bytes, const char* by);
  void free_pinned(uint64_t address, const char* by);
  // Frees all memory of a context. Returns the number of allocations.
  uint64_t free_all(const Context& context);

  uint64_t reserve(uint64_t bytes, uint64_t alignment, const char* by);
  void unreserve(uint64_t address, uint64_t bytes, const char* by);
  uint64_t create(uint64_t bytes, int device);
  void release(uint64_t physical);
  void map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t physical, const char* by);
  void unmap(uint64_t address, uint64_t bytes, const char* by);
  void set_access(uint64_t address, uint64_t bytes, int device, bool read, bool write, const char* by);

  uint64_t total(int device) const;
  uint64_t free_bytes(int device) const;

  // Refuses a range unless all of it is accessible device memory.
  void check_device(uint64_t address, uint64_t bytes, const char* what) const;
  // The device that owns an address; -1: none.
  int device_of(uint64_t address) const;
  bool is_device(uint64_t address) const { return device_.contains(address); }
  bool is_pinned(uint64_t address, uint64_t bytes) const;
  // The history of an address of the device or of pinned memory, empty for others.
  std::string history(uint64_t address) const;
  std::string wrong(uint64_t address, uint64_t bytes) const;

  void open() { device_.open(); }
  void close() { device_.close(); }

 private:
  struct Allocation {
    uint64_t bytes;
    std::shared_ptr<Context> context;
  };
  struct Mapping {
    uint64_t bytes;
    std::shared_ptr<Physical> physical;
  };

  void reserve(int device, uint64_t bytes);
  void release(int device, uint64_t bytes);
  void drop(const std::shared_ptr<Physical>& physical);
  // Mappings that tile the range exactly, or a refusal.
  std::pair<std::map<uint64_t, Mapping>::iterator, std::map<uint64_t, Mapping>::iterator> tiles(uint64_t address,
                                                                                                uint64_t bytes);

  Counters* counters_;
  AddressSpace device_{"device memory"}, pinned_{"pinned memory"};
  std::map<uint64_t, Allocation> allocations_, pinned_allocations_;
  std::map<uint64_t, uint64_t> reservations_;  // bytes by address
  std::map<uint64_t, Mapping> mappings_;
  Handles<Physical, Kind::physical> physicals_;
  std::map<int, uint64_t> used_;
};

}  // namespace tern::emulator
