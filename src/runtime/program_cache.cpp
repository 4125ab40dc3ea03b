#include "runtime/program_cache.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include <teeny/error.hpp>

#include "runtime/compiler/compiler.hpp"
#include "support/log.hpp"
#include "support/write_all.hpp"

namespace teeny::runtime {

namespace {

constexpr char magic[8] = {'T', 'E', 'E', 'N', 'Y', 'P', 'C', '1'};
constexpr std::size_t header_size = 8 + 32 + 32;  // magic, key, digest of the rest

std::string folder_path() {
  if (const std::string chosen = support::environment("TEENY_CACHE"); !chosen.empty())
    return chosen == "off" ? "" : chosen;
  if (const std::string base = support::environment("XDG_CACHE_HOME"); !base.empty() && base[0] == '/')
    return base + "/teeny";
  if (const std::string home = support::environment("HOME"); !home.empty()) return home + "/.cache/teeny";
  return {};
}

void make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  ::mkdir(path.c_str(), 0700);
}

// Written under a name of its own, then renamed. The empty string, or what went wrong.
std::string write_file(int folder, const std::string& name, const std::vector<std::uint8_t>& bytes) {
  static std::atomic<unsigned> serial{0};
  const std::string temporary = ".new-" + std::to_string(::getpid()) + "-" + std::to_string(serial.fetch_add(1));
  const int file = ::openat(folder, temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return ::strerror(errno);
  int reason = support::write_all(file, bytes);
  if (::close(file) != 0 && reason == 0) reason = errno;
  if (reason == 0 && ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0) reason = errno;
  if (reason == 0) return {};
  ::unlinkat(folder, temporary.c_str(), 0);
  return ::strerror(reason);
}

bool read_file(int folder, const std::string& name, std::vector<std::uint8_t>& bytes) {
  const int file = ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  struct stat status;
  bool good = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  bytes.resize(good ? static_cast<std::size_t>(status.st_size) : 0);
  for (std::size_t done = 0; good && done < bytes.size();) {
    const ssize_t count = ::read(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      good = false;
    else
      done += static_cast<std::size_t>(count);
  }
  ::close(file);
  return good;
}

std::string entry_name(const support::Digest& key) { return support::to_hex(key) + ".program"; }

}  // namespace

ProgramCache& ProgramCache::instance() {
  static auto& cache = *new ProgramCache;
  return cache;
}

void ProgramCache::warn_once(const std::string& text) {
  if (warned_ == text) return;
  warned_ = text;
  support::warn(text);
}

int ProgramCache::folder() {
  std::string path = folder_path();
  if (opened_ && path == path_) return descriptor_;
  if (descriptor_ >= 0) ::close(descriptor_);
  path_ = path, opened_ = true, descriptor_ = -1;
  if (path.empty()) return -1;
  make_folders(path);
  const int opened = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::string go_on =
      "; programs are compiled and not kept (help: set TEENY_CACHE to a folder of your own, or to off)";
  if (opened < 0) {
    warn_once("cache: the folder " + path + " cannot be opened: " + ::strerror(errno) + go_on);
    return -1;
  }
  struct stat status;
  std::string wrong;
  if (::fstat(opened, &status) != 0)
    wrong = ::strerror(errno);
  else if (status.st_uid != ::geteuid())
    wrong = "it belongs to user " + std::to_string(status.st_uid);
  else if ((status.st_mode & 022) != 0)
    wrong = "others may write to it";
  if (!wrong.empty()) {
    warn_once("cache: the folder " + path + " is not used: " + wrong + go_on);
    ::close(opened);
    return -1;
  }
  return descriptor_ = opened;
}

std::optional<CacheEntry> ProgramCache::find(const support::Digest& key, Miss& miss) {
  const std::lock_guard lock(mutex_);
  const int from = folder();
  miss = Miss::no_folder;
  if (from < 0) return std::nullopt;
  std::vector<std::uint8_t> bytes;
  miss = Miss::absent;
  if (!read_file(from, entry_name(key), bytes)) return std::nullopt;
  miss = Miss::damaged;
  if (bytes.size() < header_size || ::memcmp(bytes.data(), magic, 8) != 0) return std::nullopt;
  if (::memcmp(bytes.data() + 8, key.data(), 32) != 0) return std::nullopt;
  const support::Digest digest = support::sha256(bytes.data() + header_size, bytes.size() - header_size);
  if (::memcmp(bytes.data() + 40, digest.data(), 32) != 0) return std::nullopt;
  try {
    CompileResult result = decode_result(bytes.data() + header_size, bytes.size() - header_size);
    miss = Miss::none;
    return CacheEntry{std::move(result.program), std::move(result.metadata), std::move(result.relevant_facts)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

void ProgramCache::store(const support::Digest& key, const CacheEntry& entry) {
  const std::vector<std::uint8_t> payload = encode(CompileResult{
      .ok = true, .program = entry.program, .metadata = entry.metadata, .relevant_facts = entry.relevant_facts});
  const support::Digest digest = support::sha256(payload.data(), payload.size());
  std::vector<std::uint8_t> bytes(magic, magic + 8);
  bytes.insert(bytes.end(), key.begin(), key.end());
  bytes.insert(bytes.end(), digest.begin(), digest.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  const std::lock_guard lock(mutex_);
  const int into = folder();
  if (into < 0) return;
  if (const std::string wrong = write_file(into, entry_name(key), bytes); !wrong.empty())
    warn_once("cache: a program cannot be kept in " + path_ + ": " + wrong);
}

std::string ProgramCache::store_reproducer(const support::Digest& key, const std::vector<std::uint8_t>& bytes) {
  const std::lock_guard lock(mutex_);
  const int into = folder();
  const std::string name = "reproducer-" + support::to_hex(key).substr(0, 16) + ".teeny";
  if (into < 0 || !write_file(into, name, bytes).empty()) return {};
  return path_ + "/" + name;
}

}  // namespace teeny::runtime
