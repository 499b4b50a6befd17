// tern trace: what recorded runs say. `tern trace flight FOLDER` reads flight records.
#include <tern/error.h>

#include "tools/command.h"
#include "tools/flight/flight.h"

namespace tern {

void add_trace_command(CLI::App& app, CommandLine& line) {
  struct Arguments {
    std::string what, folder;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("trace", "Say which ranks of a group wait for whom, from their flight records");
  c->add_option("what", a->what, "flight")->required();
  c->add_option("folder", a->folder, "The folder with a record of each rank: tern_flight_0, tern_flight_1, ...")
      ->required();
  c->footer(
      "Examples:\n  TERN_FLIGHT_FOLDER=/tmp/flight torchrun --no-python --nproc-per-node 2 tern run model.tern --random "
      "--group gloo\n  tern trace flight /tmp/flight\n\n"
      "A rank writes its record if a group fails, or at SIGUSR2. PyTorch's torchfrtrace reads the files too.\n"
      "Exit status: 1 if a rank waits, or calls differ.");
  c->callback([a, &line] {
    if (a->what != "flight")
      fail(ErrorCode::invalid_argument, "tern trace reads flight records: tern trace flight FOLDER");
    line.status = run_flight(a->folder);
  });
}

}  // namespace tern
