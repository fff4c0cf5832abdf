// Native functions: C++ text is compiled to bitcode by a clang of the machine and linked into the kernel's module, where
// LLVM inlines it. Bitcode is kept for the life of the process by what it was made from; kernels that hold it are cached
// like all others, for their text is part of the canonical IR.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>

#include "codegen/emit/emitter.h"
#include "codegen/native/prelude.h"
#include "codegen/nvptx/native_atomics.h"
#include "codegen/nvptx/native_shared.h"
#include "support/hash.h"

extern char** environ;

namespace weft::codegen {

namespace fs = std::filesystem;

namespace {

std::mutex compiler_mutex;
std::string& chosen_compiler() {
  static auto* path = new std::string;
  return *path;
}

std::string on_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

/// A folder that goes away with its contents.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code failed;
    fs::path base = fs::temp_directory_path(failed);
    path_ = (failed ? fs::path("/tmp") : base) / "weft-native-XXXXXX";
    std::string name = path_.string();
    if (!::mkdtemp(name.data()))
      throw Error("a native function needs a temporary folder; none can be made in " + path_.parent_path().string() +
                  ": set TMPDIR");
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs a program with stderr in a file; true if it ended well.
bool run(const std::vector<std::string>& command, const std::string& errors) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  int failed = ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno == ECHILD) return true;  // the host ignores SIGCHLD: what was written will tell
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string compile(const ir::Function& function, const std::string& clang, const TargetSpec& target) {
  ScratchFolder folder;
  std::string source = folder.file("native.cpp"), bitcode = folder.file("native.bc"), errors = folder.file("errors");
  std::ofstream(source, std::ios::binary)
      << kNativePrelude << kNativeNames << kNativeGeometry << kNativeCuda << function.native;
  // Unoptimised but ready to be: LLVM's pipeline runs on the whole kernel.
  std::vector<std::string> command = {clang,
                                      "-x",
                                      "c++",
                                      "-std=c++17",
                                      "-O2",
                                      "-Xclang",
                                      "-disable-llvm-passes",
                                      "-fno-exceptions",
                                      "-fno-rtti",
                                      "-fno-math-errno",
                                      "-ffp-contract=off",
                                      "-fno-stack-protector",
                                      "-fno-strict-return",
                                      "-Wno-everything",
                                      "-emit-llvm",
                                      "-c",
                                      "--target=" + target.triple,
                                      source,
                                      "-o",
                                      bitcode};
  if (!run(command, errors) || !fs::exists(bitcode)) {
    std::string text = read_file(errors);
    for (std::size_t at = 0; (at = text.find(source)) != std::string::npos;) text.replace(at, source.size(), "native");
    constexpr std::size_t kMost = 4000;
    if (text.size() > kMost) text.replace(kMost, std::string::npos, "…");
    throw Error("the native function '" + function.name + "' can't be compiled by " + clang + ":\n" + text,
                function.loc);
  }
  return read_file(bitcode);
}

/// Bitcode of this process by everything it depends on.
std::string bitcode_of(const ir::Function& function, const TargetSpec& target) {
  std::string clang = find_clang();
  if (clang.empty())
    throw Error("the kernel calls the native function '" + function.name +
                    "', which needs clang; none was found: install clang (14 to 19), or name it in "
                    "wp.config.native_compiler or WEFT_CLANG",
                function.loc);
  static std::mutex mutex;
  static auto* known = new std::map<std::string, std::string>;
  std::string key = Hasher().text(function.native).text(clang).text(target.triple).finish().hex();
  {
    std::lock_guard lock(mutex);
    if (auto it = known->find(key); it != known->end()) return it->second;
  }
  std::string bitcode = compile(function, clang, target);
  std::lock_guard lock(mutex);
  return known->emplace(key, std::move(bitcode)).first->second;
}

}  // namespace

void set_native_compiler(std::string clang) {
  std::lock_guard lock(compiler_mutex);
  chosen_compiler() = std::move(clang);
}

std::string find_clang() {
  std::string chosen;
  {
    std::lock_guard lock(compiler_mutex);
    chosen = chosen_compiler();
  }
  if (!chosen.empty()) return on_path(chosen);
  if (const char* given = std::getenv("WEFT_CLANG"); given && *given) return on_path(given);
  for (const char* name : {"clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14", "clang"})
    if (std::string found = on_path(name); !found.empty()) return found;
  return {};
}

llvm::Function* CodeUnit::native(const ir::Function& function) {
  if (auto it = natives_.find(&function); it != natives_.end()) return it->second;
  std::string bitcode = bitcode_of(function, target);
  auto library = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "native"), context);
  if (!library)
    throw Error("the bitcode of the native function '" + function.name +
                    "' can't be read: " + llvm::toString(library.takeError()) + "; use clang 14 to 19",
                function.loc);
  llvm::Module& from = **library;
  llvm::Function* entry = from.getFunction("weft_native");
  if (!entry) throw Error("the native function '" + function.name + "' has no body", function.loc);
  std::string symbol = "native." + std::to_string(natives_.size());
  entry->setName(symbol);
  for (llvm::Function& f : from) {
    // Code is made for this machine by the target machine; clang's own idea of it would forbid inlining.
    for (const char* name :
         {"target-cpu", "target-features", "tune-cpu", "frame-pointer", "stack-protector-buffer-size"})
      f.removeFnAttr(name);
    if (f.isDeclaration()) {
      if (f.getName().starts_with("__atomic_"))
        throw Error("the native function '" + function.name + "' can't have " + f.getName().str() +
                        ": the clang that compiles it knows no instruction for that on this device; use atomic_add or "
                        "one of the __sync functions, or set wp.config.native_compiler to a newer clang (19)",
                    function.loc);
      continue;
    }
    f.removeFnAttr(llvm::Attribute::NoInline);
    f.addFnAttr(llvm::Attribute::AlwaysInline);
    f.setLinkage(llvm::GlobalValue::InternalLinkage);
    f.setComdat(nullptr);
    f.setVisibility(llvm::GlobalValue::DefaultVisibility);
    f.setDSOLocal(true);
    // Assembly of GPUs may be a meeting of threads: no copies of it behind a branch.
    if (target.arch == TargetSpec::nvptx)
      for (llvm::Instruction& one : llvm::instructions(f))
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&one); call && call->isInlineAsm()) call->setConvergent();
  }
  if (target.arch == TargetSpec::nvptx) {
    lower_native_atomics(from);
    place_shared_variables(from);
  }
  for (llvm::GlobalVariable& g : from.globals()) {
    if (g.isDeclaration()) continue;
    if (g.isThreadLocal() || g.hasAppendingLinkage())
      throw Error("the native function '" + function.name +
                      "' needs start-up code or thread-local variables, which "
                      "kernels can't have",
                  function.loc);
    g.setLinkage(llvm::GlobalValue::InternalLinkage);
    g.setComdat(nullptr);
  }
  if (calls_back(function)) link_uses(function, from, *entry);
  entry->setLinkage(llvm::GlobalValue::ExternalLinkage);  // found again by its name after linking
  from.setTargetTriple(module->getTargetTriple());
  from.setDataLayout(module->getDataLayout());
  if (llvm::NamedMDNode* flags = from.getModuleFlagsMetadata()) from.eraseNamedMetadata(flags);
  if (llvm::Linker::linkModules(*module, std::move(*library)))
    throw Error("the native function '" + function.name + "' could not be linked", function.loc);
  for (const auto& [used, to] : used_) to->setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::Function* linked = module->getFunction(symbol);
  linked->setLinkage(llvm::GlobalValue::InternalLinkage);
  return natives_[&function] = linked;
}

}  // namespace weft::codegen
