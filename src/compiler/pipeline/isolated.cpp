#include "compiler/pipeline/isolated.hpp"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

#include <llvm/Support/ErrorHandling.h>

namespace teeny::compiler {

namespace {

// MLIR's parser and the lowering recurse with the depth of a kernel's nesting.
constexpr std::size_t stack_bytes = 64u << 20;

struct Job {
  std::function<void()> work;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  IsolatedResult result;

  void finish(bool ok, std::string failure) {
    std::lock_guard lock(mutex);
    result = {ok, std::move(failure)};
    done = true;
    ended.notify_all();
  }
};

thread_local Job* current_job = nullptr;

// LLVM calls abort() when its handler returns, so on a compile's thread this one never does.
void on_fatal_error(void*, const char* reason, bool) {
  if (!current_job) return;
  current_job->finish(false, reason ? reason : "LLVM reported a fatal error");
  while (true) pause();
}

// The handler is LLVM's only global state that a compile needs; it is set while at least one compile runs.
class FatalErrorScope {
 public:
  FatalErrorScope() {
    std::lock_guard lock(mutex());
    if (count()++ == 0) llvm::install_fatal_error_handler(on_fatal_error);
  }
  ~FatalErrorScope() {
    std::lock_guard lock(mutex());
    if (--count() == 0) llvm::remove_fatal_error_handler();
  }

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static int& count() {
    static int instance = 0;
    return instance;
  }
};

void* run_job(void* argument) {
  // The thread's share keeps the job alive even when the thread is parked.
  auto job = std::unique_ptr<std::shared_ptr<Job>>(static_cast<std::shared_ptr<Job>*>(argument));
  current_job = job->get();
  try {
    current_job->work();
    current_job->finish(true, {});
  } catch (const std::exception& error) {
    current_job->finish(false, error.what());
  } catch (...) {
    current_job->finish(false, "an unknown exception");
  }
  current_job = nullptr;
  return nullptr;
}

}  // namespace

IsolatedResult run_isolated(std::function<void()> work) {
  FatalErrorScope scope;
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  auto share = std::make_unique<std::shared_ptr<Job>>(job);
  int status = pthread_create(&thread, &attributes, run_job, share.get());
  pthread_attr_destroy(&attributes);
  if (status != 0) return {false, "no thread could be started to compile on"};
  share.release();  // owned by run_job from here on
  std::unique_lock lock(job->mutex);
  job->ended.wait(lock, [&] { return job->done; });
  return job->result;
}

}  // namespace teeny::compiler
