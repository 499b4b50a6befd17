// tern: the command. Each subcommand has its own file cmd_NAME.cpp; command_line.cpp lists the subcommands.
#include "tools/command_line.h"

int main(int argc, char** argv) {
  return tern::run_command_line(argc, argv);
}
