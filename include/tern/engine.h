/* Engines of groups: libraries moving bytes between processes, for tern::connect_group (tern/collective.h). An
 * engine has no collectives: Tern builds collectives from messages, for the same bits of reductions on all engines.
 *
 * Put the library, libtern_NAME.so, into the folder engines/ beside Tern's library, or name its folder in
 * TERN_ENGINE_PATH. */
#ifndef TERN_ENGINE_H
#define TERN_ENGINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TERN_ENGINE_ABI 1

typedef struct tern_engine_group_s* tern_engine_group;
typedef struct tern_engine_request_s* tern_engine_request;

typedef enum tern_engine_status {
  TERN_ENGINE_OK = 0,
  TERN_ENGINE_TIMEOUT = 1,
  TERN_ENGINE_FAILED = 2 /* last_message describes the error */
} tern_engine_status;

/* Small values shared by all ranks while connecting; call the functions only during `connect`. */
typedef struct tern_engine_store {
  void* context;
  /* A failure ends `connect`: the engine returns TERN_ENGINE_FAILED. */
  tern_engine_status (*set)(void* context, const char* key, const void* value, uint64_t bytes);
  /* Waits for the key, and calls `take` once with its value. */
  tern_engine_status (*get)(void* context, const char* key, void (*take)(void* to, const void* value, uint64_t bytes),
                            void* to);
} tern_engine_store;

typedef struct tern_engine_place {
  uint32_t size; /* sizeof(tern_engine_place) of the caller */
  int32_t rank, ranks;
  int32_t reserved;
  int64_t timeout_ms;
  const char* address; /* "HOST:PORT" of rank 0, in the network of all ranks; never null */
  const tern_engine_store* store;
  /* Parent group of a subgroup, else null: this process's end of the parent (no other thread uses the parent until
   * `connect` returns), and the parent's ranks of the new group's ranks. Engines opening new connections ignore both.
   */
  tern_engine_group parent;
  const int32_t* members;
} tern_engine_place;

typedef struct tern_engine {
  uint32_t abi;  /* TERN_ENGINE_ABI */
  uint32_t size; /* sizeof(tern_engine) of the engine */
  const char* name;
  const char* version; /* version of the underlying library, to display */
  /* Describes the thread's last failed call; valid until the thread's next failed call. */
  const char* (*last_message)(void);
  tern_engine_status (*connect)(const tern_engine_place* place, tern_engine_group* group);
  /* Messages of a pair of ranks match by tag; messages with the same tag keep their order. Both ranks know the
   * sizes. Memory stays valid until the request has been waited for or the group was closed. At most one thread of a
   * process calls these functions of a group at a time; several groups may be used at once. */
  tern_engine_status (*send)(tern_engine_group group, int32_t peer, uint64_t tag, const void* data, uint64_t bytes,
                             tern_engine_request* request);
  tern_engine_status (*receive)(tern_engine_group group, int32_t peer, uint64_t tag, void* data, uint64_t bytes,
                                tern_engine_request* request);
  /* Waits for a request, and ends it if done in time. After any other status the group can only be closed. */
  tern_engine_status (*wait)(tern_engine_group group, tern_engine_request request, int64_t timeout_ms);
  /* Any thread may call this: a pending wait, and every later call, fails soon. */
  void (*interrupt)(tern_engine_group group);
  /* Drops pending requests: after the return their memory is not used any more. */
  void (*close)(tern_engine_group group);
  /* After `close`. */
  void (*destroy)(tern_engine_group group);
  /* Optional: null, or beyond `size`. Called by all ranks right after `connect`, with its place. Creates memory for
   * each rank: `bytes` of zeros, aligned to 64, readable and writable by all ranks of the group until the group is
   * destroyed. addresses[r] is rank r's memory; all addresses stay null, on all ranks, if the ranks are on several
   * hosts or cannot share memory. */
  tern_engine_status (*share)(tern_engine_group group, const tern_engine_place* place, uint64_t bytes,
                              void** addresses);
} tern_engine;

/* The entry point exported by an engine. */
__attribute__((visibility("default"))) const tern_engine* tern_engine_library(void);

#ifdef __cplusplus
}
#endif

#endif
