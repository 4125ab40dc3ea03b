// The compiler in processes of its own: a compile that takes its process down fails alone.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <mutex>

#include <teeny/error.hpp>

#include "runtime/compiler/compiler.hpp"
#include "runtime/compiler/frame.hpp"
#include "support/build_id.h"
#include "support/dynamic_library.hpp"
#include "support/log.hpp"

extern char** environ;

namespace teeny::runtime {

namespace {

std::string helper_path() {
  if (const std::string chosen = support::environment("TEENY_COMPILER_HELPER"); !chosen.empty()) return chosen;
  const std::string folder = support::folder_of(reinterpret_cast<const void*>(&build_id));
  for (const std::string& path : {folder + "/../libexec/teeny/teeny-compiler", folder + "/../bin/teeny-compiler",
                                  folder + "/teeny-compiler", std::string(TEENY_INSTALL_LIBEXECDIR "/teeny-compiler")})
    if (::access(path.c_str(), X_OK) == 0) return path;
  throw Error(
      ErrorCode::compiler_missing,
      "compiler: TEENY_COMPILER=process needs the helper teeny-compiler; got none, expected it in libexec/teeny beside "
      "the library\nhelp: name it in TEENY_COMPILER_HELPER, or unset TEENY_COMPILER");
}

[[noreturn]] void broke(const std::string& how) {
  throw Error(ErrorCode::compile_failed, "compiler: its process must answer; got " + how +
                                             ", expected a result\nhelp: report it with the reproducer");
}

// One helper process and the socket to it.
class Helper {
 public:
  Helper() {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) broke(::strerror(errno));
    socket_ = sockets[0];
    const std::string path = helper_path();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, sockets[1], STDIN_FILENO);
    std::string name = path;
    char* arguments[] = {name.data(), nullptr};
    const int status = ::posix_spawn(&process_, path.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(sockets[1]);
    if (status != 0) {
      ::close(socket_);
      broke("'" + std::string(::strerror(status)) + "' from starting " + path);
    }
  }
  ~Helper() { end(); }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  CompileResult compile(const CompileRequest& request) {
    std::vector<std::uint8_t> answer;
    if (!send_frame(socket_, encode(request)) || !receive_frame(socket_, answer)) broke(end());
    CompileResult result = decode_result(answer.data(), answer.size());
    // The helper could not load the compiler: its own error, told as it would be here.
    if (!result.ok && result.metadata == "compiler_missing")
      throw Error(ErrorCode::compiler_missing, result.diagnostics);
    return result;
  }

 private:
  // Closes the socket, which ends a healthy helper, and says how it ended.
  std::string end() {
    if (process_ <= 0) return "nothing";
    ::close(socket_);
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    if (WIFSIGNALED(status))
      return "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
    return "exit status " + std::to_string(WEXITSTATUS(status));
  }

  int socket_ = -1;
  pid_t process_ = 0;
};

class OutOfProcess final : public Compiler {
 public:
  CompileResult compile(const CompileRequest& request) override {
    std::unique_ptr<Helper> helper = take();
    CompileResult result = helper->compile(request);  // a helper that failed is not put back
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(helper));
    return result;
  }

 private:
  std::unique_ptr<Helper> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Helper> helper = std::move(idle_.back());
        idle_.pop_back();
        return helper;
      }
    }
    return std::make_unique<Helper>();
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Helper>> idle_;  // guarded by mutex_
};

}  // namespace

Compiler& out_of_process_compiler() {
  static auto& compiler = *new OutOfProcess;  // helpers end with this process: their socket closes
  return compiler;
}

}  // namespace teeny::runtime
