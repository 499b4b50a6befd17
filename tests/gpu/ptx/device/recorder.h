// Combines the accesses of a warp's lanes into requests.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tests/gpu/ptx/device/device.h"

namespace tern::emulated {

constexpr std::uint32_t kLanes = 32;

// Sums over requests.
struct RequestSums {
  double requests = 0, touched = 0, minimum = 0;  // touched: sectors, or passes over the banks
  void add(const RequestSums& other) { requests += other.requests, touched += other.touched, minimum += other.minimum; }
};

struct Site {  // an instruction and its memory space
  std::uint32_t line = 0;
  tern_access_kind kind = TERN_LOAD;
  bool shared = false;
  bool operator<(const Site& other) const { return line != other.line ? line < other.line : shared < other.shared; }
};

class Recorder {
 public:
  void add(std::uint32_t warp, std::uint32_t lane, const Site& site, std::uint64_t address, std::uint32_t bytes);
  // Turns all recorded accesses of the warps into requests. A warp that runs again starts new requests.
  void close();
  const std::map<Site, RequestSums>& sums() const { return sums_; }

 private:
  // Executions of an instruction by a warp. Long loops repeat: beyond this limit per lane, executions are only counted
  // and assumed equal to the earlier executions.
  static constexpr std::size_t kMostExecutions = 1024;
  struct Executions {
    Site site;
    std::uint32_t bytes = 0;
    std::array<std::vector<std::uint64_t>, kLanes> addresses;
    std::uint64_t total = 0;  // sum over all lanes
  };
  using Warp = std::vector<std::unique_ptr<Executions>>;  // keyed by line and space

  void close(Warp& warp);
  static RequestSums sums_of(const Executions& executions);

  std::vector<Warp> warps_;
  std::map<Site, RequestSums> sums_;
};

}  // namespace tern::emulated
