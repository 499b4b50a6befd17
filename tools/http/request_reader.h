// Finds the end of an HTTP request in the bytes of a connection, within limits. cpp-httplib reads the complete head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tern::http {

struct RequestLimits {
  std::size_t head_bytes = 16 << 10;  ///< request line and headers
  std::size_t body_bytes = 0;
};

class RequestReader {
 public:
  enum class State : std::uint8_t { reading, complete, refused };
  explicit RequestReader(const RequestLimits& limits) : limits_(limits) {}

  /// Takes the next bytes. Drops bytes behind the end of the request.
  State add(std::string_view bytes);
  /// True once if the client waits for "100 Continue" before its body.
  bool take_continue();
  /// Status line of a refused request: "413 Content Too Large".
  std::string_view refusal() const { return refusal_; }
  const std::string& head() const { return head_; }  ///< includes the empty line at its end
  const std::string& body() const { return body_; }

 private:
  State read_head();
  State refuse(std::string_view status);

  RequestLimits limits_;
  State state_ = State::reading;
  bool head_is_complete_ = false, waits_ = false;
  std::size_t body_size_ = 0;
  std::string head_, body_;
  std::string_view refusal_;
};

}  // namespace tern::http
