#include "support/write_all.hpp"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace teeny::support {

namespace {

// A write beyond RLIMIT_FSIZE raises SIGXFSZ in the writing thread: for the time of a write the thread takes it itself.
class FileSizeSignal {
 public:
  FileSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~FileSizeSignal() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
    const timespec none{};
    while (sigtimedwait(&set_, nullptr, &none) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t set_, before_;
};

}  // namespace

int write_all(int file, const std::vector<std::uint8_t>& bytes) {
  const FileSizeSignal guard;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EIO;
    done += static_cast<std::size_t>(count);
  }
  return 0;
}

}  // namespace teeny::support
