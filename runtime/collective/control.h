// Ranks in processes know of each other through rank 0: a TCP connection each, on which they tell what a call waits
// for, that they fail or leave, and, while an engine connects, where they are to be found. A connection that breaks is
// a rank that has ended. Elements never go this way.
#pragma once

#include <tern/collective.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/collective/socket.h"
#include "runtime/collective/watch.h"

namespace tern {

class Control : public Watch {
 public:
  /// Returns when all ranks are connected; fails with what is missing or twice.
  /// `listener`: on rank 0, what listens at the address already; not open: it listens there itself.
  /// `lost`: why to wait no longer; empty while all is well. Called by any thread until this function returns.
  using Lost = std::function<std::string()>;
  static std::unique_ptr<Control> connect(const GroupOptions& options, Socket listener = {}, Lost lost = {});
  /// This host's, in the network of rank 0: "HOST" or "[HOST]".
  virtual std::string own_host() const = 0;
  /// Called once, by any thread, when the group has failed.
  virtual void on_failure(std::function<void()> act) = 0;
  virtual void put(const std::string& key, std::span<const std::byte> value) = 0;
  /// Waits for the key.
  virtual std::vector<std::byte> get(const std::string& key) = 0;
};

}  // namespace tern
