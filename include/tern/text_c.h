/* Tokenizers and chat templates for C; tern/text.h describes their meaning. Library: tern-text (pkg-config),
 * tern::text.
 *
 * Errors: functions return TERN_OK or an error of tern/c_api.h; tern_text_last_error() describes this thread's last
 * one. Threads: any number may use a tokenizer or a chat template; a stream belongs to one thread at a time. Texts:
 * pointers with sizes, UTF-8, without a zero byte at the end. Functions that write to a buffer set the size that they
 * need, and write nothing if `capacity` is smaller: call them with 0 first, or with a large buffer. */
#ifndef TERN_TEXT_C_H
#define TERN_TEXT_C_H

#include <tern/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_tokenizer tern_tokenizer;
typedef struct tern_text_stream tern_text_stream;
typedef struct tern_chat_template tern_chat_template;

/* Never NULL; valid until the thread's next failing call of this header. */
TERN_C_API const char* tern_text_last_error(void);

/* A tokenizer.json, a SentencePiece model, or a folder with one of them. */
TERN_C_API tern_status tern_tokenizer_open(const char* path, tern_tokenizer** tokenizer);
/* The tokenizer that an archive carries. */
TERN_C_API tern_status tern_tokenizer_from_model(const tern_model* model, tern_tokenizer** tokenizer);
TERN_C_API void tern_tokenizer_free(tern_tokenizer* tokenizer);

enum {
  TERN_ENCODE_ADD_SPECIAL = 1,  /* adds bos and the like */
  TERN_ENCODE_PARSE_SPECIAL = 2 /* special tokens spelled out in the text become their ids */
};
TERN_C_API tern_status tern_tokenizer_encode(const tern_tokenizer* tokenizer, const char* text, size_t size,
                                             int32_t flags, int64_t* ids, size_t capacity, size_t* count);
TERN_C_API tern_status tern_tokenizer_decode(const tern_tokenizer* tokenizer, const int64_t* ids, size_t count,
                                             int32_t skip_special, char* text, size_t capacity, size_t* size);
/* Largest id plus 1; 0 for NULL. */
TERN_C_API int64_t tern_tokenizer_vocabulary_size(const tern_tokenizer* tokenizer);
/* Id of a token by its spelling, of the first and the last token of sequences; -1 if there is none. */
TERN_C_API int64_t tern_tokenizer_id(const tern_tokenizer* tokenizer, const char* token, size_t size);
TERN_C_API int64_t tern_tokenizer_bos(const tern_tokenizer* tokenizer);
TERN_C_API int64_t tern_tokenizer_eos(const tern_tokenizer* tokenizer);

/* `context`: tokens before the answer; NULL with 0 for none. */
TERN_C_API tern_status tern_text_stream_create(const tern_tokenizer* tokenizer, const int64_t* context, size_t count,
                                               int32_t skip_special, tern_text_stream** stream);
/* Text completed by the token; valid until the stream's next call. */
TERN_C_API tern_status tern_text_stream_add(tern_text_stream* stream, int64_t token, const char** text, size_t* size);
/* Text held back. */
TERN_C_API tern_status tern_text_stream_finish(tern_text_stream* stream, const char** text, size_t* size);
TERN_C_API void tern_text_stream_free(tern_text_stream* stream);

/* A .jinja file, a tokenizer_config.json, or a folder with one of them. `name`: one of several templates, or NULL. */
TERN_C_API tern_status tern_chat_template_open(const char* path, const char* name, tern_chat_template** chat);
TERN_C_API tern_status tern_chat_template_from_model(const tern_model* model, const char* name,
                                                     tern_chat_template** chat);
TERN_C_API void tern_chat_template_free(tern_chat_template* chat);

typedef struct tern_chat_options {
  uint32_t size;                 /* sizeof(tern_chat_options) */
  int32_t add_generation_prompt; /* not 0: ends the prompt with the beginning of the assistant's message */
  const char* tools;             /* JSON array with a zero byte at the end, or NULL */
  const char* variables;         /* JSON object with a zero byte at the end, or NULL */
} tern_chat_options;
#define TERN_CHAT_OPTIONS_INIT \
  { sizeof(tern_chat_options), 1, NULL, NULL }
/* Prompt of messages: a JSON array of objects with role and content. `options` may be NULL: defaults. */
TERN_C_API tern_status tern_chat_template_render(const tern_chat_template* chat, const char* messages,
                                                 size_t messages_size, const tern_chat_options* options, char* text,
                                                 size_t capacity, size_t* size);

#ifdef __cplusplus
}
#endif

#endif /* TERN_TEXT_C_H */
