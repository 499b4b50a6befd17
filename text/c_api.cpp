// The C interface of tokenizers and chat templates (tern/text_c.h).
#include <tern/error.h>
#include <tern/text.h>
#include <tern/text_c.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/c_api/handles.h"

struct tern_tokenizer {
  tern::Tokenizer tokenizer;
};
struct tern_text_stream {
  tern::TextStream stream;
  std::string text;  // result of the last call
};
struct tern_chat_template {
  tern::ChatTemplate chat;
};

namespace tern::text {
namespace {

std::string& last_text_error() {
  thread_local std::string message;
  return message;
}

tern_status keep_text_error(tern_status status, const char* message) noexcept {
  try {
    last_text_error() = message;
  } catch (const std::bad_alloc&) {
    last_text_error().clear();
  }
  return status;
}

template <class F>
tern_status guarded_text(const F& f) noexcept {
  try {
    f();
    return TERN_OK;
  } catch (const Error& e) {
    return keep_text_error(static_cast<tern_status>(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    return keep_text_error(TERN_ERROR_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return keep_text_error(TERN_ERROR_INTERNAL, e.what());
  } catch (...) {
    return keep_text_error(TERN_ERROR_INTERNAL, "unknown exception");
  }
}

void need_text(const void* pointer, const char* name) {
  if (pointer == nullptr) fail(ErrorCode::invalid_argument, std::string(name) + " must not be NULL");
}

/// Writes elements if they fit, and their number in any case.
template <class T, class List>
void write_out(const List& list, T* out, std::size_t capacity, std::size_t* count) {
  need_text(count, "the size");
  if (capacity > 0) need_text(out, "the buffer");
  *count = list.size();
  if (list.size() <= capacity) std::ranges::copy(list, out);
}

std::string_view view_of(const char* text, std::size_t size, const char* name) {
  if (size > 0) need_text(text, name);
  return {text, size};
}

std::string text_or_empty(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace
}  // namespace tern::text

using namespace tern;        // NOLINT: the functions below are C's
using namespace tern::text;  // NOLINT

extern "C" {

const char* tern_text_last_error(void) {
  return last_text_error().c_str();
}

tern_status tern_tokenizer_open(const char* path, tern_tokenizer** tokenizer) {
  return guarded_text([&] {
    need_text(path, "path");
    need_text(tokenizer, "tokenizer");
    *tokenizer = new tern_tokenizer{Tokenizer::open(path)};
  });
}

tern_status tern_tokenizer_from_model(const tern_model* model, tern_tokenizer** tokenizer) {
  return guarded_text([&] {
    need_text(model, "model");
    need_text(tokenizer, "tokenizer");
    *tokenizer = new tern_tokenizer{Tokenizer::from_model(model->model)};
  });
}

void tern_tokenizer_free(tern_tokenizer* tokenizer) {
  delete tokenizer;
}

tern_status tern_tokenizer_encode(const tern_tokenizer* tokenizer, const char* text, size_t size, int32_t flags,
                                  int64_t* ids, size_t capacity, size_t* count) {
  return guarded_text([&] {
    need_text(tokenizer, "tokenizer");
    const EncodeOptions options{(flags & TERN_ENCODE_ADD_SPECIAL) != 0, (flags & TERN_ENCODE_PARSE_SPECIAL) != 0};
    write_out(tokenizer->tokenizer.encode(view_of(text, size, "text"), options), ids, capacity, count);
  });
}

tern_status tern_tokenizer_decode(const tern_tokenizer* tokenizer, const int64_t* ids, size_t count,
                                  int32_t skip_special, char* text, size_t capacity, size_t* size) {
  return guarded_text([&] {
    need_text(tokenizer, "tokenizer");
    if (count > 0) need_text(ids, "ids");
    write_out(tokenizer->tokenizer.decode({ids, count}, skip_special != 0), text, capacity, size);
  });
}

int64_t tern_tokenizer_vocabulary_size(const tern_tokenizer* tokenizer) {
  return tokenizer == nullptr ? 0 : tokenizer->tokenizer.vocabulary_size();
}

int64_t tern_tokenizer_id(const tern_tokenizer* tokenizer, const char* token, size_t size) {
  if (tokenizer == nullptr || token == nullptr) return -1;
  return tokenizer->tokenizer.id_of({token, size}).value_or(-1);
}

int64_t tern_tokenizer_bos(const tern_tokenizer* tokenizer) {
  return tokenizer == nullptr ? -1 : tokenizer->tokenizer.bos().value_or(-1);
}

int64_t tern_tokenizer_eos(const tern_tokenizer* tokenizer) {
  return tokenizer == nullptr ? -1 : tokenizer->tokenizer.eos().value_or(-1);
}

tern_status tern_text_stream_create(const tern_tokenizer* tokenizer, const int64_t* context, size_t count,
                                    int32_t skip_special, tern_text_stream** stream) {
  return guarded_text([&] {
    need_text(tokenizer, "tokenizer");
    need_text(stream, "stream");
    if (count > 0) need_text(context, "context");
    *stream = new tern_text_stream{TextStream(tokenizer->tokenizer, {context, count}, skip_special != 0), {}};
  });
}

tern_status tern_text_stream_add(tern_text_stream* stream, int64_t token, const char** text, size_t* size) {
  return guarded_text([&] {
    need_text(stream, "stream");
    need_text(text, "text");
    need_text(size, "size");
    stream->text = stream->stream.add(token);
    *text = stream->text.data();
    *size = stream->text.size();
  });
}

tern_status tern_text_stream_finish(tern_text_stream* stream, const char** text, size_t* size) {
  return guarded_text([&] {
    need_text(stream, "stream");
    need_text(text, "text");
    need_text(size, "size");
    stream->text = stream->stream.finish();
    *text = stream->text.data();
    *size = stream->text.size();
  });
}

void tern_text_stream_free(tern_text_stream* stream) {
  delete stream;
}

tern_status tern_chat_template_open(const char* path, const char* name, tern_chat_template** chat) {
  return guarded_text([&] {
    need_text(path, "path");
    need_text(chat, "chat");
    *chat = new tern_chat_template{ChatTemplate::open(path, text_or_empty(name))};
  });
}

tern_status tern_chat_template_from_model(const tern_model* model, const char* name, tern_chat_template** chat) {
  return guarded_text([&] {
    need_text(model, "model");
    need_text(chat, "chat");
    *chat = new tern_chat_template{ChatTemplate::from_model(model->model, text_or_empty(name))};
  });
}

void tern_chat_template_free(tern_chat_template* chat) {
  delete chat;
}

tern_status tern_chat_template_render(const tern_chat_template* chat, const char* messages, size_t messages_size,
                                      const tern_chat_options* options, char* text, size_t capacity, size_t* size) {
  return guarded_text([&] {
    need_text(chat, "chat");
    tern_chat_options known_options = TERN_CHAT_OPTIONS_INIT;
    if (options != nullptr)
      std::memcpy(&known_options, options, std::min<std::size_t>(options->size, sizeof known_options));
    ChatOptions o;
    o.add_generation_prompt = known_options.add_generation_prompt != 0;
    o.tools = text_or_empty(known_options.tools);
    o.variables = text_or_empty(known_options.variables);
    write_out(chat->chat.render(view_of(messages, messages_size, "messages"), o), text, capacity, size);
  });
}

}  // extern "C"
