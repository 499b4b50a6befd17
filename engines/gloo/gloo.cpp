// Engine over Gloo: unbound buffers on its TCP transport, one per message.
#include <gloo/config.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <unordered_set>
#include <vector>

#include "engines/message.h"
#include "engines/no_pipe_signal.h"

using namespace tern_engine_impl;
using std::chrono::milliseconds;

struct tern_engine_request_s {
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
  bool sends = false;
};

struct tern_engine_group_s {
  std::shared_ptr<gloo::rendezvous::Context> context;
  std::mutex mutex;  ///< guards the members below
  std::unordered_set<tern_engine_request> requests;
  bool stopped = false;
};

namespace {

class Store : public gloo::rendezvous::Store {
 public:
  explicit Store(const tern_engine_store& store) : store_(store) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    check(store_.set(store_.context, key.c_str(), data.data(), data.size()));
  }
  std::vector<char> get(const std::string& key) override {
    std::vector<char> value;
    const auto take = [](void* to, const void* from, std::uint64_t bytes) {
      const auto* begin = static_cast<const char*>(from);
      static_cast<std::vector<char>*>(to)->assign(begin, begin + bytes);
    };
    check(store_.get(store_.context, key.c_str(), take, &value));
    return value;
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const milliseconds&) override { wait(keys); }

 private:
  static void check(tern_engine_status status) {
    if (status != TERN_ENGINE_OK) throw std::runtime_error("the ranks did not exchange their addresses");
  }
  const tern_engine_store& store_;
};

/// Address of this host in the network of rank 0: the source address of packets to rank 0.
std::string own_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found) != 0 || found == nullptr)
    throw std::runtime_error("cannot resolve the address '" + address + "'");
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  const int s = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  char text[NI_MAXHOST] = {};
  const bool known =
      s >= 0 && connect(s, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(s, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
      getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
  if (s >= 0) close(s);
  if (!known) throw std::runtime_error("this host has no route to '" + address + "'");
  return text;
}

tern_engine_status connect_all(const tern_engine_place* place, tern_engine_group* group) {
  return guarded([&] {
    const NoPipeSignal quiet;  // covers Gloo's threads, too
    gloo::transport::tcp::attr attributes;
    attributes.hostname = own_address(place->address);
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attributes);
    auto made = std::make_unique<tern_engine_group_s>();
    made->context = std::make_shared<gloo::rendezvous::Context>(place->rank, place->ranks);
    // Gloo waits five times its timeout for a peer to connect. Messages have their own timeouts.
    constexpr std::int64_t kFactor = 5;
    made->context->setTimeout(milliseconds(std::max<std::int64_t>(place->timeout_ms / kFactor, 1)));
    Store store(*place->store);
    made->context->connectFullMesh(store, device);
    made->context->setTimeout(milliseconds(place->timeout_ms));
    *group = made.release();
    return TERN_ENGINE_OK;
  });
}

template <class Start>
tern_engine_status begin(tern_engine_group group, void* data, std::uint64_t bytes, bool sends,
                         tern_engine_request* request, Start start) {
  return guarded([&] {
    auto made = std::make_unique<tern_engine_request_s>();
    made->buffer = group->context->createUnboundBuffer(data, bytes);
    made->sends = sends;
    {
      const std::lock_guard lock(group->mutex);
      if (group->stopped) throw std::runtime_error("the group has been stopped");
      group->requests.insert(made.get());
    }
    *request = made.release();
    const NoPipeSignal quiet;  // Gloo may write immediately
    start(*(*request)->buffer);
    return TERN_ENGINE_OK;
  });
}

tern_engine_status send(tern_engine_group group, std::int32_t peer, std::uint64_t tag, const void* data,
                        std::uint64_t bytes, tern_engine_request* request) {
  return begin(group, const_cast<void*>(data), bytes, true, request, [&](auto& b) { b.send(peer, tag, 0, bytes); });
}
tern_engine_status receive(tern_engine_group group, std::int32_t peer, std::uint64_t tag, void* data,
                           std::uint64_t bytes, tern_engine_request* request) {
  return begin(group, data, bytes, false, request, [&](auto& b) { b.recv(peer, tag, 0, bytes); });
}

tern_engine_status wait(tern_engine_group group, tern_engine_request request, std::int64_t timeout_ms) {
  return guarded([&] {
    {
      const std::lock_guard lock(group->mutex);
      if (group->stopped) throw std::runtime_error("the group has been stopped");
    }
    const auto end = std::chrono::steady_clock::now() + milliseconds(timeout_ms);
    bool done = false;
    try {
      done = request->sends ? request->buffer->waitSend(milliseconds(timeout_ms))
                            : request->buffer->waitRecv(milliseconds(timeout_ms));
    } catch (const std::exception&) {
      if (std::chrono::steady_clock::now() >= end) return TERN_ENGINE_TIMEOUT;
      throw;
    }
    if (!done) throw std::runtime_error("the group has been stopped");
    const std::unique_ptr<tern_engine_request_s> owner(request);
    const std::lock_guard lock(group->mutex);
    group->requests.erase(request);
    return TERN_ENGINE_OK;
  });
}

void interrupt(tern_engine_group group) {
  guarded([&] {
    const std::lock_guard lock(group->mutex);
    group->stopped = true;
    for (tern_engine_request r : group->requests) r->sends ? r->buffer->abortWaitSend() : r->buffer->abortWaitRecv();
    return TERN_ENGINE_OK;
  });
}

void close_group(tern_engine_group group) {
  guarded([&] {
    interrupt(group);
    group->context->closeConnections();
    const std::lock_guard lock(group->mutex);
    for (tern_engine_request r : group->requests) delete r;
    group->requests.clear();
    return TERN_ENGINE_OK;
  });
}

constexpr tern_engine kEngine = {
    TERN_ENGINE_ABI,
    sizeof(tern_engine),
    "gloo",
    TERN_TEXT(GLOO_VERSION_MAJOR) "." TERN_TEXT(GLOO_VERSION_MINOR) "." TERN_TEXT(GLOO_VERSION_PATCH),
    last_message,
    connect_all,
    send,
    receive,
    wait,
    interrupt,
    close_group,
    destroy_group<tern_engine_group_s>};

}  // namespace

const tern_engine* tern_engine_library(void) {
  return &kEngine;
}
