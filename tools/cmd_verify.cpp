// tern verify: exactness of a run in a precision or on a device, as a whole and node by node.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <utility>

#include "tools/calls.h"
#include "tools/command.h"
#include "tools/gains.h"
#include "tools/inputs.h"
#include "tools/output.h"
#include "tools/terminal.h"
#include "tools/verify/report.h"

namespace tern {
namespace {

struct VerifyArguments {
  std::string model, function, expected, reference, against = "float32";
  InputChoice inputs;
  DeviceChoice device;
  int threads = 0;
  Limits limits;
  bool nodes = false, json = false;
  GainsChoice gains = GainsChoice::cheap;
  std::size_t worst = 0;
};

Side side_of(const Model& model, const std::string& function, const VerifyArguments& a) {
  Side program_side;
  program_side.program = model.program();
  program_side.function = static_cast<std::uint32_t>(program_side.program->find_entry(function));
  program_side.options.threads = a.threads;
  program_side.seed = a.inputs.seed;
  return program_side;
}

Precision precision_of(const Side& program_side) {
  return Model(program_side.program).prepare(program_side.options).precision();
}

/// "bfloat16, 2 patterns kept, on xpu"
std::string title_of(const Side& program_side, const DeviceChoice& device) {
  const Precision precision = precision_of(program_side);
  std::string title = program_side.options.reproducible ? "reproducible" : name_of(precision);
  if (precision != Precision::exported && !device.kept_patterns.empty())
    title +=
        fmt::format(", {} pattern{} kept", device.kept_patterns.size(), device.kept_patterns.size() == 1 ? "" : "s");
  return device.name == "cpu" ? title : title + ", on " + device.name;
}

Side test_side(const Model& model, const std::string& function, const VerifyArguments& a) {
  Side program_side = side_of(model, function, a);
  program_side.options.device = a.device.name;
  program_side.options.reproducible = a.device.reproducible;
  program_side.options.precision = precision_of(a.device);
  program_side.options.copy_weights = a.device.copy_weights;
  program_side.options.native_code = a.device.native_code;
  program_side.program = keeping(program_side.program, a.device.kept_patterns);
  program_side.title = title_of(program_side, a.device);
  return program_side;
}

Side reference_side(const Model& model, const std::string& function, const VerifyArguments& a) {
  Side program_side = side_of(model, function, a);
  program_side.options.reproducible = a.against == "reproducible";
  if (a.against == "float32") program_side.program = keeping_all(program_side.program);
  program_side.title = a.against;
  return program_side;
}

/// True if the options of the run under test equal the reference run's.
bool is_plain(const VerifyArguments& a, const Program& program) {
  const bool chosen = a.device.precision != "exported" || a.device.name != "cpu" || a.device.reproducible;
  return !chosen && a.against != "reproducible" && (a.against == "exported" || !has_marks(program));
}

/// True if the nodes of both functions correspond by their numbers, and so do their values.
bool has_same_nodes(const Function& f, const Function& g) {
  const auto type_of = [](const Function& h, ValueId v) {
    const TensorType& t = h.values[static_cast<std::size_t>(v)].type;
    return std::pair(t.dtype, t.shape.size());
  };
  return f.nodes.size() == g.nodes.size() &&
         std::equal(f.nodes.begin(), f.nodes.end(), g.nodes.begin(), [&](const Node& a, const Node& b) {
           return a.op == b.op && a.inputs == b.inputs && a.outputs == b.outputs &&
                  std::ranges::all_of(a.outputs,
                                      [&](ValueId v) { return v == kNoValue || type_of(f, v) == type_of(g, v); });
         });
}

void measure(const VerifyArguments& a, const Side& test, const Side& reference, const Calls& calls,
             VerifyReport& report) {
  Progress progress("nodes");
  NodesRequest request;
  request.on_progress = [&](std::size_t completed_values, std::size_t total) {
    progress.set(completed_values);
    progress.note(fmt::format("of {}", total));
  };
  report.nodes = measure_nodes(test, reference, calls, request);
  progress.finish();
  if (a.device.name == "cpu" && precision_of(test) != Precision::exported)
    report.advice = advise(test, reference, report.nodes, calls, [&](const Compared& comparison) {
      return broken_limits(comparison, a.limits, false).empty();
    });
}

int run_verify(VerifyArguments& a) {
  const Model model = open_model(a.model);
  const std::string name = choose_function(model.functions(), a.function).name;
  const bool uses_archived_reference = is_plain(a, *model.program()) && a.reference.empty();
  if (uses_archived_reference && a.expected.empty()) {
    fail(ErrorCode::invalid_argument,
         "both runs would be the same: choose how the model runs (--precision, --device, --reproducible), or its "
         "reference (--expected, --reference, --against)");
  }
  const Calls calls = gather_calls(model, name, a.inputs);
  const Side test = test_side(model, name, a);
  Side reference;  // side with the reference results
  if (!a.reference.empty()) {
    const Model reference_model = open_model(a.reference);
    const bool has_name = reference_model.program()->find_entry(name) >= 0;
    reference =
        reference_side(reference_model, has_name ? name : choose_function(reference_model.functions(), "").name, a);
    reference.title = fmt::format("{} of {}", a.against, a.reference);
  } else if (!uses_archived_reference) {
    reference = reference_side(model, name, a);
  }
  VerifyReport report;
  report.model = a.model;
  report.function = name;
  report.program = test.program;
  report.number = test.function;
  report.worst = a.worst;
  report.nodes_asked = a.nodes || a.worst > 0;
  report.limits = a.limits;
  const Expected expected = a.expected.empty() ? Expected() : read_expected(a.expected, test.f(), calls.size());
  {
    Progress progress("calls", calls.size());
    report.results = verify_results(test, reference, expected, calls, [&] { progress.advance(); });
  }
  report.broken = broken_limits(report.results.compared.front(), a.limits, calls.size() > 1);
  // Explains failures node by node.
  if (report.nodes_asked || (!report.broken.empty() && !uses_archived_reference && a.reference.empty())) {
    report.nodes_of_model_alone = reference.program == nullptr || !has_same_nodes(test.f(), reference.f());
    const Side against = report.nodes_of_model_alone ? reference_side(model, name, a) : reference;
    report.nodes_run = test.title;
    report.nodes_against = against.title;
    if (!report.nodes_of_model_alone || !is_plain(a, *model.program())) measure(a, test, against, calls, report);
  }
  if (a.device.precision == "exported" && a.device.name == "cpu") {
    Session session = test.session(test.program);
    run_call(test, session, calls.front(), false);
    report.gains = measure_gains(test, a.gains, calls.front(), seconds_of_run(test, session, calls.front()));
  }
  print_output(a.json ? verify_json(report) : verify_text(report));
  return report.broken.empty() ? 0 : kExitFindings;
}

void add_limit(Command c, const char* name, std::optional<double>& limit, const char* text, RealBounds bounds) {
  require_range(c.add_option(name, limit, text), bounds);
}

}  // namespace

void add_verify_command(Command app, CommandLine& line) {
  auto a = std::make_shared<VerifyArguments>();
  const Command c =
      app.add_subcommand("verify", "Measure the accuracy of a run in a precision or on a device, node by node");
  c.add_option("model", a->model, "A .tern archive, or a .pt2 file").required();
  add_input_options(c, a->inputs);
  add_sequence_option(c, a->inputs);
  c.add_option("-f,--function", a->function, "The function to run, if there are several").type_name("NAME");
  add_threads_option(c, a->threads);
  add_device_options(c, a->device);
  add_copy_weights_option(c, a->device);
  add_precision_option(c, a->device);
  c.add_option("--against", a->against,
               "The reference run, on the CPU: float32 (products of float32 with all digits, whatever the archive "
               "says), exported (as the archive says), or reproducible (the definitions of the ops)")
      .one_of({"float32", "exported", "reproducible"})
      .capture_default_str()
      .type_name("RUN");
  c.add_option("--reference", a->reference,
               "Use the results of this model as the reference: the .pt2 of an archive with narrower weights. Nodes "
               "are compared with its nodes if both programs have the same ones, else with MODEL's own run")
      .type_name("FILE");
  c.add_option("--expected", a->expected,
               "Also compare with the tensors of this .safetensors, .npz or .npy file: outK or the outputs' names, "
               "mutK for input K after the call, with the prefix callC. for several calls. The limits apply to them")
      .type_name("FILE");
  c.add_flag("--nodes", a->nodes, "Print the errors of each node that gives a floating tensor");
  require_range(
      c.add_option("--worst", a->worst, "Print only this many nodes, those with the largest own errors first"),
      bounds::kNodes);
  add_limit(c, "--min-cosine", a->limits.cosine, "Fail if the cosine similarity of a result is smaller",
            bounds::kCosine);
  add_limit(c, "--min-sqnr", a->limits.sqnr, "Fail if the SQNR of a result is smaller, in dB", bounds::kDecibels);
  add_limit(c, "--min-agreement", a->limits.agreement,
            "Fail if the share of equal first answers of a result is smaller", bounds::kFractionBounds);
  add_gains_option(c, a->gains);
  c.add_flag("--json", a->json, "Print the report as JSON");
  c.footer(
      "Examples:\n  tern verify model.tern --input image.npy --precision bfloat16\n"
      "  tern verify model.tern --random --precision auto --worst 10\n"
      "  tern verify model.tern -i case.safetensors --expected case.safetensors --min-sqnr 40\n\n"
      "The function runs twice on the same inputs and random numbers: as the options say, and as the reference "
      "(--against). For each result:\n"
      "  cosine         cosine similarity of all elements; 1 for two zero tensors\n"
      "  SQNR dB        10 log10 of the reference's sum of squares over that of the errors; 'exact' without errors\n"
      "  largest error  of an element\n"
      "  of largest     that over the largest magnitude of the reference\n"
      "  first answers  rows along the last axis whose largest element is at the same place; of integers and booleans "
      "the equal elements\n"
      "Elements that are NaN or infinite in one run only are counted apart, and fail every limit. Inputs and states "
      "that the program writes are results, too. Of several calls the table shows the worst; --json has all.\n\n"
      "With --nodes, the report names the two runs that it compares: 'own' is the error of the node alone, given the "
      "operands of the reference run; 'accumulated' is "
      "that of its value in the run under test. Nodes of cond and loop bodies count as the node that calls them. "
      "Values are observed in portions of bounded memory, so the program runs several times.\n\n"
      "Exit status: 1 if a result breaks a limit, or has another type or other sizes than its reference. Then the "
      "report ends with the nodes to --keep.");
  c.callback([a, &line] { line.status = run_verify(*a); });
}

}  // namespace tern
