#include "tests/gpu/ptx/device/recorder.h"

#include <algorithm>

#include "tests/gpu/ptx/device/requests.h"

namespace tern::emulated {

void Recorder::add(std::uint32_t warp, std::uint32_t lane, const Site& site, std::uint64_t address,
                   std::uint32_t bytes) {
  if (warp >= warps_.size()) warps_.resize(warp + 1);
  Warp& of = warps_[warp];
  const std::size_t at = std::size_t{site.line} * 2 + site.shared;
  if (at >= of.size()) of.resize(at + 1);
  std::unique_ptr<Executions>& executions = of[at];
  if (!executions) {
    executions = std::make_unique<Executions>();
    executions->site = site;
    executions->bytes = bytes;
  }
  ++executions->total;
  std::vector<std::uint64_t>& addresses = executions->addresses[lane];
  if (addresses.size() < kMostExecutions) addresses.push_back(address);
}

void Recorder::close() {
  for (Warp& warp : warps_) close(warp);
}

void Recorder::close(Warp& warp) {
  for (std::unique_ptr<Executions>& executions : warp) {
    if (!executions || executions->total == 0) continue;
    sums_[executions->site].add(sums_of(*executions));
    for (std::vector<std::uint64_t>& addresses : executions->addresses) addresses.clear();
    executions->total = 0;
  }
}

RequestSums Recorder::sums_of(const Executions& executions) {
  std::size_t longest = 0, recorded = 0;
  for (const std::vector<std::uint64_t>& addresses : executions.addresses) {
    longest = std::max(longest, addresses.size());
    recorded += addresses.size();
  }
  RequestSums sums;
  std::vector<std::uint64_t> addresses;
  std::vector<std::uint32_t> lanes;
  for (std::size_t k = 0; k < longest; ++k) {
    addresses.clear();
    lanes.clear();
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if (k >= executions.addresses[lane].size()) continue;
      addresses.push_back(executions.addresses[lane][k]);
      lanes.push_back(lane);
    }
    if (executions.site.shared) {
      const SharedRequest request = shared_request(addresses, lanes, executions.bytes);
      sums.add({1, double(request.passes), double(request.minimum)});
    } else {
      const GlobalRequest request = global_request(addresses, executions.bytes);
      sums.add({1, double(request.sectors), double(request.minimum)});
    }
  }
  const double scale = static_cast<double>(executions.total) / static_cast<double>(recorded);
  return {sums.requests * scale, sums.touched * scale, sums.minimum * scale};
}

}  // namespace tern::emulated
