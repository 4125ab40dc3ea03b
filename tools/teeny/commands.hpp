// The subcommands of `teeny`. Each adds its options to the command line and sets what runs when it is chosen.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace teeny::command {

// What the chosen subcommand does; returns the exit status.
using Action = std::function<int()>;

void add_devices(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);

}  // namespace teeny::command
