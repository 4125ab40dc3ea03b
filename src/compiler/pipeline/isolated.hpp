// Runs a piece of compilation so that nothing it does can take the process down: on its own thread with a stack of its
// own size, with LLVM's fatal errors returned as failures. Signal handlers of the host are never touched.
#pragma once

#include <functional>
#include <string>

namespace teeny::compiler {

struct IsolatedResult {
  bool ok = false;
  std::string failure;  // what LLVM said, or the text of an exception that left `work`
};

// Runs `work` to its end on a new thread. After a fatal error of LLVM that thread is parked for good, since no exception
// may unwind LLVM's frames: everything `work` captured must therefore outlive it (capture shared ownership by value).
IsolatedResult run_isolated(std::function<void()> work);

}  // namespace teeny::compiler
