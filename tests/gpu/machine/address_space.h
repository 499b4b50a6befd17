// Addresses of the emulated device, and of pinned memory: no address is used twice, and every address has a history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace tern::emulator {

// Byte of fresh memory: NaN in every float type, -1 in integers.
constexpr int kFresh = 0xFF;

class AddressSpace {
 public:
  struct Region {
    uint64_t begin = 0, end = 0;
    bool accessible = false;
    std::string state;  // for messages: "allocated by cuMemAlloc_v2 (number 12)", "freed by cuMemFree_v2"
  };

  explicit AddressSpace(const char* what) : description_(what) {}

  // An inaccessible range of addresses, followed by a permanently inaccessible page.
  uint64_t reserve(uint64_t bytes, uint64_t alignment, const std::string& state);
  // Readable and writable memory filled with kFresh; ends as close to an inaccessible page as 256-byte alignment
  // allows, so that kernels fault past the end.
  uint64_t allocate(uint64_t bytes, const std::string& state);
  // Makes the range permanently inaccessible. Returns its bytes; 0 if no live region begins at `begin`.
  uint64_t release(uint64_t begin, const std::string& state);

  // Ranges of reserve(): maps and unmaps the memory of a file.
  void map(uint64_t begin, uint64_t bytes, int file, const std::string& state);
  void set_access(uint64_t begin, uint64_t bytes, bool read, bool write, const std::string& state);
  void unmap(uint64_t begin, uint64_t bytes, const std::string& state);

  bool contains(uint64_t address) const { return address >= base_ && address < base_ + size_; }
  // Empty if the whole range is accessible, else a description of the first inaccessible address.
  std::string wrong(uint64_t begin, uint64_t bytes) const;
  // The history of an address. Takes no lock, for the handler of faults.
  std::string history(uint64_t address) const;

  // Makes accessible regions inaccessible to all threads, and accessible again.
  void close();
  void open();

 private:
  void begin_use();
  void record(uint64_t begin, uint64_t end, bool accessible, const std::string& state);

  const char* description_;
  uint64_t base_ = 0, size_ = 0, next_ = 0, serial_ = 0;
  std::map<uint64_t, Region> regions_;  // keyed by begin; disjoint
};

}  // namespace tern::emulator
