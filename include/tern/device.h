/* Device plugins: shared libraries for running programs on further kinds of devices.
 *
 * A plugin exports `tern_device_library` below, in plain C. Tern looks for plugins in the folder `tern/devices` beside
 * its own library or command, and in the files and folders of TERN_DEVICE_PATH (separated by colons); `tern devices`
 * lists all plugins. The functions of tern_device_plugin are enough to run every op with a portable kernel: Tern
 * supplies kernels as source text in the device's dialect. examples/device is a complete plugin.
 *
 * Rules for all functions
 * - Errors: a function returns TERN_DEVICE_OK or another status; after another status, `last_message` on the same
 * thread describes the error.
 * - Threads: several threads may call functions at the same time. Calls with the same stream never overlap, except
 *   stream_synchronize, and event_record with TERN_DEVICE_EVENTS_ANY_THREAD.
 * - A device is identified by its index, 0 to count - 1, for the lifetime of the process.
 * - Ownership: handles belong to the plugin. Tern returns each handle once, to the destroying function, and does not
 *   use the handle afterwards.
 * - Work on a stream runs in order; streams are independent of each other. A function may return before its work on a
 *   stream is finished. The next stream_synchronize or event_synchronize reports errors of this work, and so does each
 *   later synchronization of the same stream.
 * - Structs begin with their size: members beyond the other side's `size` do not exist.
 */
#ifndef TERN_DEVICE_H
#define TERN_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Tern refuses plugins of another version. New members at the end of structs and new
 * extensions keep the version; a changed meaning raises the version. */
#define TERN_DEVICE_ABI 1

typedef int32_t tern_device_status;
enum {
  TERN_DEVICE_OK = 0,
  TERN_DEVICE_INVALID = 1,       /* the call breaks a rule of this file */
  TERN_DEVICE_OUT_OF_MEMORY = 2, /* Tern frees unused memory and tries once more */
  TERN_DEVICE_UNSUPPORTED = 3,   /* not supported by the device: an element type, a size */
  TERN_DEVICE_COMPILE = 4,       /* compile error of a kernel; the message is the device compiler's log */
  TERN_DEVICE_FAILED = 5         /* any other error: the device was lost, the driver failed */
};

/* An address is a number; address + offset lies in the same allocation. 0 is not an address. */
typedef uint64_t tern_device_address;
typedef struct tern_device_stream_s* tern_device_stream;
typedef struct tern_device_event_s* tern_device_event;
typedef struct tern_device_module_s* tern_device_module;
typedef struct tern_device_kernel_s* tern_device_kernel;
typedef struct tern_device_graph_s* tern_device_graph;
typedef struct tern_device_override_s* tern_device_override;
typedef struct tern_device_communicator_s* tern_device_communicator;

/* The language of kernel texts. Each text defines a single kernel; tern_device_source has its name. */
enum {
  /* C++ for the host: `extern "C" void NAME(const void* const* args, int64_t begin, int64_t end)` runs items begin to
   * end - 1 of a launch; args[i] points to argument i (the address or the value). */
  TERN_DIALECT_CPP = 0,
  TERN_DIALECT_OPENCL =
      1, /* OpenCL C 1.2; compile without contraction, with correctly rounded division and square root */
  TERN_DIALECT_CUDA = 2,
  TERN_DIALECT_HIP = 3,
  TERN_DIALECT_METAL = 4,
  /* Not a text: the bytes of a SPIR-V module, compiled from OpenCL C at export. Only for devices with
   * TERN_DEVICE_SPIRV; their own dialect is TERN_DIALECT_OPENCL. */
  TERN_DIALECT_SPIRV = 5,
  /* Not a text: a kernel of an archive, compiled for tern_device_source.target. Only for devices listing the target
   * in tern_device_properties.kernel_targets. */
  TERN_DIALECT_COMPILED = 6
};

enum {                                   /* bits of tern_device_properties.features */
       TERN_DEVICE_DOUBLE = 1 << 0,      /* kernels may use double */
       TERN_DEVICE_HOST_MEMORY = 1 << 1, /* addresses are host addresses, and kernels can read all host memory,
                                            including mapped files: weights need no copies */
       TERN_DEVICE_SPIRV = 1 << 2,       /* module_load also takes TERN_DIALECT_SPIRV */
       TERN_DEVICE_GROUPS = 1 << 3,      /* kernels may use barriers and at most 32 KiB of local memory, and gain from
                                          * groups: 256 items at most (tern_device_launch.group). CUDA, HIP and Metal
                                          * kernels also exchange values among 16 neighbouring items. */
       TERN_DEVICE_SPARSE = 1 << 4 /* CUDA and HIP: kernels gain from products of 2:4 sparse operands by matrix units */
};

typedef struct tern_device_properties {
  uint32_t size; /* sizeof of the caller */
  int32_t dialect;
  uint64_t features;
  uint64_t memory_bytes;    /* memory of the device; 0: unknown */
  uint32_t units;           /* number of multiprocessors or cores; 0: unknown */
  uint32_t vector_floats;   /* CPUs (items run independently): floats in a vector register. 0 for GPUs (neighbouring
                             * items run in lockstep and should read neighbouring addresses) */
  char name[128];           /* name to display, zero-terminated: "Intel(R) Arc(TM) A770" */
  char driver[128];         /* name and version of compiler and driver: part of the key of cached kernels */
  char kernel_targets[128]; /* the kernels of archives accepted by module_load, best first, separated by spaces:
                             * "cuda:sm_90 cuda:ptx". Excludes TERN_DEVICE_SPIRV */
} tern_device_properties;

typedef struct tern_device_source {
  uint32_t size; /* sizeof of the caller */
  int32_t dialect;
  const char* name; /* name of the kernel */
  const char* text; /* `length` bytes, then a zero */
  uint64_t length;
  const char* target; /* target of a compiled kernel: "cuda:sm_90"; null for texts */
} tern_device_source;

typedef struct tern_device_argument {
  const void* data;    /* the tern_device_address, or the bytes of the value */
  uint32_t size;       /* bytes of the value */
  uint32_t is_address; /* 1: an address, size is 8 */
} tern_device_argument;

typedef struct tern_device_launch {
  uint32_t size; /* sizeof of the caller */
  uint32_t argument_count;
  const tern_device_argument* arguments; /* read before `launch` returns */
  uint64_t items;                        /* run items 0 to items - 1 at least; the kernel ignores items beyond */
  uint32_t group; /* 0: the device chooses the size of work-groups (blocks). Else the required size; `items` is a
                   * multiple of `group`; TERN_DIALECT_CPP ignores `group`. At most 64 without TERN_DEVICE_GROUPS,
                   * else 256 */
  uint32_t reserved;
} tern_device_launch;

typedef struct tern_device_plugin {
  uint32_t size;    /* sizeof(tern_device_plugin) of the plugin */
  uint32_t abi;     /* TERN_DEVICE_ABI of the plugin */
  const char* name; /* the name for --device: "xpu"; lower case letters and digits */

  /* Describes this thread's last error. Valid until the thread's next call. */
  const char* (*last_message)(void);
  /* The number of devices. 0 is not an error; a missing driver is. */
  tern_device_status (*count)(int32_t* count);
  tern_device_status (*properties)(int32_t device, tern_device_properties* properties);

  /* Memory, aligned to 64 bytes or more. Tern allocates large segments and divides the segments itself. Tern calls
   * `free` when no pending work uses the memory. */
  tern_device_status (*allocate)(int32_t device, uint64_t bytes, tern_device_address* address);
  tern_device_status (*free)(int32_t device, tern_device_address address);

  /* Copies on a stream. The device may read or write the host memory until the stream has been synchronised. */
  tern_device_status (*copy_to_device)(int32_t device, tern_device_stream stream, tern_device_address to,
                                       const void* from, uint64_t bytes);
  tern_device_status (*copy_to_host)(int32_t device, tern_device_stream stream, void* to, tern_device_address from,
                                     uint64_t bytes);
  tern_device_status (*copy_within)(int32_t device, tern_device_stream stream, tern_device_address to,
                                    tern_device_address from, uint64_t bytes); /* no overlap */

  tern_device_status (*stream_create)(int32_t device, tern_device_stream* stream);
  tern_device_status (*stream_destroy)(int32_t device, tern_device_stream stream); /* waits for the stream's work */
  tern_device_status (*stream_synchronize)(int32_t device, tern_device_stream stream);

  /* An event happens when all work put on the stream before event_record has finished. Each record restarts the
   * event. */
  tern_device_status (*event_create)(int32_t device, tern_device_event* event);
  tern_device_status (*event_destroy)(int32_t device, tern_device_event event);
  tern_device_status (*event_record)(int32_t device, tern_device_event event, tern_device_stream stream);
  tern_device_status (*event_synchronize)(int32_t device, tern_device_event event); /* the host waits for the event */
  tern_device_status (*stream_wait)(int32_t device, tern_device_stream stream, tern_device_event event);

  /* A module is one compiled source. The plugin reads the source before it returns. The plugin may cache compiled
   * modules on disk, and must compile again after any change affecting the result. */
  tern_device_status (*module_load)(int32_t device, const tern_device_source* source, tern_device_module* module);
  tern_device_status (*module_unload)(int32_t device, tern_device_module module); /* also destroys the module's
                                                                                   * kernels */
  tern_device_status (*module_kernel)(int32_t device, tern_device_module module, const char* name,
                                      tern_device_kernel* kernel);
  tern_device_status (*launch)(int32_t device, tern_device_stream stream, tern_device_kernel kernel,
                               const tern_device_launch* launch);

  /* A table of further functions, or null if the plugin has no table of this name and version. All tables are
   * optional; their definitions follow. */
  const void* (*get_extension)(const char* name, uint32_t version);
} tern_device_plugin;

/* Extensions. Each is a struct beginning with its size. A plugin sets all members except optional members, and keeps
 * the struct valid while the library is loaded. Everything also runs without extensions. */
#define TERN_DEVICE_EXTENSION_VERSION 1

/* "events": queries and times of events. */
enum { /* flags of an event table */
       /* event_record may overlap with another thread's calls with the stream, and events outlive their stream. Tern
        * then frees memory without waiting: blocks return to use once the events of all streams have happened. */
       TERN_DEVICE_EVENTS_ANY_THREAD = 1
};

typedef struct tern_device_event_functions {
  uint32_t size;  /* sizeof(tern_device_event_functions) of the plugin */
  uint32_t flags; /* TERN_DEVICE_EVENTS_... */
  /* Sets 1 if the event has happened, else 0. The event was recorded. */
  tern_device_status (*query)(int32_t device, tern_device_event event, int32_t* happened);
  /* Seconds between two events, after both have happened. */
  tern_device_status (*elapsed)(int32_t device, tern_device_event from, tern_device_event to, double* seconds);
} tern_device_event_functions;

/* "share": streams with kernels restricted to a share of the device's multiprocessors, to isolate sessions from each
 * other. */
typedef struct tern_device_share {
  uint32_t size;   /* sizeof of the caller */
  uint32_t units;  /* request: smallest number of multiprocessors, 1 or more. Result: number of the stream's
                    * multiprocessors */
  uint32_t queues; /* request: number of streams served by the part at once, apart from other parts' streams; 0: no
                    * limit. Result: 0 if the driver has no limit */
  uint32_t reserved;
} tern_device_share;

typedef struct tern_device_share_functions {
  uint32_t size; /* sizeof(tern_device_share_functions) of the plugin */
  uint32_t reserved;
  /* Creates a stream and its part; stream_destroy ends both. Parts are disjoint while enough multiprocessors remain.
   * TERN_DEVICE_INVALID: more units than the device has. TERN_DEVICE_UNSUPPORTED: the driver has no parts.
   */
  tern_device_status (*stream_create)(int32_t device, tern_device_share* share, tern_device_stream* stream);
} tern_device_share_functions;

/* "native_stream": the vendor's streams (CUstream, hipStream_t) behind the plugin's streams. Applications with their
 * own device kernels use this table. */
typedef struct tern_device_native_stream_functions {
  uint32_t size; /* sizeof(tern_device_native_stream_functions) of the plugin */
  uint32_t reserved;
  /* The vendor's handle, valid as long as the stream. */
  tern_device_status (*handle)(int32_t device, tern_device_stream stream, void** native);
  /* Later work on `stream` waits for all work put on the vendor's stream so far. Null: the vendor's default stream. */
  tern_device_status (*wait)(int32_t device, tern_device_stream stream, void* native);
  /* Optional. Sets 1 if the application captures the stream by the vendor's interface, else 0. */
  tern_device_status (*is_captured)(int32_t device, tern_device_stream stream, int32_t* captured);
} tern_device_native_stream_functions;

/* "graph": recorded launches, started together by the device. Without this table Tern replays the launches. */
typedef struct tern_device_graph_functions {
  uint32_t size; /* sizeof(tern_device_graph_functions) of the plugin */
  uint32_t reserved;
  /* Starts recording: until `end`, work put on the stream (launch, copy_within, overrides, partitions) is recorded
   * with its arguments and does not run. Tern makes no other calls with the stream meanwhile.
   * TERN_DEVICE_UNSUPPORTED: this device has no graphs; recording has not started. */
  tern_device_status (*begin)(int32_t device, tern_device_stream stream);
  /* Ends recording, also on errors. TERN_DEVICE_UNSUPPORTED: the device cannot build this graph; Tern replays the
   * launches. `graph` is null if Tern does not need the graph any more. */
  tern_device_status (*end)(int32_t device, tern_device_stream stream, tern_device_graph* graph);
  /* Puts the recorded work on a stream of the device, in order. */
  tern_device_status (*launch)(int32_t device, tern_device_stream stream, tern_device_graph graph);
  /* The graph is not running. */
  tern_device_status (*destroy)(int32_t device, tern_device_graph graph);
  /* Optional. While recording: describes the following work in profilers and dumps: "forward:12 matmul from
   * aten.linear.default in encoder.fc1". `text` is valid during the call. Calls count from 1 in each recording;
   * read_graph_spans of "profiler" names them by their number. */
  tern_device_status (*annotate)(int32_t device, tern_device_stream stream, const char* text);
  /* Optional. Replaces `end`: gives `graph` the recorded work, which has other arguments. The graph may be running:
   * earlier launches keep their work. TERN_DEVICE_UNSUPPORTED: the work differs in more; the graph keeps its work. */
  tern_device_status (*update)(int32_t device, tern_device_stream stream, tern_device_graph graph);
} tern_device_graph_functions;

/* "graph_conditional": control flow inside graphs, for plugins with "graph". Without this table Tern reads the
 * predicates and replays a graph for each body. Bodies nest; each begin_... has an end_body. While recording: */
typedef struct tern_device_graph_conditional_functions {
  uint32_t size; /* sizeof(tern_device_graph_conditional_functions) of the plugin */
  uint32_t reserved;
  /* The following body runs if the byte at `predicate` is not 0 when the stream reaches this point. */
  tern_device_status (*begin_if)(int32_t device, tern_device_stream stream, tern_device_address predicate);
  /* The rest of the body runs if the predicate was 0. */
  tern_device_status (*begin_else)(int32_t device, tern_device_stream stream);
  /* The following body repeats while the byte at `predicate` is not 0, read before each iteration. The body writes
   * the byte. */
  tern_device_status (*begin_while)(int32_t device, tern_device_stream stream, tern_device_address predicate);
  tern_device_status (*end_body)(int32_t device, tern_device_stream stream);
} tern_device_graph_conditional_functions;

/* "override": kernels of the plugin, for example from a vendor's library. Tern's kernels run all nodes refused by
 * the plugin. */
#define TERN_DEVICE_MAX_RANK 16

typedef struct tern_device_tensor {
  tern_device_address data; /* 0 in `prepare`, and if the operand or result is absent */
  int32_t dtype;            /* the numbers of tern/dtype.h: 1 bool, 2 uint8, ...; 0: absent */
  int32_t rank;
  int64_t sizes[TERN_DEVICE_MAX_RANK];
  int64_t strides[TERN_DEVICE_MAX_RANK]; /* counted in elements; 0 for an expanded axis, negative for a flipped axis */
} tern_device_tensor;

enum { TERN_ATTRIBUTE_INTEGERS = 1, TERN_ATTRIBUTE_NUMBERS = 2, TERN_ATTRIBUTE_TEXT = 3 };

typedef struct tern_device_attribute {
  const char* name; /* name as in `tern ops OP`: "axis" */
  int32_t kind;
  int32_t count;           /* length of the array of this kind; excludes a text's final zero */
  const int64_t* integers; /* also booleans, enumerations and symbolic sizes */
  const double* numbers;
  const char* text;
} tern_device_attribute;

/* A step of an expression. schema/pointwise.h of Tern's sources lists the ops. Arithmetic is done in the step's dtype;
 * the last step is the result. */
typedef struct tern_device_instruction {
  const char* name;         /* "load", "constant", "add", "exp" */
  int32_t dtype;            /* dtype of the step's value */
  int32_t operands[3];      /* numbers of earlier steps; -1: none */
  int64_t integer;          /* load: number of the input; constant: an integer or boolean value */
  double number, imaginary; /* constant: other values */
} tern_device_instruction;

enum { /* the numbers of tern/precision.h */
       TERN_DEVICE_PRECISION_EXPORTED = 0,
       TERN_DEVICE_PRECISION_BFLOAT16 = 1,
       TERN_DEVICE_PRECISION_AUTOMATIC = 2, /* any type with 10 or more fraction bits, for example TF32 */
       TERN_DEVICE_PRECISION_FLOAT16 = 3
};

typedef struct tern_device_op {
  uint32_t size; /* sizeof(tern_device_op) of the caller */
  uint32_t version;
  const char* name; /* "matmul"; `tern ops` lists all names */
  int32_t input_count, output_count, attribute_count;
  int32_t precision;                 /* TERN_DEVICE_PRECISION_...: permitted rounding of the operands of float32
                                      * products */
  const tern_device_tensor* inputs;  /* any strides */
  const tern_device_tensor* outputs; /* contiguous, except with TERN_DEVICE_OVERRIDE_COLUMNS; disjoint from inputs,
                                      * or exactly in place of an input that the op may overwrite */
  const tern_device_attribute* attributes;
  /* The expression for each output element of "pointwise"; inputs are broadcast. Null for other ops. */
  const tern_device_instruction* instructions;
  int64_t instruction_count;
} tern_device_op;

enum { /* flags of an override table */
       /* A "matmul" may write some columns of a larger result: its row stride exceeds its row length. */
       TERN_DEVICE_OVERRIDE_COLUMNS = 1
};

typedef struct tern_device_override_functions {
  uint32_t size;  /* sizeof(tern_device_override_functions) of the plugin */
  uint32_t flags; /* TERN_DEVICE_OVERRIDE_... */
  /* Called once for each node when its sizes are known. TERN_DEVICE_UNSUPPORTED: refuses the node. Else sets a
   * handle and the bytes of scratch memory per run. */
  tern_device_status (*prepare)(int32_t device, const tern_device_op* op, tern_device_override* override,
                                uint64_t* scratch_bytes);
  /* Puts the node on the stream. Only addresses differ from `prepare`. Sessions share an override: streams may
   * differ from run to run; threads never run the same override at the same time. */
  tern_device_status (*run)(int32_t device, tern_device_stream stream, tern_device_override override,
                            const tern_device_op* op, tern_device_address scratch);
  tern_device_status (*release)(int32_t device, tern_device_override override);
  /* Optional. Replaces `run` for ops on batches of matrices: cholesky, eigh, lu_factor, qr, svd. Also writes an
   * int32 for each matrix to `unfinished`, in the order of the results: 0 if all results of the matrix are written.
   * Tern's kernels then compute the missing results from the same operands, and report matrices without a result. */
  tern_device_status (*run_matrices)(int32_t device, tern_device_stream stream, tern_device_override override,
                                     const tern_device_op* op, tern_device_address scratch,
                                     tern_device_address unfinished);
} tern_device_override_functions;

/* "libraries": the vendor's libraries behind overrides and collectives, as text to display. */
typedef struct tern_device_library_functions {
  uint32_t size; /* sizeof(tern_device_library_functions) of the plugin */
  uint32_t reserved;
  /* Each library's name and version, or the reason for its absence: "cuBLASLt 13.1.0; NCCL is missing: no library
   * libnccl.so.2". Valid until the thread's next call. */
  const char* (*describe)(int32_t device);
} tern_device_library_functions;

/* "profiler": times from the device's clock. Without this table Tern synchronizes after each timed node and reads
 * the host's clock. */
typedef struct tern_device_span {
  uint64_t id;         /* id of the preceding `mark`; 0: none */
  uint64_t begin, end; /* nanoseconds on a clock of the device */
} tern_device_span;

/* A time of a graph's work. */
typedef struct tern_device_graph_span {
  uint64_t id;         /* id of the `mark` before the graph's launch */
  uint64_t number;     /* number of the last `annotate` before the work; 0: none */
  uint64_t begin, end; /* nanoseconds on the clock of the other spans */
} tern_device_graph_span;

typedef struct tern_device_profiler_functions {
  uint32_t size; /* sizeof(tern_device_profiler_functions) of the plugin */
  uint32_t reserved;
  /* Until `end` the device keeps a span of each launch and copy on the stream, also from overrides. Launches of graphs
   * need no span. */
  tern_device_status (*begin)(int32_t device, tern_device_stream stream);
  /* Work put on the stream from now on has this id. */
  tern_device_status (*mark)(int32_t device, tern_device_stream stream, uint64_t id);
  /* Called after stream_synchronize. Writes up to `capacity` spans not taken yet, in the order of the calls, and
   * their number. */
  tern_device_status (*read_spans)(int32_t device, tern_device_stream stream, tern_device_span* spans,
                                   uint64_t capacity, uint64_t* count);
  /* Called after stream_synchronize. Drops spans not taken yet. */
  tern_device_status (*end)(int32_t device, tern_device_stream stream);
  /* Optional, with `annotate` of "graph". Like read_spans, for the work of graphs recorded between `begin` and `end`,
   * whose launches have spans in every measurement. Recording such a graph fails with TERN_DEVICE_UNSUPPORTED if the
   * device cannot time its work. Without this function Tern starts the work of graphs one by one in traced runs. */
  tern_device_status (*read_graph_spans)(int32_t device, tern_device_stream stream, tern_device_graph_span* spans,
                                         uint64_t capacity, uint64_t* count);
} tern_device_profiler_functions;

/* "pinned_memory": host memory for asynchronous copies to the device. Tern uploads the weights of mapped files
 * through two pinned buffers: the host fills and hashes a buffer while the device copies the other. Without this
 * table Tern copies from the mapped file. */
typedef struct tern_device_pinned_memory_functions {
  uint32_t size; /* sizeof(tern_device_pinned_memory_functions) of the plugin */
  uint32_t reserved;
  /* TERN_DEVICE_UNSUPPORTED: no faster on this device. */
  tern_device_status (*allocate)(int32_t device, uint64_t bytes, void** memory);
  tern_device_status (*free)(int32_t device, void* memory);
} tern_device_pinned_memory_functions;

/* "memory_segments": an address range mapped piece by piece: blocks can grow in place, and memory is not fragmented.
 * Tern reserves a single range for all memory of the device, and maps the pieces in use. Without this table Tern
 * allocates and divides segments. */
typedef struct tern_device_memory_segment_functions {
  uint32_t size; /* sizeof(tern_device_memory_segment_functions) of the plugin */
  uint32_t reserved;
  /* The size of a piece. TERN_DEVICE_UNSUPPORTED: this device cannot map memory in pieces. */
  tern_device_status (*piece)(int32_t device, uint64_t* bytes);
  /* Reserves addresses without memory, aligned to a piece, for the lifetime of the process; `bytes` is a multiple of
   * the piece. */
  tern_device_status (*reserve)(int32_t device, uint64_t bytes, tern_device_address* address);
  /* Adds memory to whole pieces without memory, or removes memory from whole pieces not used by pending work. A
   * failed `map` maps nothing; TERN_DEVICE_OUT_OF_MEMORY as in `allocate`. */
  tern_device_status (*map)(int32_t device, tern_device_address address, uint64_t bytes);
  tern_device_status (*unmap)(int32_t device, tern_device_address address, uint64_t bytes);
} tern_device_memory_segment_functions;

/* "peer": copies between two devices of the plugin. Without this table tensors go through the host. */
typedef struct tern_device_peer_functions {
  uint32_t size; /* sizeof(tern_device_peer_functions) of the plugin */
  uint32_t reserved;
  /* Copies to this device, on its stream, from another device, whose work on the memory has finished.
   * TERN_DEVICE_UNSUPPORTED: nothing is on the stream; Tern copies through the host. */
  tern_device_status (*copy)(int32_t device, tern_device_stream stream, tern_device_address to, int32_t from_device,
                             tern_device_address from, uint64_t bytes);
} tern_device_peer_functions;

/* "partition": parts of a program, compiled together by the device and run as a single launch, for graph compilers.
 * Other nodes run one by one. */
typedef struct tern_device_partition_s* tern_device_partition;

typedef struct tern_device_part_node {
  uint32_t size; /* sizeof(tern_device_part_node) of the caller */
  uint32_t reserved;
  tern_device_op op;      /* tensors have no address */
  const int32_t* inputs;  /* number of the value of each operand; -1: absent */
  const int32_t* outputs; /* the same for results */
} tern_device_part_node;

/* Nodes in execution order. */
typedef struct tern_device_part {
  uint32_t size; /* sizeof(tern_device_part) of the caller */
  uint32_t reserved;
  int32_t node_count, value_count, input_count, output_count;
  const tern_device_part_node* nodes;
  const tern_device_tensor* values; /* indexed by number; `data` is set only in `compile`, for weights (weights never
                                     * change) */
  const int32_t* inputs;            /* numbers of values from outside the part */
  const int32_t* outputs;           /* numbers of values read outside the part */
} tern_device_part;

/* The device accepts microscaling (MX) values: the operand of dequantize, and the right operand of matmul.
 * tern_device_tensor then has the elements' dtype and the logical sizes. The elements are stored row by row,
 * followed by the scales, float8_e8m0, a scale for each `block` elements of a row, in the order `layout`: 0 row by
 * row, 1 in tiles of 128 rows by 4 scales, cuBLAS's order. Attributes of this dequantize contain block and layout,
 * and so do the attributes of a matmul with an MX right operand [n, k]; this matmul multiplies by the transpose. */
#define TERN_DEVICE_PARTITION_MICROSCALED 1u

typedef struct tern_device_partition_functions {
  uint32_t size;  /* sizeof(tern_device_partition_functions) of the plugin */
  uint32_t flags; /* TERN_DEVICE_PARTITION_... */
  /* Called once, when sizes are known. Sets the number of a group for each node, or -1 to refuse the node. Tern
   * divides groups into connected and convex parts: no path between two nodes of a part leaves the part. */
  tern_device_status (*choose)(int32_t device, const tern_device_part* nodes, int32_t* groups);
  /* Called once for each part. TERN_DEVICE_UNSUPPORTED: refuses the part; Tern's kernels run its nodes. Else sets a
   * handle and the bytes of scratch memory per run. */
  tern_device_status (*compile)(int32_t device, const tern_device_part* part, tern_device_partition* partition,
                                uint64_t* scratch_bytes);
  /* Puts the part on the stream. Addresses are in the order of `inputs` and `outputs` of the part; outputs are
   * disjoint from inputs. Several threads may run the same partition at the same time. */
  tern_device_status (*run)(int32_t device, tern_device_stream stream, tern_device_partition partition,
                            const tern_device_address* inputs, const tern_device_address* outputs,
                            tern_device_address scratch);
  tern_device_status (*release)(int32_t device, tern_device_partition partition);
} tern_device_partition_functions;

/* "collective": communication among devices of several ranks, for example through NCCL. The ranks agree on its use
 * over the application's group (tern/collective.h): each rank needs its own device of the same plugin. Tensors go
 * through the host and the application's group without this table, with --reproducible, and for refused calls. */
#define TERN_DEVICE_GROUP_ID_BYTES 128

enum { /* kinds and reductions have the numbers of tern/collective.h */
       TERN_COLLECTIVE_ALL_REDUCE = 0,
       TERN_COLLECTIVE_ALL_GATHER = 1,
       TERN_COLLECTIVE_REDUCE_SCATTER = 2,
       TERN_COLLECTIVE_BROADCAST = 3,
       /* Kinds of plugins with `run_batch`: */
       TERN_COLLECTIVE_ALL_TO_ALL = 4,
       TERN_COLLECTIVE_SEND = 11,   /* only in `run_batch` */
       TERN_COLLECTIVE_RECEIVE = 12 /* only in `run_batch` */
};
enum {
  TERN_REDUCE_SUM = 0,
  TERN_REDUCE_AVG = 1,
  TERN_REDUCE_PRODUCT = 2,
  TERN_REDUCE_MIN = 3,
  TERN_REDUCE_MAX = 4,
  TERN_REDUCE_BAND = 5,
  TERN_REDUCE_BOR = 6,
  TERN_REDUCE_BXOR = 7
};

typedef struct tern_device_collective {
  uint32_t size; /* sizeof(tern_device_collective) of the caller */
  int32_t kind;
  int32_t reduction; /* all_reduce and reduce_scatter */
  int32_t dtype;     /* the numbers of tern/dtype.h; never complex: Tern passes two floats for each element */
  int32_t root;      /* broadcast: the sending rank; send and receive: the other rank */
  int32_t reserved;  /* 0 */
  uint64_t count;    /* elements of `input`, and of `output` for receive; for reduce_scatter a multiple of the number
                        of ranks */
  tern_device_address input, output; /* contiguous; the same (all_reduce, broadcast) or disjoint */
  /* all_to_all: elements for and from each rank; null: equal parts. Valid during the call. */
  const int64_t *input_splits, *output_splits;
} tern_device_collective;

typedef struct tern_device_collective_functions {
  uint32_t size; /* sizeof(tern_device_collective_functions) of the plugin */
  uint32_t reserved;
  /* Rank 0 creates the id, TERN_DEVICE_GROUP_ID_BYTES bytes; Tern sends the id to the other ranks. */
  tern_device_status (*unique_id)(int32_t device, uint8_t* id);
  /* All ranks call `join` with the same id. The call may wait for the other ranks, with a timeout. */
  tern_device_status (*join)(int32_t device, const uint8_t* id, int32_t rank, int32_t ranks,
                             tern_device_communicator* communicator);
  /* Puts the call on the stream. TERN_DEVICE_UNSUPPORTED: refuses the call and puts nothing on the stream; the
   * refusal must depend only on kind, reduction and dtype, because all ranks must agree. Never called while a graph
   * is recorded. */
  tern_device_status (*run)(int32_t device, tern_device_stream stream, tern_device_communicator communicator,
                            const tern_device_collective* call);
  /* Leaves the group. This rank has no pending calls, or its calls can never finish and are abandoned. Calls made by
   * other ranks but not by this rank fail: stream_synchronize on the other ranks reports an error until these ranks
   * leave, too. */
  tern_device_status (*leave)(int32_t device, tern_device_communicator communicator);
  /* Puts a batch of messages of kinds send and receive on the stream. Null: messages go through the host.
   * TERN_DEVICE_UNSUPPORTED as in `run`, depending only on kinds and dtypes. */
  tern_device_status (*run_batch)(int32_t device, tern_device_stream stream, tern_device_communicator communicator,
                                  const tern_device_collective* calls, uint32_t count);
  /* Reports a failed rank; any thread may call `abort` while others use the communicator. Waiting calls end, and
   * stream_synchronize fails with this message. Only `leave` follows. Null: only `leave` detects failed ranks. */
  tern_device_status (*abort)(int32_t device, tern_device_communicator communicator, const char* message);
} tern_device_collective_functions;

/* "kernel_compiler": compiles kernels for archives (`tern export --target cuda:sm_90`), also on machines without a
 * device. */
typedef struct tern_device_kernel_compiler_functions {
  uint32_t size;   /* sizeof(tern_device_kernel_compiler_functions) of the plugin */
  int32_t dialect; /* dialect of the texts; `features`: tern_device_properties.features of devices running the
                    * targets' kernels */
  uint64_t features;
  /* The targets, separated by spaces: "cuda:ptx cuda:sm_80". Valid while the library is loaded. */
  const char* (*targets)(void);
  /* The compiler's name to display: "NVRTC 13.0"; valid until the thread's next call. Null if the compiler is
   * missing: last_message names the missing library. */
  const char* (*compiler)(const char* target);
  /* Compiles a text of the plugin's dialect, and calls `take` once with the result. Several threads may call
   * `compile`. */
  tern_device_status (*compile)(const char* target, const tern_device_source* source,
                                void (*take)(void* context, const void* bytes, uint64_t length), void* context);
} tern_device_kernel_compiler_functions;

#if defined(_WIN32)
#define TERN_DEVICE_EXPORT __declspec(dllexport)
#else
#define TERN_DEVICE_EXPORT __attribute__((visibility("default")))
#endif

/* The entry point exported by a plugin. Tern calls it once and never unloads the library; the result must stay
 * valid. The call must succeed on machines without the device: `count` reports a missing driver. */
TERN_DEVICE_EXPORT const tern_device_plugin* tern_device_library(void);

#ifdef __cplusplus
}
#endif

#endif
