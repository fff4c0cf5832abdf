// The object cache as the driver uses it: damaged, foreign, read-only or vanished, it costs time but never a result.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "support.h"

namespace weft::agree {
namespace {

namespace fs = std::filesystem;
using driver::BinaryStore;
using driver::BuildReport;

const char* kText = R"(
import warp as wp
@wp.func
def half(x: float):
    return x * 0.5
@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(4):
        s += half(x[i])
    y[i] = s
)";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::error_code ignored;  // it may be gone
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, ignored);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Builds as a fresh process would and checks what the code computes.
BuildReport build_and_run(const ParsedKernel& kernel, const std::string& folder) {
  BinaryStore store(cache_options(folder));
  BuildReport report;
  auto binary = kernel.build(store, &report);
  EXPECT_TRUE(binary);
  EXPECT_EQ(binary ? run_doubling(*binary) : "", "");
  return report;
}

class Damage : public testing::Test {
 protected:
  Damage() : kernel(kText) {
    build_and_run(kernel, folder.path);
    files = entries(folder.path);
    for (const fs::path& file : files) contents.push_back(read_file(file));
  }
  void restore() {
    for (std::size_t k = 0; k < files.size(); ++k) write_file(files[k], contents[k]);
  }
  TempFolder folder;
  ParsedKernel kernel;
  std::vector<fs::path> files;
  std::vector<std::string> contents;
};

TEST_F(Damage, TruncatedEntriesAreRebuilt) {
  ASSERT_GE(files.size(), 2u) << "an object and a source entry";
  for (std::size_t k = 0; k < files.size(); ++k)
    for (std::size_t size :
         {std::size_t(0), std::size_t(1), std::size_t(17), contents[k].size() / 2, contents[k].size() - 1}) {
      restore();
      write_file(files[k], contents[k].substr(0, size));
      build_and_run(kernel, folder.path);
      const BuildReport after = build_and_run(kernel, folder.path);
      EXPECT_EQ(after.source, BuildReport::Source::disk) << files[k] << " cut to " << size << " was not rebuilt";
      EXPECT_TRUE(after.source_key_hit);
    }
}

TEST_F(Damage, FlippedBitsAreNoticed) {
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (files[k].extension() == ".pak") continue;  // unit_runtime damages every byte of bundles
    for (std::size_t step = 0; step < 24; ++step) {
      restore();
      for (const fs::path& file : entries(folder.path))
        if (file.extension() == ".pak") fs::remove(file);  // it would do as well
      std::string bytes = contents[k];
      const std::size_t at = step * bytes.size() / 24;
      bytes[at] = char(bytes[at] ^ (1 << (step % 8)));
      write_file(files[k], bytes);
      const BuildReport report = build_and_run(kernel, folder.path);
      EXPECT_FALSE(report.source == BuildReport::Source::disk && report.source_key_hit)
          << files[k] << ": a flipped bit at " << at << " went unnoticed";
      EXPECT_EQ(build_and_run(kernel, folder.path).source, BuildReport::Source::disk);
    }
  }
}

TEST_F(Damage, LongerEntriesAndRubbish) {
  for (std::size_t k = 0; k < files.size(); ++k) {
    write_file(files[k], contents[k] + "more");
    build_and_run(kernel, folder.path);
    write_file(files[k], std::string(5000, '\xff'));
    build_and_run(kernel, folder.path);
    fs::remove(files[k]);
    fs::create_directory(files[k]);  // a folder where a file should be
    build_and_run(kernel, folder.path);
    fs::remove_all(files[k]);
    build_and_run(kernel, folder.path);
    EXPECT_EQ(build_and_run(kernel, folder.path).source, BuildReport::Source::disk);
  }
}

TEST_F(Damage, EntriesOfAnotherBuildDoNotCount) {
  runtime::CacheOptions options = cache_options(folder.path);
  options.build_id = "another build";
  BinaryStore store(options);
  BuildReport report;
  auto binary = kernel.build(store, &report);
  ASSERT_TRUE(binary);
  EXPECT_EQ(report.source, BuildReport::Source::compiled);
}

TEST_F(Damage, AFolderThatVanishes) {
  BinaryStore store(cache_options(folder.path));
  fs::remove_all(folder.path);
  BuildReport report;
  auto binary = kernel.build(store, &report);
  ASSERT_TRUE(binary);
  EXPECT_EQ(report.source, BuildReport::Source::compiled);
  EXPECT_EQ(run_doubling(*binary), "");
}

TEST(CacheFolder, ThatCannotBeMadeCostsOnlyTime) {
  TempFolder folder;
  const std::string file = folder.path + "/file";
  std::ofstream(file) << "no folder";
  ParsedKernel kernel(kText);
  EXPECT_EQ(build_and_run(kernel, file + "/cache").source, BuildReport::Source::compiled);
  EXPECT_EQ(build_and_run(kernel, file + "/cache").source, BuildReport::Source::compiled);
}

/// A fresh build in a child that may not write what others own; root is not asked for permissions, so it becomes nobody.
/// 0: from disk, 1: compiled, 2: wrong results, 3: could not change user, 4: an exception.
int build_unprivileged(const ParsedKernel& kernel, const std::string& folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 4;
    try {
      if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(3);
      BinaryStore store(cache_options(folder));
      BuildReport report;
      auto binary = kernel.build(store, &report);
      code = !binary || !run_doubling(*binary).empty() ? 2 : report.source == BuildReport::Source::disk ? 0 : 1;
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CacheFolder, ReadOnlyIsReadFrom) {
  TempFolder folder;
  ParsedKernel kernel(kText);
  build_and_run(kernel, folder.path);
  const fs::perms read = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  const fs::perms enter = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  fs::permissions(folder.path, read | enter);
  for (const auto& entry : fs::recursive_directory_iterator(folder.path))
    fs::permissions(entry.path(), entry.is_directory() ? read | enter : read);
  const int code = build_unprivileged(kernel, folder.path);
  if (code == 3) GTEST_SKIP() << "running as root, and the user can't be changed here";
  EXPECT_EQ(code, 0) << "a readable cache was not read";
  const std::size_t count = entries(folder.path).size();
  ParsedKernel other(
      std::string(kText) +
      "\n@wp.kernel\ndef other(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = x[i] + x[i]\n");
  EXPECT_EQ(build_unprivileged(other, folder.path), 1);
  EXPECT_EQ(entries(folder.path).size(), count);
}

}  // namespace
}  // namespace weft::agree
