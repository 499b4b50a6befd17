// The HTTP interface of a text engine and a text embedder: OpenAI's paths, health and metrics.
#pragma once

#include <tern/text_embedder.h>
#include <tern/text_engine.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/http/message.h"
#include "tools/serve/calls.h"
#include "tools/serve/replies.h"

namespace tern::serve {

struct SiteOptions {
  std::string model, embedder;                   ///< names of the models in requests and replies; empty: none
  std::string api_key;                           ///< empty: every client may call
  std::vector<std::string> hosts;                ///< accepted values of the header Host; empty: all
  std::int64_t max_tokens = 0;                   ///< limit of an answer; 0: the context
  std::chrono::milliseconds time_limit{600000};  ///< limit of a call
};

/// Any thread may call answer().
class ModelSite {
 public:
  /// Calls without their model are refused: `engine` and `embedder` may be null, and `chat` empty.
  ModelSite(TextEngine* engine, TextEmbedder* embedder, std::optional<ChatTemplate> chat, SiteOptions options);
  void set_hosts(std::vector<std::string> hosts) { options_.hosts = std::move(hosts); }

  http::Response answer(const http::Request& request);

 private:
  class Running;
  http::Response route(const http::Request& request);
  http::Response complete(const http::Request& request, bool is_chat);
  http::Response embed(const http::Request& request);
  http::Response whole_reply(Running& running) const;
  http::Response stream_reply(std::shared_ptr<Running> running) const;
  std::vector<std::vector<std::int64_t>> prompts_of(const Call& call, bool is_chat) const;
  std::vector<std::string> models() const;
  http::Response models_or_one(const std::string& path) const;
  http::Response health() const;
  std::string metrics() const;
  CallRules rules() const;
  void count_status(int status);

  TextEngine* engine_;
  TextEmbedder* embedder_;
  std::optional<ChatTemplate> chat_;
  SiteOptions options_;
  const std::int64_t started_;
  mutable std::mutex mutex_;  ///< guards statuses_
  std::map<int, std::uint64_t> statuses_;
};

}  // namespace tern::serve
