// Several processes: racing on one cold cache, over damaged entries, without a usable cache; children forked from a
// process that has already launched.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "racer.h"
#include "support.h"

namespace weft::agree {
namespace {

namespace fs = std::filesystem;

/// The racer: what the environment names (under an emulator, a script that starts it), or else beside this program.
std::string racer_path() {
  if (const char* given = std::getenv("WEFT_AGREE_RACER")) return given;
  return (fs::read_symlink("/proc/self/exe").parent_path() / "agree_racer").string();
}

/// Starts the racer with a cache folder; the child's id.
pid_t start_racer(const std::string& cache, int variant) {
  const std::string program = racer_path();
  const std::string number = std::to_string(variant);
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setenv("WEFT_CACHE_PATH", cache.c_str(), 1);
  ::execl(program.c_str(), program.c_str(), number.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

/// Waits at most a minute; the exit code, or −1.
int finish(pid_t child) {
  for (int tenths = 0; tenths < 600; ++tenths) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return -1;
}

TEST(Processes, RaceOnAColdCache) {
  TempFolder folder;
  std::vector<pid_t> children;
  for (int k = 0; k < 6; ++k) children.push_back(start_racer(folder.path, k % 2));
  for (pid_t child : children) EXPECT_EQ(finish(child), 0);
  const std::size_t count = entries(folder.path).size();
  EXPECT_GE(count, std::size_t(2 * kFamily)) << "objects and sources of two variants, less what they share";
  EXPECT_EQ(finish(start_racer(folder.path, 0)), 0);
  EXPECT_EQ(entries(folder.path).size(), count) << "a warm cache grew";
}

TEST(Processes, RaceOverDamagedEntries) {
  TempFolder folder;
  ASSERT_EQ(finish(start_racer(folder.path, 3)), 0);
  std::size_t k = 0;
  for (const fs::path& file : entries(folder.path)) {
    fs::permissions(file, fs::perms::owner_all, fs::perm_options::add);
    if (++k % 2)
      fs::resize_file(file, fs::file_size(file) * 2 / 3);
    else {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekp(std::streamoff(fs::file_size(file) / 2));
      stream.put('\x5a');
    }
  }
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) children.push_back(start_racer(folder.path, 3));
  for (pid_t child : children) EXPECT_EQ(finish(child), 0);
}

TEST(Processes, UnusableCacheFolder) {
  TempFolder folder;
  std::ofstream(folder.path + "/file") << "no folder";
  EXPECT_EQ(finish(start_racer(folder.path + "/file/cache", 4)), 0);
  EXPECT_EQ(finish(start_racer("/proc/no/such/place", 4)), 0);
  EXPECT_EQ(finish(start_racer("", 4)), 0);
}

TEST(Processes, ForkAfterLaunches) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow threads started after a fork";
#endif
  Options options;
  options.cache = false;
  const Program program = Program::compile(family_text(5), "family.py", options);
  // Large enough to wake the scheduler's threads, which the child does not inherit.
  ASSERT_EQ(run_member(program, 5, 1, 2'000'000), "");
  for (int round = 0; round < 3; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      int code = 0;
      try {
        if (!run_member(program, 5, 1, 2'000'000).empty()) code = 1;  // compiled before the fork
        if (!run_member(program, 5, 2, 300'000).empty()) code = 2;    // compiled after it
        if (!run_family(6 + round, 1000, options).empty()) code = 3;
      } catch (...) {
        code = 4;
      }
      ::_exit(code);
    }
    EXPECT_EQ(run_member(program, 5, 3, 500'000), "");  // the parent goes on meanwhile
    EXPECT_EQ(finish(child), 0);
  }
}

}  // namespace
}  // namespace weft::agree
