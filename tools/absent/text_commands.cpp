// Stand-ins of the commands that generate text, for builds without tern::text: the command then lacks them.
#include "tools/command.h"

namespace tern {

void add_generate_command(Command, CommandLine&) {}
void add_chat_command(Command, CommandLine&) {}
void add_serve_command(Command, CommandLine&) {}

}  // namespace tern
