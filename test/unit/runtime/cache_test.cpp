#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

#include "environment.hpp"

namespace {

using teeny::test::Folder;
using teeny::test::output_of;
namespace files = std::filesystem;

// Every launch here is a process of its own: `settings` are shell assignments or commands before it.
class Cache : public testing::Test {
 protected:
  std::string probe(const std::string& settings = {}, const std::string& arguments = {}) const {
    return output_of("export TEENY_CACHE=" + cache() + " TEENY_COMPILER_LIBRARY=" FAKE_COMPILER "; " + settings +
                     " " PROBE " " + arguments);
  }
  std::string cache() const { return (folder_.path / "cache").string(); }
  std::vector<files::path> entries() const {
    std::vector<files::path> list;
    for (const auto& entry : files::directory_iterator(cache()))
      if (entry.path().extension() == ".program") list.push_back(entry.path());
    return list;
  }
  Folder folder_;
};

const std::string compiled = "right=1 compiles=1 hits=0 rebuilds=0 compiler=1\n";
const std::string warm = "right=1 compiles=0 hits=1 rebuilds=0 compiler=0\n";

TEST_F(Cache, TheSecondProcessLoadsNoCompiler) {
  EXPECT_EQ(probe(), compiled);
  EXPECT_EQ(probe(), warm);
  EXPECT_EQ(probe("TEENY_COMPILER_LIBRARY=/nowhere.so"), warm);
}

TEST_F(Cache, FolderIsPrivate) {
  probe();
  EXPECT_EQ(files::status(cache()).permissions(), files::perms::owner_all);
  for (const auto& entry : entries())
    EXPECT_EQ(files::status(entry).permissions(), files::perms::owner_read | files::perms::owner_write);
}

TEST_F(Cache, XdgFolderIsUsed) {
  probe("unset TEENY_CACHE; XDG_CACHE_HOME=" + (folder_.path / "xdg").string());
  EXPECT_TRUE(files::exists(folder_.path / "xdg" / "teeny"));
}

TEST_F(Cache, OffMeansNone) {
  EXPECT_EQ(probe("TEENY_CACHE=off"), compiled);
  EXPECT_EQ(probe("TEENY_CACHE=off"), compiled);
}

TEST_F(Cache, EightProcessesAtOnce) {
  const std::string text =
      output_of("export TEENY_CACHE=" + cache() +
                " TEENY_COMPILER_LIBRARY=" FAKE_COMPILER "; for i in 1 2 3 4 5 6 7 8; do " PROBE " & done; wait");
  std::size_t right = 0;
  for (std::size_t at = text.find("right=1"); at != std::string::npos; at = text.find("right=1", at + 1)) ++right;
  EXPECT_EQ(right, 8u) << text;
  EXPECT_EQ(text.find("rebuilds=1"), std::string::npos) << text;
  EXPECT_EQ(probe(), warm);
  for (const auto& entry : files::directory_iterator(cache()))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".new")) << entry;
}

TEST_F(Cache, DamagedEntriesAreRebuilt) {
  probe();
  ASSERT_EQ(entries().size(), 2u);  // the kernel's facts and its program
  for (const auto& entry : entries()) {
    std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(files::file_size(entry)) - 3);
    file.put('!');
  }
  EXPECT_EQ(probe(), "right=1 compiles=1 hits=0 rebuilds=2 compiler=1\n");
  EXPECT_EQ(probe(), warm);
  for (const auto& entry : entries()) files::resize_file(entry, 10);
  EXPECT_EQ(probe(), "right=1 compiles=1 hits=0 rebuilds=2 compiler=1\n");
  for (const auto& entry : entries()) files::resize_file(entry, 0);
  EXPECT_EQ(probe(), "right=1 compiles=1 hits=0 rebuilds=2 compiler=1\n");
  // A whole entry under another's name is no answer either.
  const auto list = entries();
  files::copy_file(list[0], list[1], files::copy_options::overwrite_existing);
  const std::string text = probe();
  EXPECT_TRUE(text.starts_with("right=1 ")) << text;
  EXPECT_NE(text.find("rebuilds=1"), std::string::npos) << text;
  EXPECT_EQ(probe(), warm);
}

TEST_F(Cache, AChangedConstantIsAnotherProgram) {
  EXPECT_EQ(probe(), compiled);
  EXPECT_EQ(probe("", "fill 1"), compiled);
  EXPECT_EQ(probe("", "fill 1"), warm);
}

TEST_F(Cache, AChangedFeatureSetIsAnotherProgram) {
  EXPECT_EQ(probe(), compiled);
#if defined(__x86_64__)
  EXPECT_EQ(probe("TEENY_CPU_TARGET=cpu:x86-64"), compiled);
  EXPECT_EQ(probe("TEENY_CPU_TARGET=cpu:x86-64"), warm);
#endif
  EXPECT_EQ(probe(), warm);
}

TEST_F(Cache, ReadOnlyFolderIsReadAndNotWritten) {
  if (::geteuid() == 0) {
    // The superuser may write anywhere: an ordinary user's process shows it.
    ::chmod(folder_.path.c_str(), 0755);
    files::create_directory(cache());
    ASSERT_EQ(::chown(cache().c_str(), 65534, 65534), 0);
    ::chmod(cache().c_str(), 0500);
    const std::string text = probe("", "fill 0 65534");
    EXPECT_NE(text.find("warning: cache: a program cannot be kept"), std::string::npos) << text;
    EXPECT_NE(text.find(compiled), std::string::npos) << text;
    ::chmod(cache().c_str(), 0700);
    EXPECT_EQ(probe("", "fill 0 65534"), compiled);
    ::chmod(cache().c_str(), 0500);
    EXPECT_EQ(probe("", "fill 0 65534"), warm);
  } else {
    probe();
    ::chmod(cache().c_str(), 0500);
    EXPECT_EQ(probe(), warm);
    const std::string text = probe("", "fill 1");
    EXPECT_NE(text.find("warning: cache: a program cannot be kept"), std::string::npos) << text;
    ::chmod(cache().c_str(), 0700);
  }
}

TEST_F(Cache, AFullDiskIsNoFailure) {
  // A limit between the program's size, which must fit into memory, and the larger one of its entry.
  const std::string blocks = std::to_string(files::file_size(FAKE_PROGRAM) / 512 + 1);
  const std::string text = probe("ulimit -f " + blocks + "; FAKE_PADDING=4096");
  EXPECT_NE(text.find("warning: cache: a program cannot be kept"), std::string::npos) << text;
  EXPECT_NE(text.find(compiled), std::string::npos) << text;
  EXPECT_EQ(entries().size(), 1u);  // the facts
  EXPECT_EQ(std::distance(files::directory_iterator(cache()), files::directory_iterator()), 1);
#if !defined(TEENY_SANITIZED)  // a sanitizer's own runtime takes the signal
  const std::string nothing = probe("ulimit -f 0;", "fill 1");
  EXPECT_NE(nothing.find("device_failed: load: the program must be loadable; got 'File too large'"), std::string::npos)
      << nothing;
#endif
}

TEST_F(Cache, AFolderThatOthersMayWriteToIsRefused) {
  files::create_directory(cache());
  ::chmod(cache().c_str(), 0770);
  const std::string text = probe();
  EXPECT_NE(text.find("is not used: others may write to it"), std::string::npos) << text;
  EXPECT_NE(text.find("compiles=1"), std::string::npos) << text;
  EXPECT_TRUE(entries().empty());
}

TEST_F(Cache, AForeignFolderIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only the superuser can give a folder away";
  files::create_directory(cache());
  ::chmod(cache().c_str(), 0700);
  ASSERT_EQ(::chown(cache().c_str(), 65534, 65534), 0);
  const std::string text = probe();
  EXPECT_NE(text.find("is not used: it belongs to user 65534"), std::string::npos) << text;
  EXPECT_NE(text.find("compiles=1"), std::string::npos) << text;
  EXPECT_TRUE(entries().empty());
}

TEST_F(Cache, AFileInTheFoldersPlaceIsNoFailure) {
  std::ofstream(cache()) << "not a folder";
  const std::string text = probe();
  EXPECT_NE(text.find("cannot be opened"), std::string::npos) << text;
  EXPECT_NE(text.find("compiles=1"), std::string::npos) << text;
}

TEST_F(Cache, LogSaysWhy) {
  const std::string first = probe("TEENY_LOG=compile");
  EXPECT_NE(first.find("teeny: analyse fill for cpu:"), std::string::npos) << first;
  EXPECT_NE(first.find("variant where n is divisible by 16, out is below 2 GiB (first launch, not in the cache)"),
            std::string::npos)
      << first;
  EXPECT_NE(first.find("[all 1.5 ms]"), std::string::npos) << first;
  EXPECT_EQ(probe("TEENY_LOG=compile"), warm);
  const std::string dumped = probe("TEENY_LOG=compile TEENY_DUMP=llvm,trace,asm");
  EXPECT_NE(dumped.find("TEENY_DUMP asks for it"), std::string::npos) << dumped;
  EXPECT_NE(dumped.find("dump of fill: llvm,asm\n"), std::string::npos) << dumped;
  EXPECT_NE(dumped.find("// trace of fill\n"), std::string::npos) << dumped;
}

}  // namespace
