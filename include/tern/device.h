/* The interface of a device plugin: a shared library that lets Tern run programs on some kind of device.
 *
 * A plugin exports `tern_device_library` below, in plain C. Tern finds plugins in the folder `tern/devices` beside its
 * own library or command and in the files and folders of TERN_DEVICE_PATH (separated by colons); `tern devices` lists
 * them. With the functions below alone a device runs every op that Tern has portable kernels for: Tern supplies the
 * kernels as source text in the dialect that the device compiles. examples/device shows a whole plugin.
 *
 * Rules for all functions
 * - They return TERN_DEVICE_OK or another status. After another one, `last_message` says on the same thread what is
 * wrong.
 * - They may be called from several threads at once. Calls that name the same stream are never made at once, but for
 *   stream_synchronize.
 * - A device is named by its index, 0 to count - 1, and keeps it as long as the process lives.
 * - Handles belong to the plugin; Tern gives each back once, through the function that ends it, and never uses it
 * again.
 * - Work on a stream runs in order, each part after the one before it has ended; streams are independent of each other.
 *   A function that puts work on a stream may return before the work is done. What fails later is reported by the
 *   next stream_synchronize or event_synchronize, and by every later one of the same stream.
 * - Structs begin with their size: members beyond the `size` that the other side has written do not exist for it.
 */
#ifndef TERN_DEVICE_H
#define TERN_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A plugin made for another one is refused. It grows by members at the end of structs
 * and by extensions; the number changes when what is here changes its meaning. */
#define TERN_DEVICE_ABI 1

typedef int32_t tern_device_status;
enum {
  TERN_DEVICE_OK = 0,
  TERN_DEVICE_INVALID = 1,       /* a call that breaks a rule of this file */
  TERN_DEVICE_OUT_OF_MEMORY = 2, /* Tern gives its unused memory back and tries once more */
  TERN_DEVICE_UNSUPPORTED = 3,   /* the device cannot do it: an element type, a size */
  TERN_DEVICE_COMPILE = 4,       /* the device's compiler refused a kernel; the message is its log */
  TERN_DEVICE_FAILED = 5         /* anything else: the device was lost, the driver failed */
};

/* Addresses are numbers. Adding to an address stays inside its allocation; 0 is no address. */
typedef uint64_t tern_device_address;
typedef struct tern_device_stream_s* tern_device_stream;
typedef struct tern_device_event_s* tern_device_event;
typedef struct tern_device_module_s* tern_device_module;
typedef struct tern_device_kernel_s* tern_device_kernel;
typedef struct tern_device_graph_s* tern_device_graph;
typedef struct tern_device_override_s* tern_device_override;
typedef struct tern_device_communicator_s* tern_device_communicator;

/* The language of the kernels' text. Every text has one kernel, of the name that tern_device_source gives. */
enum {
  /* C++ for the host: `extern "C" void NAME(const void* const* args, int64_t begin, int64_t end)` runs the items
   * begin..end - 1 of a launch; args[i] points to argument i, to the address or to the value. */
  TERN_DIALECT_CPP = 0,
  TERN_DIALECT_OPENCL =
      1, /* OpenCL C 1.2; to be compiled without contraction, with correctly rounded division and roots */
  TERN_DIALECT_CUDA = 2,
  TERN_DIALECT_HIP = 3,
  TERN_DIALECT_METAL = 4,
  /* No text: a SPIR-V module of the bytes that follow, made beforehand of a text in OpenCL C. Only a device with
   * TERN_DEVICE_SPIRV is given one; its own dialect is TERN_DIALECT_OPENCL. */
  TERN_DIALECT_SPIRV = 5
};

enum {                                   /* bits of tern_device_properties.features */
       TERN_DEVICE_DOUBLE = 1 << 0,      /* kernels may use double */
       TERN_DEVICE_HOST_MEMORY = 1 << 1, /* addresses are the host's, and kernels read all its memory, mapped files too:
                                            weights need no copies */
       TERN_DEVICE_SPIRV = 1 << 2        /* module_load takes TERN_DIALECT_SPIRV beside the device's own dialect */
};

typedef struct tern_device_properties {
  uint32_t size; /* sizeof of the caller */
  int32_t dialect;
  uint64_t features;
  uint64_t memory_bytes;  /* in all; 0: unknown */
  uint32_t units;         /* how many multiprocessors or cores; 0: unknown */
  uint32_t vector_floats; /* how many floats a register holds of the processor that runs an item by itself; 0: items
                             that are neighbours run in step, and read memory best side by side */
  char name[128];         /* for people, zero at the end: "Intel(R) Arc(TM) A770" */
  char driver[128];       /* name and version of what compiles and runs: part of the key of compiled kernels */
} tern_device_properties;

typedef struct tern_device_source {
  uint32_t size; /* sizeof of the caller */
  int32_t dialect;
  const char* name; /* of the kernel */
  const char* text; /* length bytes and a zero */
  uint64_t length;
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
  uint64_t items; /* the kernel runs for item 0 to items - 1 at least; it does nothing for items beyond */
  uint32_t group; /* 0: items are divided into work-groups (blocks) as the device likes. Else the kernel needs groups of
                     exactly so many, and `items` is a multiple of it; not for TERN_DIALECT_CPP, which ignores it */
  uint32_t reserved;
} tern_device_launch;

typedef struct tern_device_plugin {
  uint32_t size;    /* sizeof(tern_device_plugin) of the plugin */
  uint32_t abi;     /* TERN_DEVICE_ABI of the plugin */
  const char* name; /* what --device calls its devices: "xpu"; lower case letters and digits */

  /* What is wrong with this thread's last call that did not return TERN_DEVICE_OK. Valid until the thread's next one.
   */
  const char* (*last_message)(void);
  /* How many devices there are. 0 is no error; where a driver is missing, an error says so. */
  tern_device_status (*count)(int32_t* count);
  tern_device_status (*properties)(int32_t device, tern_device_properties* properties);

  /* Memory, aligned to 64 bytes at least. Tern allocates large segments and divides them itself. `free` is called
   * when no work that uses the memory is under way. */
  tern_device_status (*allocate)(int32_t device, uint64_t bytes, tern_device_address* address);
  tern_device_status (*free)(int32_t device, tern_device_address address);

  /* Copies, on a stream. Host memory may be read until the stream has been synchronised, and is written by then. */
  tern_device_status (*copy_to_device)(int32_t device, tern_device_stream stream, tern_device_address to,
                                       const void* from, uint64_t bytes);
  tern_device_status (*copy_to_host)(int32_t device, tern_device_stream stream, void* to, tern_device_address from,
                                     uint64_t bytes);
  tern_device_status (*copy_within)(int32_t device, tern_device_stream stream, tern_device_address to,
                                    tern_device_address from, uint64_t bytes); /* the two do not overlap */

  tern_device_status (*stream_create)(int32_t device, tern_device_stream* stream);
  tern_device_status (*stream_destroy)(int32_t device, tern_device_stream stream); /* waits for its work */
  tern_device_status (*stream_synchronize)(int32_t device, tern_device_stream stream);

  /* An event happens when the work that was on the stream when it was recorded has ended; again after each record. */
  tern_device_status (*event_create)(int32_t device, tern_device_event* event);
  tern_device_status (*event_destroy)(int32_t device, tern_device_event event);
  tern_device_status (*event_record)(int32_t device, tern_device_event event, tern_device_stream stream);
  tern_device_status (*event_synchronize)(int32_t device, tern_device_event event); /* the host waits for it */
  tern_device_status (*stream_wait)(int32_t device, tern_device_stream stream, tern_device_event event);

  /* A module holds what one source became. The source is read before the function returns; a plugin may keep what it
   * compiled on disk, but has to compile anew where anything that decides the result has changed. */
  tern_device_status (*module_load)(int32_t device, const tern_device_source* source, tern_device_module* module);
  tern_device_status (*module_unload)(int32_t device, tern_device_module module); /* ends its kernels too */
  tern_device_status (*module_kernel)(int32_t device, tern_device_module module, const char* name,
                                      tern_device_kernel* kernel);
  tern_device_status (*launch)(int32_t device, tern_device_stream stream, tern_device_kernel kernel,
                               const tern_device_launch* launch);

  /* A further table of functions, or null where the plugin has none of that name and version: never an error. The
   * tables that Tern asks for are below. */
  const void* (*get_extension)(const char* name, uint32_t version);
} tern_device_plugin;

/* Extensions. Each is a struct that begins with its size; a plugin that has it fills all members, but those that are
 * called optional, and keeps it as long as the library is loaded. Without them everything runs, too. */
#define TERN_DEVICE_EXTENSION_VERSION 1

/* "events": what streams and events are asked for beside the required functions. */
typedef struct tern_device_event_functions {
  uint32_t size; /* sizeof(tern_device_event_functions) of the plugin */
  uint32_t reserved;
  /* 1 when the event has happened, 0 when not yet. It was recorded. */
  tern_device_status (*query)(int32_t device, tern_device_event event, int32_t* happened);
  /* Seconds between two events that have happened. */
  tern_device_status (*elapsed)(int32_t device, tern_device_event from, tern_device_event to, double* seconds);
} tern_device_event_functions;

/* "graph": launches that the device keeps and puts on a stream together. Without this table Tern replays them. */
typedef struct tern_device_graph_functions {
  uint32_t size; /* sizeof(tern_device_graph_functions) of the plugin */
  uint32_t reserved;
  /* From here to `end`, what is put on the stream (launch, copy_within, and what overrides and partitions put there) is
   * recorded with its arguments, and does not run. Nothing else is asked of the stream meanwhile.
   * TERN_DEVICE_UNSUPPORTED: this device has no graphs, and nothing has begun. */
  tern_device_status (*begin)(int32_t device, tern_device_stream stream);
  /* Ends the recording, whatever it returns. TERN_DEVICE_UNSUPPORTED: the device cannot keep that; Tern replays it
   * itself. `graph` is null where Tern does not want it any more. */
  tern_device_status (*end)(int32_t device, tern_device_stream stream, tern_device_graph* graph);
  /* Puts everything recorded on a stream of the device, in its order. */
  tern_device_status (*launch)(int32_t device, tern_device_stream stream, tern_device_graph graph);
  /* No run of it is under way. */
  tern_device_status (*destroy)(int32_t device, tern_device_graph graph);
  /* Optional. While recording: what the launches that follow are for, for profilers and dumps: "forward:12 matmul from
   * aten.linear.default in encoder.fc1". Valid during the call. */
  tern_device_status (*annotate)(int32_t device, tern_device_stream stream, const char* text);
} tern_device_graph_functions;

/* "graph_conditional": control flow inside of graphs, for plugins that have "graph". Without this table Tern reads the
 * predicates and replays the bodies, each a graph. Bodies nest; every begin_... has its end_body. While recording: */
typedef struct tern_device_graph_conditional_functions {
  uint32_t size; /* sizeof(tern_device_graph_conditional_functions) of the plugin */
  uint32_t reserved;
  /* The body that follows runs where the byte at `predicate` is not 0 when the stream gets there. */
  tern_device_status (*begin_if)(int32_t device, tern_device_stream stream, tern_device_address predicate);
  /* The rest of the body runs where it was 0. */
  tern_device_status (*begin_else)(int32_t device, tern_device_stream stream);
  /* The body that follows runs again and again, as long as the byte is not 0 before it. The body writes it. */
  tern_device_status (*begin_while)(int32_t device, tern_device_stream stream, tern_device_address predicate);
  tern_device_status (*end_body)(int32_t device, tern_device_stream stream);
} tern_device_graph_conditional_functions;

/* "override": the device's own kernels, from a vendor's library or of its own. A node that the plugin does not take
 * runs by Tern's. */
#define TERN_DEVICE_MAX_RANK 16

typedef struct tern_device_tensor {
  tern_device_address data; /* 0 in `prepare`, and where the operand or result is absent */
  int32_t dtype;            /* the numbers of tern/dtype.h: 1 bool, 2 uint8, ...; 0: absent */
  int32_t rank;
  int64_t sizes[TERN_DEVICE_MAX_RANK];
  int64_t strides[TERN_DEVICE_MAX_RANK]; /* in elements; 0 where an axis is expanded, negative where it is flipped */
} tern_device_tensor;

enum { TERN_ATTRIBUTE_INTEGERS = 1, TERN_ATTRIBUTE_NUMBERS = 2, TERN_ATTRIBUTE_TEXT = 3 };

typedef struct tern_device_attribute {
  const char* name; /* as `tern ops OP` lists them: "axis" */
  int32_t kind;
  int32_t count;           /* of the array that `kind` says; of a text's bytes, a zero follows them */
  const int64_t* integers; /* booleans, enumerations and symbolic sizes too */
  const double* numbers;
  const char* text;
} tern_device_attribute;

/* A step of an expression: the ops are those of schema/pointwise.h in Tern's sources. Arithmetic has the type of
 * the step; the last one is the result. */
typedef struct tern_device_instruction {
  const char* name;    /* "load", "constant", "add", "exp" */
  int32_t dtype;       /* of what it makes */
  int32_t operands[3]; /* numbers of earlier steps; -1: none */
  int64_t integer;     /* load: the number of the input; constant: its value, where that is an integer or boolean */
  double number, imaginary; /* constant: its value else */
} tern_device_instruction;

typedef struct tern_device_op {
  uint32_t size; /* sizeof(tern_device_op) of the caller */
  uint32_t version;
  const char* name; /* "matmul", as `tern ops` lists them */
  int32_t input_count, output_count, attribute_count, reserved;
  const tern_device_tensor* inputs;  /* with any strides */
  const tern_device_tensor* outputs; /* without gaps; they share no memory with operands, unless they lie exactly on one
                                        that the op may overwrite */
  const tern_device_attribute* attributes;
  /* The expression of "pointwise", for each element of the output; inputs are broadcast to it. Of other ops, null. */
  const tern_device_instruction* instructions;
  int64_t instruction_count;
} tern_device_op;

typedef struct tern_device_override_functions {
  uint32_t size; /* sizeof(tern_device_override_functions) of the plugin */
  uint32_t reserved;
  /* Asked once for each node when its sizes are known. TERN_DEVICE_UNSUPPORTED: not this one. Else `override` is what
   * the plugin keeps for it, and `scratch_bytes` how much memory it needs while it runs. */
  tern_device_status (*prepare)(int32_t device, const tern_device_op* op, tern_device_override* override,
                                uint64_t* scratch_bytes);
  /* Puts the node on the stream. Everything but the addresses is as in `prepare`. Called at once by several threads for
   * different overrides only. */
  tern_device_status (*run)(int32_t device, tern_device_stream stream, tern_device_override override,
                            const tern_device_op* op, tern_device_address scratch);
  tern_device_status (*release)(int32_t device, tern_device_override override);
} tern_device_override_functions;

/* "profiler": when the device itself began and ended what it was given. Without this table Tern waits after each node
 * that it measures, and reads the host's clock. */
typedef struct tern_device_span {
  uint64_t id;         /* of the last `mark` before; 0: none was */
  uint64_t begin, end; /* nanoseconds on a clock of the device */
} tern_device_span;

typedef struct tern_device_profiler_functions {
  uint32_t size; /* sizeof(tern_device_profiler_functions) of the plugin */
  uint32_t reserved;
  /* From here to `end`, the device keeps a span of each launch and copy that is put on the stream, by overrides
   * too. No graph is recorded meanwhile; one that is launched needs none. */
  tern_device_status (*begin)(int32_t device, tern_device_stream stream);
  /* What is put on the stream from here on has this number. */
  tern_device_status (*mark)(int32_t device, tern_device_stream stream, uint64_t id);
  /* The stream has been synchronised. Writes the spans that were not taken yet in the order of the calls, `capacity` at
   * most; `count`: how many. */
  tern_device_status (*take)(int32_t device, tern_device_stream stream, tern_device_span* spans, uint64_t capacity,
                             uint64_t* count);
  /* The stream has been synchronised. Forgets what was not taken. */
  tern_device_status (*end)(int32_t device, tern_device_stream stream);
} tern_device_profiler_functions;

/* "pinned_memory": memory of the host from which the device copies by itself while the host goes on. Tern brings
 * weights of mapped files through two such buffers: one is filled, and its hash checked, while the other is copied.
 * Without this table Tern copies from where the bytes lie. */
typedef struct tern_device_pinned_memory_functions {
  uint32_t size; /* sizeof(tern_device_pinned_memory_functions) of the plugin */
  uint32_t reserved;
  /* TERN_DEVICE_UNSUPPORTED: this device gains nothing by it. */
  tern_device_status (*allocate)(int32_t device, uint64_t bytes, void** memory);
  tern_device_status (*free)(int32_t device, void* memory);
} tern_device_pinned_memory_functions;

/* "memory_segments": a range of addresses that gets memory piece by piece, so that a block can grow where it is and
 * nothing lies between segments. Tern reserves one range for all the device's memory, and maps what is used. Without
 * this table it allocates segments, and divides them. */
typedef struct tern_device_memory_segment_functions {
  uint32_t size; /* sizeof(tern_device_memory_segment_functions) of the plugin */
  uint32_t reserved;
  /* How large a piece is. TERN_DEVICE_UNSUPPORTED: this device has no such memory. */
  tern_device_status (*piece)(int32_t device, uint64_t* bytes);
  /* Addresses without memory, aligned to a piece, for as long as the process lives; `bytes` is a multiple of pieces. */
  tern_device_status (*reserve)(int32_t device, uint64_t bytes, tern_device_address* address);
  /* Gives memory to whole pieces that have none, or takes it from whole pieces that have it: no work that uses them is
   * under way. A failed `map` has mapped nothing; TERN_DEVICE_OUT_OF_MEMORY as for `allocate`. */
  tern_device_status (*map)(int32_t device, tern_device_address address, uint64_t bytes);
  tern_device_status (*unmap)(int32_t device, tern_device_address address, uint64_t bytes);
} tern_device_memory_segment_functions;

/* "partition": parts of programs that the device compiles as a whole and runs as one launch, as graph compilers of
 * accelerators do. The other nodes run as ever. */
typedef struct tern_device_partition_s* tern_device_partition;

typedef struct tern_device_part_node {
  uint32_t size; /* sizeof(tern_device_part_node) of the caller */
  uint32_t reserved;
  tern_device_op op;      /* its tensors have no address */
  const int32_t* inputs;  /* for each operand the number of its value; -1: absent */
  const int32_t* outputs; /* the same for results */
} tern_device_part_node;

/* Nodes in an order in which they can run. */
typedef struct tern_device_part {
  uint32_t size; /* sizeof(tern_device_part) of the caller */
  uint32_t reserved;
  int32_t node_count, value_count, input_count, output_count;
  const tern_device_part_node* nodes;
  const tern_device_tensor* values; /* by number. Of those that never change, weights, `data` is their address in
                                       `compile`; of all others 0 */
  const int32_t* inputs;            /* numbers of values that come from outside */
  const int32_t* outputs;           /* numbers of values that are read outside */
} tern_device_part;

typedef struct tern_device_partition_functions {
  uint32_t size; /* sizeof(tern_device_partition_functions) of the plugin */
  uint32_t reserved;
  /* Asked once for nodes whose sizes are known. Writes for each node the number of the group that it may join, or -1
   * where the device does not take it. Tern divides groups into parts: nodes of one hang together, and no node outside
   * needs a result of the part that it makes an operand for. */
  tern_device_status (*choose)(int32_t device, const tern_device_part* nodes, int32_t* groups);
  /* Once for each part. TERN_DEVICE_UNSUPPORTED: not this one after all; its nodes run by Tern's kernels.
   * `scratch_bytes`: how much memory it needs while it runs. */
  tern_device_status (*compile)(int32_t device, const tern_device_part* part, tern_device_partition* partition,
                                uint64_t* scratch_bytes);
  /* Puts it on the stream. Addresses in the order of `inputs` and `outputs` of the part; outputs share no memory with
   * inputs. Called at once by several threads. */
  tern_device_status (*run)(int32_t device, tern_device_stream stream, tern_device_partition partition,
                            const tern_device_address* inputs, const tern_device_address* outputs,
                            tern_device_address scratch);
  tern_device_status (*release)(int32_t device, tern_device_partition partition);
} tern_device_partition_functions;

/* "collective": communication among devices of one or several processes, as NCCL does it. The ranks agree on it over
 * the application's group (tern/collective.h): all have devices of one plugin with this table, no two the same one.
 * Without it, with --reproducible, and for what it does not take, tensors go through the host and that group. */
#define TERN_DEVICE_GROUP_ID_BYTES 128

enum { /* kinds and reductions have the numbers of tern/collective.h */
       TERN_COLLECTIVE_ALL_REDUCE = 0,
       TERN_COLLECTIVE_ALL_GATHER = 1,
       TERN_COLLECTIVE_REDUCE_SCATTER = 2,
       TERN_COLLECTIVE_BROADCAST = 3
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
  int32_t reduction;           /* of all_reduce and reduce_scatter */
  int32_t dtype;               /* the numbers of tern/dtype.h; no complex ones, which are two floats each */
  int32_t root;                /* of broadcast: the rank that sends */
  int32_t reserved;            /* 0 */
  uint64_t count;              /* elements of `in`; of reduce_scatter a multiple of the number of ranks */
  tern_device_address in, out; /* without gaps; the same (all_reduce, broadcast), or they share nothing */
} tern_device_collective;

typedef struct tern_device_collective_functions {
  uint32_t size; /* sizeof(tern_device_collective_functions) of the plugin */
  uint32_t reserved;
  /* Rank 0 makes it, and Tern brings it to the others: TERN_DEVICE_GROUP_ID_BYTES bytes. */
  tern_device_status (*unique_id)(int32_t device, uint8_t* id);
  /* Called by all ranks with one id; may wait for the others, but not for ever. */
  tern_device_status (*join)(int32_t device, const uint8_t* id, int32_t rank, int32_t ranks,
                             tern_device_communicator* communicator);
  /* Puts the call on the stream. TERN_DEVICE_UNSUPPORTED: not this one, on all ranks alike, as kind, reduction and
   * dtype decide alone; nothing has been put there. Never while a graph is recorded. */
  tern_device_status (*run)(int32_t device, tern_device_stream stream, tern_device_communicator communicator,
                            const tern_device_collective* call);
  /* Ends it; nothing of it is under way on this rank, or it never will end: then it is given up. What others have put
   * on their streams and this rank has not fails: their stream_synchronize says so until they leave, too. */
  tern_device_status (*leave)(int32_t device, tern_device_communicator communicator);
} tern_device_collective_functions;

#if defined(_WIN32)
#define TERN_DEVICE_EXPORT __declspec(dllexport)
#else
#define TERN_DEVICE_EXPORT __attribute__((visibility("default")))
#endif

/* What a plugin exports. Called once; the result stays valid as long as the library is loaded, which is for ever. It
 * must succeed on a machine without the device: `count` is where a missing driver is reported. */
TERN_DEVICE_EXPORT const tern_device_plugin* tern_device_library(void);

#ifdef __cplusplus
}
#endif

#endif
