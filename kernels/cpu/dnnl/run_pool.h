// Mutable state of a primitive's run: memory objects with addresses set before each run. Concurrent runs take a set
// each.
#pragma once

#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

namespace tern::dnnl_cpu {

template <class Run>
class RunPool {
 public:
  /// Returns the set to the pool on destruction.
  class PooledRun {
   public:
    PooledRun(RunPool& pool, std::unique_ptr<Run> run) : pool_(pool), run_(std::move(run)) {}
    ~PooledRun() {
      const std::lock_guard lock(pool_.mutex_);
      pool_.free_.push_back(std::move(run_));
    }
    PooledRun(const PooledRun&) = delete;
    PooledRun& operator=(const PooledRun&) = delete;
    Run& operator*() const { return *run_; }

   private:
    RunPool& pool_;
    std::unique_ptr<Run> run_;
  };

  /// Takes a free set, or a new set from `make`.
  template <class Make>
  PooledRun acquire(const Make& make) {
    std::unique_ptr<Run> run;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        run = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (run == nullptr) run = std::make_unique<Run>(make());
    return {*this, std::move(run)};
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Run>> free_;
};

using Arguments = std::unordered_map<int, dnnl::memory>;

}  // namespace tern::dnnl_cpu
