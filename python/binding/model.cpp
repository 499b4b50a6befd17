// tern.Model.
#include "python/binding/model.h"

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tern/error.h>
#include <tern/text.h>

#include <algorithm>
#include <utility>

#include "python/binding/arrays.h"
#include "python/binding/call.h"
#include "python/binding/file_path.h"
#include "python/binding/fork.h"
#include "python/binding/gil.h"
#include "python/binding/instance.h"
#include "python/binding/memory_file.h"
#include "python/binding/tensor.h"
#include "tools/files/any.h"
#include "tools/inputs.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tern::python {

void add_function(nb::module_& m);

namespace {

constexpr std::pair<std::string_view, Access> kAccess[] = {
    {"map", Access::map}, {"populate", Access::populate}, {"read", Access::read}};
constexpr std::pair<std::string_view, Verify> kVerify[] = {
    {"never", Verify::never}, {"first_use", Verify::first_use}, {"now", Verify::now}};
constexpr std::pair<std::string_view, Precision> kPrecision[] = {{"exported", Precision::exported},
                                                                 {"bfloat16", Precision::bfloat16},
                                                                 {"float16", Precision::float16},
                                                                 {"auto", Precision::automatic}};

template <class Value, std::size_t N>
Value choice(const std::pair<std::string_view, Value> (&choices)[N], const char* option, const std::string& given) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (name == given) return value;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
  }
  fail(ErrorCode::invalid_argument, fmt::format("{} must be one of {}, not '{}'", option, names, given));
}

constexpr const char* kLoadText = R"(Opens an archive (.tern), or imports a .pt2 file, and prepares it for a device.

path          a .tern archive, which is mapped, or a .pt2 file: its path, or its bytes, which are copied (bytes,
              bytearray, memoryview, a binary file such as io.BytesIO)
device        'cpu', or one that devices() lists: 'xpu', 'cuda:1'
threads       threads of a run; 0: as many as OpenMP reports
precision     precision of float32 products: 'exported', 'bfloat16', 'float16' or 'auto', the fastest one here
keep          patterns of nodes that keep float32: 'lm_head', 'layers.0.*'
reproducible  the same bits on every device and processor; slower
native_code   run the compiled kernels of the archive, which can do anything: use it only for archives that you trust
copy_weights  copy the weights to devices that can read the mapped file
access        of an archive: 'map' the file, 'populate': load all pages now, 'read': read it into memory
verify        when hashes of an archive's weights are checked: 'never', 'first_use', 'now'
max_seconds, max_memory, max_iterations
              limits for a run, a session's bytes and each while loop; 0: none
weight_cache  folder for packed weights, or 'off'; '': TERN_WEIGHT_CACHE, else ~/.cache/tern/weights

Raises tern.Error.)";

constexpr const char* kLoadSignature =
    "def load(path: str | os.PathLike[str] | bytes | bytearray | memoryview | typing.IO[bytes], device: str = 'cpu', "
    "*, "
    "threads: int = 0, precision: str = 'exported', keep: collections.abc.Sequence[str] = [], reproducible: bool = "
    "False, native_code: bool = False, copy_weights: bool = False, access: str = 'map', verify: str = 'first_use', "
    "max_seconds: float = 0.0, max_memory: int = 0, max_iterations: int = 0, weight_cache: str = '') -> Model";

PyModel model_of(std::string path, std::shared_ptr<const MemoryFile> file, Model model, PrepareOptions options) {
  auto facts = std::make_shared<Facts>(std::move(path), std::move(file), std::move(model), std::move(options));
  return {facts, std::make_shared<SessionPool>(facts)};
}

/// The model of another model's archive with other weights.
PyModel derived(const PyModel& m, Model model) {
  return model_of(m.facts->path, m.facts->file, std::move(model), m.facts->options);
}

/// Opens the file; messages name the file `label`.
Model open_as(const std::string& path, const std::string& label, const OpenOptions& options) {
  try {
    const WithoutGil released;
    check_program_file(path);
    return is_pt2(path) ? open_model(path) : Model::open(path, options);
  } catch (const Error& e) {
    std::string message = e.what();
    const std::size_t at = message.find(path);
    if (path == label || at == std::string::npos) throw;
    fail(e.code(), message.replace(at, path.size(), label));
  }
}

PyModel load(nb::handle source, const std::string& device, int threads, const std::string& precision,
             const std::vector<std::string>& keep, bool reproducible, bool native_code, bool copy_weights,
             const std::string& access, const std::string& verify, double max_seconds, std::uint64_t max_memory,
             std::int64_t max_iterations, const std::string& weight_cache) {
  check_fork();
  const OpenOptions open{choice(kAccess, "access", access), choice(kVerify, "verify", verify)};
  PrepareOptions options;
  options.device = device;
  options.threads = threads;
  options.precision = choice(kPrecision, "precision", precision);
  options.float32_nodes = keep;
  options.reproducible = reproducible;
  options.native_code = native_code;
  options.copy_weights = copy_weights;
  options.max_seconds = max_seconds;
  options.max_memory = max_memory;
  options.max_iterations = max_iterations;
  options.weight_cache = weight_cache;
  std::shared_ptr<const MemoryFile> file;
  std::string path, label = "<memory>";
  if (PyUnicode_Check(source.ptr()) || nb::hasattr(source, "__fspath__")) {
    path = label = file_path_of(source);
  } else {
    file = memory_file_of(source);
    path = file->path();
  }
  if (is_pt2(path) && (open.access != Access::map || open.verify != Verify::first_use))
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: a .pt2 file is imported, so load() takes neither access nor verify for it; export() it and "
                     "load the archive",
                     label));
  return model_of(label, std::move(file), open_as(path, label, open), options);
}

PyObject* call_model(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call_slot([&] {
    const auto& model = instance<PyModel>(self);
    return call(model.facts->main(), *model.pool, args, kwargs);
  });
}

nb::object helper(const char* module, const char* name) {
  return nb::module_::import_(module).attr(name);
}

/// The files that an archive carries for applications.
void add_files(nb::class_<PyModel>& c) {
  c.def_prop_ro(
      "files",
      [](const PyModel& m) {
        nb::dict sizes;
        for (const FileInfo& f : m.facts->model().files()) sizes[f.name.c_str()] = f.size;
        return sizes;
      },
      nb::sig("def files(self) -> dict[str, int]"), "Sizes of the attached files by name: {'tokenizer.json': 3615}.");
  c.def(
      "file",
      [](const PyModel& m, const std::string& name) {
        const std::string_view bytes = m.facts->model().file(name);
        return nb::bytes(bytes.data(), bytes.size());
      },
      "name"_a, "Bytes of an attached file.");
  c.def(
      "tokenizer", [](const PyModel& m) { return Tokenizer::from_model(m.facts->model()); },
      "The tokenizer that the archive carries.");
  c.def(
      "chat_template",
      [](const PyModel& m, const std::string& name) { return ChatTemplate::from_model(m.facts->model(), name); },
      "name"_a = "", "The chat template that the archive carries; `name` chooses among several.");
}

void add_facts(nb::class_<PyModel>& c) {
  add_files(c);
  c.def_prop_ro(
      "functions", [](const PyModel& m) { return functions_of(m.facts, m.pool); },
      nb::sig("def functions(self) -> dict[str, Function]"), "The functions by their names.");
  c.def(
      "__getitem__",
      [](const PyModel& m, const std::string& name) {
        return PyFunction{m.facts, &m.facts->entry(name), m.pool};
      },
      "function"_a, "The function of this name.");
  c.def_prop_ro(
      "inputs", [](const PyModel& m) { return m.facts->main().info->inputs; }, "Inputs of a call of the model.");
  c.def_prop_ro(
      "outputs", [](const PyModel& m) { return m.facts->main().info->outputs; }, "Results of such a call.");
  c.def_prop_ro(
      "states", [](const PyModel& m) { return m.facts->model().states(); }, "Weights and other states.");
  c.def_prop_ro(
      "metadata",
      [](const PyModel& m) {
        nb::dict all;
        for (const auto& [key, value] : m.facts->model().metadata()) all[nb::cast(key)] = value;
        return all;
      },
      nb::sig("def metadata(self) -> dict[str, str]"),
      "Facts about the archive: 'torch' is the version that exported it.");
  c.def_prop_ro("path", [](const PyModel& m) { return m.facts->path; });
  c.def_prop_ro(
      "closed", [](const PyModel& m) { return m.facts->is_closed(); }, "True once close() was called.");
  c.def_prop_ro("device", [](const PyModel& m) { return m.facts->options.device; });
  c.def_prop_ro(
      "precision",
      [](const PyModel& m) {
        const Precision p = m.facts->prepared().precision();
        return std::string(std::ranges::find(kPrecision, p, [](const auto& c) { return c.second; })->first);
      },
      "Precision of float32 products: 'exported' or 'bfloat16', 'float16'.");
  c.def(
      "inspect",
      [](const PyModel& m) {
        m.facts->check_open();
        return helper("tern._inspect", "inspect_as")(m.facts->file ? m.facts->file->path() : m.facts->path,
                                                     m.facts->path);
      },
      nb::sig("def inspect(self) -> tern._inspect.Inspection"),
      "What is in the archive, as a tree; a text by str(), folding HTML in a notebook.");
  c.def("__repr__", [](nb::handle self) { return helper("tern._pytree", "describe_model")(self); });
  c.def_prop_ro("__signature__", [](const PyModel& m) {
    return helper("tern._pytree", "signature")(PyFunction{m.facts, &m.facts->main(), m.pool});
  });
  c.def("__reduce_ex__", [](nb::handle self, int) { return helper("tern._arrays", "reduce")(self); });
}

void add_state(nb::class_<PyModel>& c) {
  c.def(
      "read_state",
      [](const PyModel& m, const std::string& name) {
        Tensor t;
        m.pool->states_session().run_exclusive([&](Session& s) { t = s.read_state(name); });
        return t;
      },
      "name"_a, "A copy of a state as calls of the model see it.");
  c.def(
      "write_state",
      [](const PyModel& m, const std::string& name, nb::handle value) {
        const Tensor t = tensor_of(value, DType::invalid, name);
        m.pool->states_session().run_exclusive([&](Session& s) { s.write_state(name, t); });
      },
      "name"_a, "value"_a, "Sets a mutable state to a new value of the same dtype and shape.");
  c.def(
      "reset_state",
      [](const PyModel& m) { m.pool->states_session().run_exclusive([](Session& s) { s.reset_state(); }); },
      "Resets all mutable states to their values in the archive.");
  c.def(
      "seed",
      [](const PyModel& m, std::uint64_t seed) {
        m.pool->states_session().run_exclusive([&](Session& s) { s.set_seed(seed); });
      },
      "seed"_a, "Seeds the random numbers of later calls of the model.");
}

void add_makers(nb::class_<PyModel>& c) {
  c.def(
      "close", [](const PyModel& m) { m.pool->close(); },
      "Frees the model with all of its sessions at once, after their runs. Results of calls stay valid. A block of "
      "`with "
      "tern.load(...) as model` closes it at its end.");
  add_context<PyModel>(
      c, "def __enter__(self) -> Model", [](const PyModel& m) { m.facts->check_open(); },
      [](const PyModel& m) { m.pool->close(); });
  c.def(
      "cancel", [](const PyModel& m) { m.pool->cancel(); },
      "Ends all runs of the model and its sessions on other threads: they raise tern.Cancelled.");
  c.def(
      "session",
      [](const PyModel& m) {
        return PySession{m.facts, OneSession::create(m.facts)};
      },
      "A new session: its own mutable states, random numbers and memory, the shared weights. One thread at a time.");
  c.def(
      "with_weights",
      [](const PyModel& m, const std::string& path) {
        check_fork();
        return derived(m, m.facts->model().with_weights(path));
      },
      "path"_a, "A model with the weights of a safetensors file, found by the names of states.");
  c.def(
      "with_lora",
      [](const PyModel& m, const std::string& path, double scale, const std::string& a, const std::string& b,
         const std::string& weight, bool transposed) {
        check_fork();
        return derived(m, m.facts->model().with_lora(path, {scale, a, b, weight, transposed}));
      },
      "path"_a, "scale"_a = 1.0, nb::kw_only(), "a"_a = LoraOptions().a, "b"_a = LoraOptions().b,
      "weight"_a = LoraOptions().weight, "transposed"_a = false,
      "A model whose weights W become W + scale * B @ A, with the matrices of a safetensors file.");
  c.def(
      "profile",
      [](nb::handle self, const nb::args& args, const nb::kwargs& kwargs) {
        return helper("tern._profile", "profile_model")(self, *args, **kwargs);
      },
      nb::sig(
          "def profile(self, *args: typing.Any, runs: int = 10, function: str | None = None, **kwargs: typing.Any) -> "
          "tern._profile.Profile"),
      "Runs a new session `runs` times and returns the time of each node.");
}

}  // namespace

void add_model(nb::module_& m) {
  add_function(m);
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_model)}, {0, nullptr}};
  nb::class_<PyModel> c(m, "Model", nb::type_slots(slots),
                        R"(A model that is ready to run on a device; tern.load() returns it.

model(x, mask=m) calls 'forward', or the only function; model['decode'](...) another. Calls take NumPy arrays, torch
tensors, numbers and objects with DLPack, and share their memory. Results are Tensors with memory of their own.

Any number of threads may call a model. If the program has mutable states or random numbers, calls see those that earlier
calls left, and wait for each other; session() gives a thread its own.)");
  add_facts(c);
  add_state(c);
  add_makers(c);
  m.def("load", &load, "path"_a, "device"_a = "cpu", nb::kw_only(), "threads"_a = 0, "precision"_a = "exported",
        "keep"_a = std::vector<std::string>(), "reproducible"_a = false, "native_code"_a = false,
        "copy_weights"_a = false, "access"_a = "map", "verify"_a = "first_use", "max_seconds"_a = 0.0,
        "max_memory"_a = std::uint64_t{0}, "max_iterations"_a = std::int64_t{0}, "weight_cache"_a = "",
        nb::sig(kLoadSignature), kLoadText);
}

}  // namespace tern::python
