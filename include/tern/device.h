/* Device plugins: a plugin is a shared library that lets Tern run programs on one kind of device.
 *
 * A plugin exports `tern_device_library` below, in plain C. Tern looks for plugins in the folder `tern/devices` beside
 * its own library or command, and in the files and folders of TERN_DEVICE_PATH (separated by colons); `tern devices`
 * lists them. The functions of tern_device_plugin are enough to run every op that has a portable kernel: Tern supplies
 * kernels as source text in the dialect that the device compiles. examples/device is a complete plugin.
 *
 * Rules for all functions
 * - Errors: a function returns TERN_DEVICE_OK or another status; after another status, `last_message` on the same
 * thread describes the error.
 * - Threads: several threads may call functions at the same time. Calls with the same stream never overlap, except
 *   stream_synchronize.
 * - A device is identified by its index, 0 to count - 1, for the lifetime of the process.
 * - Ownership: handles belong to the plugin. Tern returns each handle once, through the function that destroys it, and
 *   does not use it afterwards.
 * - Work on a stream runs in order; streams are independent of each other. A function that puts work on a stream may
 *   return before the work is finished. The next stream_synchronize or event_synchronize reports errors of that work,
 *   and so does each later one on the same stream.
 * - Structs begin with their size: members beyond the `size` that the other side wrote do not exist.
 */
#ifndef TERN_DEVICE_H
#define TERN_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Tern refuses plugins with another version. New members at the end of structs and new
 * extensions keep the version; a changed meaning raises it. */
#define TERN_DEVICE_ABI 1

typedef int32_t tern_device_status;
enum {
  TERN_DEVICE_OK = 0,
  TERN_DEVICE_INVALID = 1,       /* the call breaks a rule of this file */
  TERN_DEVICE_OUT_OF_MEMORY = 2, /* Tern frees its unused memory and tries once more */
  TERN_DEVICE_UNSUPPORTED = 3,   /* not supported by the device: an element type, a size */
  TERN_DEVICE_COMPILE = 4,       /* the device's compiler refused a kernel; the message is its log */
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

/* The language of kernel texts. Each text defines one kernel; tern_device_source has its name. */
enum {
  /* C++ for the host: `extern "C" void NAME(const void* const* args, int64_t begin, int64_t end)` runs items begin to
   * end - 1 of a launch; args[i] points to argument i (the address or the value). */
  TERN_DIALECT_CPP = 0,
  TERN_DIALECT_OPENCL =
      1, /* OpenCL C 1.2; compile without contraction, with correctly rounded division and square root */
  TERN_DIALECT_CUDA = 2,
  TERN_DIALECT_HIP = 3,
  TERN_DIALECT_METAL = 4,
  /* Not a text: the bytes of a SPIR-V module, compiled from OpenCL C at export. Only devices with TERN_DEVICE_SPIRV get
   * it; their own dialect is TERN_DIALECT_OPENCL. */
  TERN_DIALECT_SPIRV = 5,
  /* Not a text: a kernel of an archive, compiled for tern_device_source.target. Only devices that list the target in
   * tern_device_properties.kernel_targets get it. */
  TERN_DIALECT_COMPILED = 6
};

enum {                                   /* bits of tern_device_properties.features */
       TERN_DEVICE_DOUBLE = 1 << 0,      /* kernels may use double */
       TERN_DEVICE_HOST_MEMORY = 1 << 1, /* addresses are host addresses, and kernels can read all host memory,
                                            including mapped files: weights need no copies */
       TERN_DEVICE_SPIRV = 1 << 2,       /* module_load also takes TERN_DIALECT_SPIRV */
       TERN_DEVICE_GROUPS = 1 << 3       /* kernels may use barriers and up to 32 KiB of local memory in groups of up to
                                            256 items (tern_device_launch.group), and gain by it. In CUDA, HIP and Metal
                                            they also exchange values among 16 neighbouring items. */
};

typedef struct tern_device_properties {
  uint32_t size; /* sizeof of the caller */
  int32_t dialect;
  uint64_t features;
  uint64_t memory_bytes;    /* of the device; 0: unknown */
  uint32_t units;           /* number of multiprocessors or cores; 0: unknown */
  uint32_t vector_floats;   /* if each item runs on its own (CPUs): floats in a vector register; 0 if neighbouring items
                               run in lockstep (GPUs) and should read neighbouring addresses */
  char name[128];           /* for people, ends with a zero: "Intel(R) Arc(TM) A770" */
  char driver[128];         /* name and version of compiler and driver: part of the key of cached kernels */
  char kernel_targets[128]; /* the kernels of archives that module_load takes, best first, separated by spaces:
                               "cuda:sm_90 cuda:ptx". Not those of TERN_DEVICE_SPIRV */
} tern_device_properties;

typedef struct tern_device_source {
  uint32_t size; /* sizeof of the caller */
  int32_t dialect;
  const char* name; /* of the kernel */
  const char* text; /* `length` bytes, then a zero */
  uint64_t length;
  const char* target; /* what a compiled kernel was compiled for: "cuda:sm_90"; null for texts */
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
  uint32_t group; /* 0: the device chooses the size of work-groups (blocks). Else the required size, and `items` is a
                     multiple of it; TERN_DIALECT_CPP ignores it. At most 64 without TERN_DEVICE_GROUPS, else 256 */
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

  /* Memory, aligned to 64 bytes at least. Tern allocates large segments and divides them itself. Tern calls `free` when
   * no pending work uses the memory. */
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
  tern_device_status (*stream_destroy)(int32_t device, tern_device_stream stream); /* waits for its work */
  tern_device_status (*stream_synchronize)(int32_t device, tern_device_stream stream);

  /* An event happens when all work that was on the stream at event_record has finished. Each record starts it anew. */
  tern_device_status (*event_create)(int32_t device, tern_device_event* event);
  tern_device_status (*event_destroy)(int32_t device, tern_device_event event);
  tern_device_status (*event_record)(int32_t device, tern_device_event event, tern_device_stream stream);
  tern_device_status (*event_synchronize)(int32_t device, tern_device_event event); /* the host waits for it */
  tern_device_status (*stream_wait)(int32_t device, tern_device_stream stream, tern_device_event event);

  /* A module is one compiled source. The plugin reads the source before it returns. It may cache compiled modules on
   * disk, and must compile again if anything that affects the result has changed. */
  tern_device_status (*module_load)(int32_t device, const tern_device_source* source, tern_device_module* module);
  tern_device_status (*module_unload)(int32_t device, tern_device_module module); /* destroys its kernels too */
  tern_device_status (*module_kernel)(int32_t device, tern_device_module module, const char* name,
                                      tern_device_kernel* kernel);
  tern_device_status (*launch)(int32_t device, tern_device_stream stream, tern_device_kernel kernel,
                               const tern_device_launch* launch);

  /* A table of further functions, or null if the plugin has none of this name and version. All tables are optional;
   * they follow below. */
  const void* (*get_extension)(const char* name, uint32_t version);
} tern_device_plugin;

/* Extensions. Each is a struct that begins with its size. A plugin sets all members that are not optional, and keeps
 * the struct valid while the library is loaded. Everything also runs without extensions. */
#define TERN_DEVICE_EXTENSION_VERSION 1

/* "events": queries and times of events. */
typedef struct tern_device_event_functions {
  uint32_t size; /* sizeof(tern_device_event_functions) of the plugin */
  uint32_t reserved;
  /* Sets 1 if the event has happened, else 0. The event was recorded. */
  tern_device_status (*query)(int32_t device, tern_device_event event, int32_t* happened);
  /* Seconds between two events that have happened. */
  tern_device_status (*elapsed)(int32_t device, tern_device_event from, tern_device_event to, double* seconds);
} tern_device_event_functions;

/* "share": streams whose kernels run on a part of the device's multiprocessors, so that sessions do not take them from
 * each other. */
typedef struct tern_device_share {
  uint32_t size;   /* sizeof of the caller */
  uint32_t units;  /* asked: at least so many multiprocessors, 1 or more. Given: how many the stream has */
  uint32_t queues; /* asked: how many streams the part is to serve at once, apart from other parts'; 0: no such limit.
                      Given: 0 where the driver has none */
  uint32_t reserved;
} tern_device_share;

typedef struct tern_device_share_functions {
  uint32_t size; /* sizeof(tern_device_share_functions) of the plugin */
  uint32_t reserved;
  /* Creates a stream, which stream_destroy ends, and its part with it. Parts are disjoint while there are enough
   * multiprocessors. TERN_DEVICE_INVALID: more units than there are. TERN_DEVICE_UNSUPPORTED: the driver has no parts.
   */
  tern_device_status (*stream_create)(int32_t device, tern_device_share* share, tern_device_stream* stream);
} tern_device_share_functions;

/* "native_stream": streams of the vendor's interface beside the plugin's: CUstream, hipStream_t. For applications that
 * compute on the device themselves. */
typedef struct tern_device_native_stream_functions {
  uint32_t size; /* sizeof(tern_device_native_stream_functions) of the plugin */
  uint32_t reserved;
  /* The vendor's handle, valid as long as the stream. */
  tern_device_status (*handle)(int32_t device, tern_device_stream stream, void** native);
  /* Later work on `stream` waits for what has been put on the vendor's stream so far. Null: its default stream. */
  tern_device_status (*wait)(int32_t device, tern_device_stream stream, void* native);
} tern_device_native_stream_functions;

/* "graph": recorded launches that the device starts together. Without this table Tern replays the launches. */
typedef struct tern_device_graph_functions {
  uint32_t size; /* sizeof(tern_device_graph_functions) of the plugin */
  uint32_t reserved;
  /* Starts recording: until `end`, work that is put on the stream (launch, copy_within, overrides, partitions) is
   * recorded with its arguments and does not run. Tern makes no other calls with the stream meanwhile.
   * TERN_DEVICE_UNSUPPORTED: this device has no graphs; recording has not started. */
  tern_device_status (*begin)(int32_t device, tern_device_stream stream);
  /* Ends recording, also if it returns an error. TERN_DEVICE_UNSUPPORTED: the device cannot build this graph; Tern
   * replays it. `graph` is null if Tern does not need the graph any more. */
  tern_device_status (*end)(int32_t device, tern_device_stream stream, tern_device_graph* graph);
  /* Puts the recorded work on a stream of the device, in order. */
  tern_device_status (*launch)(int32_t device, tern_device_stream stream, tern_device_graph graph);
  /* The graph is not running. */
  tern_device_status (*destroy)(int32_t device, tern_device_graph graph);
  /* Optional. While recording: describes the launches that follow, for profilers and dumps: "forward:12 matmul from
   * aten.linear.default in encoder.fc1". `text` is valid during the call. */
  tern_device_status (*annotate)(int32_t device, tern_device_stream stream, const char* text);
} tern_device_graph_functions;

/* "graph_conditional": control flow inside graphs, for plugins that have "graph". Without this table Tern reads the
 * predicates and replays one graph for each body. Bodies nest; each begin_... has one end_body. While recording: */
typedef struct tern_device_graph_conditional_functions {
  uint32_t size; /* sizeof(tern_device_graph_conditional_functions) of the plugin */
  uint32_t reserved;
  /* The body that follows runs if the byte at `predicate` is not 0 when the stream gets there. */
  tern_device_status (*begin_if)(int32_t device, tern_device_stream stream, tern_device_address predicate);
  /* The rest of the body runs if that byte was 0. */
  tern_device_status (*begin_else)(int32_t device, tern_device_stream stream);
  /* The body that follows repeats while the byte is not 0; it is read before each iteration. The body writes it. */
  tern_device_status (*begin_while)(int32_t device, tern_device_stream stream, tern_device_address predicate);
  tern_device_status (*end_body)(int32_t device, tern_device_stream stream);
} tern_device_graph_conditional_functions;

/* "override": kernels of the plugin, such as those of a vendor's library. Tern's kernels run the nodes that the plugin
 * refuses. */
#define TERN_DEVICE_MAX_RANK 16

typedef struct tern_device_tensor {
  tern_device_address data; /* 0 in `prepare`, and if the operand or result is absent */
  int32_t dtype;            /* the numbers of tern/dtype.h: 1 bool, 2 uint8, ...; 0: absent */
  int32_t rank;
  int64_t sizes[TERN_DEVICE_MAX_RANK];
  int64_t strides[TERN_DEVICE_MAX_RANK]; /* in elements; 0 for an expanded axis, negative for a flipped axis */
} tern_device_tensor;

enum { TERN_ATTRIBUTE_INTEGERS = 1, TERN_ATTRIBUTE_NUMBERS = 2, TERN_ATTRIBUTE_TEXT = 3 };

typedef struct tern_device_attribute {
  const char* name; /* `tern ops OP` lists them: "axis" */
  int32_t kind;
  int32_t count;           /* length of the array of that kind; a text has a final zero that does not count */
  const int64_t* integers; /* also booleans, enumerations and symbolic sizes */
  const double* numbers;
  const char* text;
} tern_device_attribute;

/* A step of an expression. schema/pointwise.h of Tern's sources lists the ops. Arithmetic is done in the step's dtype;
 * the last step is the result. */
typedef struct tern_device_instruction {
  const char* name;         /* "load", "constant", "add", "exp" */
  int32_t dtype;            /* of the step's value */
  int32_t operands[3];      /* numbers of earlier steps; -1: none */
  int64_t integer;          /* load: number of the input; constant: its value if it is an integer or boolean */
  double number, imaginary; /* constant: other values */
} tern_device_instruction;

enum { /* the numbers of tern/precision.h */
       TERN_DEVICE_PRECISION_EXPORTED = 0,
       TERN_DEVICE_PRECISION_BFLOAT16 = 1,
       TERN_DEVICE_PRECISION_AUTOMATIC = 2, /* any that keeps 10 bits of the fraction or more, such as TF32 */
       TERN_DEVICE_PRECISION_FLOAT16 = 3
};

typedef struct tern_device_op {
  uint32_t size; /* sizeof(tern_device_op) of the caller */
  uint32_t version;
  const char* name; /* "matmul"; `tern ops` lists them */
  int32_t input_count, output_count, attribute_count;
  int32_t precision;                /* TERN_DEVICE_PRECISION_...: what a product of float32 may round its operands to */
  const tern_device_tensor* inputs; /* with any strides */
  const tern_device_tensor* outputs; /* contiguous, but for TERN_DEVICE_OVERRIDE_COLUMNS; disjoint from inputs, or
                                        exactly in place of an input that the op may overwrite */
  const tern_device_attribute* attributes;
  /* For "pointwise": the expression for each output element; inputs are broadcast. Null for other ops. */
  const tern_device_instruction* instructions;
  int64_t instruction_count;
} tern_device_op;

enum { /* flags of an override table */
       /* A "matmul" may write some columns of a larger result: its rows are further apart than they are long. */
       TERN_DEVICE_OVERRIDE_COLUMNS = 1
};

typedef struct tern_device_override_functions {
  uint32_t size;  /* sizeof(tern_device_override_functions) of the plugin */
  uint32_t flags; /* TERN_DEVICE_OVERRIDE_... */
  /* Called once for each node when its sizes are known. TERN_DEVICE_UNSUPPORTED: refuses the node. Else sets a handle,
   * and the bytes of scratch memory for each run. */
  tern_device_status (*prepare)(int32_t device, const tern_device_op* op, tern_device_override* override,
                                uint64_t* scratch_bytes);
  /* Puts the node on the stream. Only addresses differ from `prepare`. Sessions share an override, so
   * streams may differ from run to run; threads never run one override at the same time. */
  tern_device_status (*run)(int32_t device, tern_device_stream stream, tern_device_override override,
                            const tern_device_op* op, tern_device_address scratch);
  tern_device_status (*release)(int32_t device, tern_device_override override);
  /* Optional. In place of `run` for ops on batches of matrices: cholesky, eigh, lu_factor, qr, svd. Also writes an
   * int32 for each matrix to `unfinished`, in the order of the results: 0 where all its results are written. Tern's
   * kernels then compute the results of the others from the same operands, and report matrices that have none. */
  tern_device_status (*run_matrices)(int32_t device, tern_device_stream stream, tern_device_override override,
                                     const tern_device_op* op, tern_device_address scratch,
                                     tern_device_address unfinished);
} tern_device_override_functions;

/* "libraries": the libraries of the vendor that stand behind overrides and collectives, for people. */
typedef struct tern_device_library_functions {
  uint32_t size; /* sizeof(tern_device_library_functions) of the plugin */
  uint32_t reserved;
  /* Each library's name and version, or why it is not used: "cuBLASLt 13.1.0; NCCL is missing: no library
   * libnccl.so.2". Valid until the thread's next call. */
  const char* (*describe)(int32_t device);
} tern_device_library_functions;

/* "profiler": times from the device's clock. Without this table Tern waits after each node that it times, and reads the
 * host's clock. */
typedef struct tern_device_span {
  uint64_t id;         /* of the last `mark` before it; 0: none */
  uint64_t begin, end; /* nanoseconds on a clock of the device */
} tern_device_span;

typedef struct tern_device_profiler_functions {
  uint32_t size; /* sizeof(tern_device_profiler_functions) of the plugin */
  uint32_t reserved;
  /* Until `end` the device keeps a span of each launch and copy on the stream, also from overrides. No graph is
   * recorded meanwhile; launches of graphs need no span. */
  tern_device_status (*begin)(int32_t device, tern_device_stream stream);
  /* Work that is put on the stream from now on has this id. */
  tern_device_status (*mark)(int32_t device, tern_device_stream stream, uint64_t id);
  /* Called after stream_synchronize. Writes up to `capacity` spans that were not taken yet, in the order of the calls,
   * and their number. */
  tern_device_status (*take)(int32_t device, tern_device_stream stream, tern_device_span* spans, uint64_t capacity,
                             uint64_t* count);
  /* Called after stream_synchronize. Drops spans that were not taken. */
  tern_device_status (*end)(int32_t device, tern_device_stream stream);
} tern_device_profiler_functions;

/* "pinned_memory": host memory that the device copies from asynchronously. Tern uploads the weights of mapped files
 * through two such buffers: it fills one, and checks its hash, while the device copies the other. Without this table
 * Tern copies from the mapped file. */
typedef struct tern_device_pinned_memory_functions {
  uint32_t size; /* sizeof(tern_device_pinned_memory_functions) of the plugin */
  uint32_t reserved;
  /* TERN_DEVICE_UNSUPPORTED: no faster on this device. */
  tern_device_status (*allocate)(int32_t device, uint64_t bytes, void** memory);
  tern_device_status (*free)(int32_t device, void* memory);
} tern_device_pinned_memory_functions;

/* "memory_segments": a range of addresses that gets memory piece by piece, so that blocks can grow in place and memory
 * is not fragmented. Tern reserves one range for all memory of the device, and maps the pieces in use. Without this
 * table Tern allocates segments and divides them. */
typedef struct tern_device_memory_segment_functions {
  uint32_t size; /* sizeof(tern_device_memory_segment_functions) of the plugin */
  uint32_t reserved;
  /* The size of a piece. TERN_DEVICE_UNSUPPORTED: this device has no such memory. */
  tern_device_status (*piece)(int32_t device, uint64_t* bytes);
  /* Reserves addresses without memory, aligned to a piece, for the lifetime of the process; `bytes` is a multiple of
   * the piece. */
  tern_device_status (*reserve)(int32_t device, uint64_t bytes, tern_device_address* address);
  /* Adds memory to whole pieces without memory, or removes it from whole pieces with memory that no pending work uses.
   * A failed `map` maps nothing; TERN_DEVICE_OUT_OF_MEMORY as for `allocate`. */
  tern_device_status (*map)(int32_t device, tern_device_address address, uint64_t bytes);
  tern_device_status (*unmap)(int32_t device, tern_device_address address, uint64_t bytes);
} tern_device_memory_segment_functions;

/* "partition": parts of a program that the device compiles together and runs as one launch, for graph compilers. Other
 * nodes run one by one. */
typedef struct tern_device_partition_s* tern_device_partition;

typedef struct tern_device_part_node {
  uint32_t size; /* sizeof(tern_device_part_node) of the caller */
  uint32_t reserved;
  tern_device_op op;      /* its tensors have no address */
  const int32_t* inputs;  /* for each operand, the number of its value; -1: absent */
  const int32_t* outputs; /* the same for results */
} tern_device_part_node;

/* Nodes in execution order. */
typedef struct tern_device_part {
  uint32_t size; /* sizeof(tern_device_part) of the caller */
  uint32_t reserved;
  int32_t node_count, value_count, input_count, output_count;
  const tern_device_part_node* nodes;
  const tern_device_tensor* values; /* by number; `data` is set only in `compile`, for weights, which never change */
  const int32_t* inputs;            /* numbers of values from outside the part */
  const int32_t* outputs;           /* numbers of values that are read outside the part */
} tern_device_part;

/* The device looks at values of microscaling (MX), too: the operand of dequantize, and the right operand of matmul.
 * Of such a value tern_device_tensor has the elements' dtype and the logical sizes. Its elements follow each other row
 * by row, then come the scales, float8_e8m0, one for each `block` elements of a row, in the order `layout`: 0 row by
 * row, 1 in tiles of 128 rows by 4 scales, as cuBLAS has them. The attributes of such a dequantize say block and
 * layout, and so do those of a matmul with such a right operand [n, k], whose transpose it multiplies. */
#define TERN_DEVICE_PARTITION_MICROSCALED 1u

typedef struct tern_device_partition_functions {
  uint32_t size;  /* sizeof(tern_device_partition_functions) of the plugin */
  uint32_t flags; /* TERN_DEVICE_PARTITION_... */
  /* Called once, when sizes are known. Sets the number of a group for each node, or -1 to refuse the node. Tern divides
   * groups into parts that are connected and convex: no path between two nodes of a part leaves the part. */
  tern_device_status (*choose)(int32_t device, const tern_device_part* nodes, int32_t* groups);
  /* Called once for each part. TERN_DEVICE_UNSUPPORTED: refuses the part; Tern's kernels run its nodes. Else sets a
   * handle, and the bytes of scratch memory for each run. */
  tern_device_status (*compile)(int32_t device, const tern_device_part* part, tern_device_partition* partition,
                                uint64_t* scratch_bytes);
  /* Puts the part on the stream. Addresses are in the order of `inputs` and `outputs` of the part; outputs are disjoint
   * from inputs. Several threads may run one partition at the same time. */
  tern_device_status (*run)(int32_t device, tern_device_stream stream, tern_device_partition partition,
                            const tern_device_address* inputs, const tern_device_address* outputs,
                            tern_device_address scratch);
  tern_device_status (*release)(int32_t device, tern_device_partition partition);
} tern_device_partition_functions;

/* "collective": communication among devices of one or several processes, as with NCCL. The ranks agree to use it over
 * the application's group (tern/collective.h): each rank needs its own device of the same plugin. Without this table,
 * with --reproducible, and for calls that it refuses, tensors go through the host and the application's group. */
#define TERN_DEVICE_GROUP_ID_BYTES 128

enum { /* kinds and reductions have the numbers of tern/collective.h */
       TERN_COLLECTIVE_ALL_REDUCE = 0,
       TERN_COLLECTIVE_ALL_GATHER = 1,
       TERN_COLLECTIVE_REDUCE_SCATTER = 2,
       TERN_COLLECTIVE_BROADCAST = 3,
       /* Of plugins whose table has `run_batch`: */
       TERN_COLLECTIVE_ALL_TO_ALL = 4,
       TERN_COLLECTIVE_SEND = 11,   /* in `run_batch` alone */
       TERN_COLLECTIVE_RECEIVE = 12 /* in `run_batch` alone */
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
  int32_t reduction; /* for all_reduce and reduce_scatter */
  int32_t dtype;     /* the numbers of tern/dtype.h; never complex: Tern passes two floats for each element */
  int32_t root;      /* for broadcast: the rank that sends; for send and receive: the other rank */
  int32_t reserved;  /* 0 */
  uint64_t count;    /* elements of `in`, and of `out` for receive; for reduce_scatter a multiple of the number
                        of ranks */
  tern_device_address in, out; /* contiguous; the same (all_reduce, broadcast) or disjoint */
  /* all_to_all: elements for and from each rank; null: equal parts. Valid during the call. */
  const int64_t *in_parts, *out_parts;
} tern_device_collective;

typedef struct tern_device_collective_functions {
  uint32_t size; /* sizeof(tern_device_collective_functions) of the plugin */
  uint32_t reserved;
  /* Rank 0 makes the id, TERN_DEVICE_GROUP_ID_BYTES bytes; Tern sends it to the other ranks. */
  tern_device_status (*unique_id)(int32_t device, uint8_t* id);
  /* All ranks call it with the same id. It may wait for the others, with a timeout. */
  tern_device_status (*join)(int32_t device, const uint8_t* id, int32_t rank, int32_t ranks,
                             tern_device_communicator* communicator);
  /* Puts the call on the stream. TERN_DEVICE_UNSUPPORTED: refuses it and puts nothing there; this must depend only on
   * kind, reduction and dtype, so that all ranks agree. Never called while a graph is recorded. */
  tern_device_status (*run)(int32_t device, tern_device_stream stream, tern_device_communicator communicator,
                            const tern_device_collective* call);
  /* Leaves the group. This rank has no pending calls, or its calls can never finish and are abandoned. Calls that other
   * ranks have made and this rank has not fail: stream_synchronize on those ranks reports it until they leave too. */
  tern_device_status (*leave)(int32_t device, tern_device_communicator communicator);
  /* Null: messages go through the host. Puts messages on the stream that are in flight together, of kinds send and
   * receive. TERN_DEVICE_UNSUPPORTED as for `run`: of the kinds and dtypes alone. */
  tern_device_status (*run_batch)(int32_t device, tern_device_stream stream, tern_device_communicator communicator,
                                  const tern_device_collective* calls, uint32_t count);
  /* Null: a rank that has failed is found out by `leave` alone. Any thread, while others use the communicator: a rank
   * has failed. Calls that wait end, and stream_synchronize fails with this message. Only `leave` follows. */
  tern_device_status (*abort)(int32_t device, tern_device_communicator communicator, const char* message);
} tern_device_collective_functions;

/* "kernel_compiler": compiles kernels for archives (`tern export --target cuda:sm_90`), also on machines without a
 * device. */
typedef struct tern_device_kernel_compiler_functions {
  uint32_t size;   /* sizeof(tern_device_kernel_compiler_functions) of the plugin */
  int32_t dialect; /* of the texts, and tern_device_properties.features of devices that run the targets' kernels */
  uint64_t features;
  /* The targets, separated by spaces: "cuda:ptx cuda:sm_80". Valid while the library is loaded. */
  const char* (*targets)(void);
  /* The compiler, for people: "NVRTC 13.0"; valid until the thread's next call. Null if it is missing: last_message
   * says what is. */
  const char* (*compiler)(const char* target);
  /* Compiles a text of the plugin's dialect, and calls `take` once with the result. Several threads may call it. */
  tern_device_status (*compile)(const char* target, const tern_device_source* source,
                                void (*take)(void* context, const void* bytes, uint64_t length), void* context);
} tern_device_kernel_compiler_functions;

#if defined(_WIN32)
#define TERN_DEVICE_EXPORT __declspec(dllexport)
#else
#define TERN_DEVICE_EXPORT __attribute__((visibility("default")))
#endif

/* The function that a plugin exports. Tern calls it once and never unloads the library; the result must stay valid. It
 * must succeed on machines without the device: `count` reports a missing driver. */
TERN_DEVICE_EXPORT const tern_device_plugin* tern_device_library(void);

#ifdef __cplusplus
}
#endif

#endif
