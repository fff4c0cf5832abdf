// Links objects into the process: small ones by ourselves (small_link.h), others by RuntimeDyld. A kernel has one private
// mapping: sections are laid out together (so that every relocation reaches), written, then made read-only or executable;
// nothing is ever both writable and executable. No session, no passes, no target machine: a small object loads in some
// ten microseconds, others in a tenth of a millisecond.
#include "codegen/codegen.h"

#include <cmath>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Memory.h>

#include "codegen/load/small_link.h"
#include "runtime/helper_symbols.h"

namespace weft::codegen {

namespace {

/// The C library functions that LLVM's code generators call on their own account.
template <class R, class... Args>
void* address(R (*function)(Args...)) {
  return reinterpret_cast<void*>(function);
}

const std::unordered_map<std::string_view, void*>& known_symbols() {
  static const auto* table = [] {
    auto* map = new std::unordered_map<std::string_view, void*>{
        {"memcpy", address(&std::memcpy)},     {"memset", address(&std::memset)},
        {"memmove", address(&std::memmove)},   {"fma", address<double>(&::fma)},
        {"fmaf", address<float>(&::fmaf)},     {"floor", address<double>(&::floor)},
        {"floorf", address<float>(&::floorf)}, {"ceil", address<double>(&::ceil)},
        {"ceilf", address<float>(&::ceilf)},   {"trunc", address<double>(&::trunc)},
        {"truncf", address<float>(&::truncf)}, {"rint", address<double>(&::rint)},
        {"rintf", address<float>(&::rintf)},   {"round", address<double>(&::round)},
        {"roundf", address<float>(&::roundf)},
    };
    for (const runtime::HelperSymbol& symbol : runtime::helper_symbols()) map->emplace(symbol.name, symbol.address);
    return map;
  }();
  return *table;
}

std::size_t page_size() {
  static const std::size_t size = std::size_t(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t pages(std::size_t bytes) { return (bytes + page_size() - 1) / page_size() * page_size(); }

/// One mapping; each object has three parts of it: code, constants, data.
class Memory final : public llvm::RuntimeDyld::MemoryManager {
 public:
  /// For objects of so many bytes together. They call each other, so they have to lie side by side.
  explicit Memory(std::size_t bytes) : size_(pages(2 * bytes + kSpare)) {
    void* mapping = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    exhausted_ = mapping == MAP_FAILED;
    if (exhausted_) return;
    base_ = next_ = static_cast<std::uint8_t*>(mapping);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() override {
    if (base_) ::munmap(base_, size_);
    for (const auto& [at, size] : more_) ::munmap(at, size);
  }
  std::size_t size() const { return size_; }
  bool exhausted() const { return exhausted_; }

  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(std::uintptr_t code, llvm::Align code_align, std::uintptr_t constants, llvm::Align,
                              std::uintptr_t data, llvm::Align) override {
    std::size_t sizes[3] = {pages(code + code_align.value()), pages(constants + 64), pages(data + 64)};
    std::uint8_t* at = take_pages(sizes[0] + sizes[1] + sizes[2]);
    if (!at) return void(exhausted_ = true);
    Object& object = objects_.emplace_back();
    for (int k = 0; k < 3; ++k) {
      object.parts[k] = {at, at, at + sizes[k]};
      at += sizes[k];
    }
  }
  std::uint8_t* allocateCodeSection(std::uintptr_t size, unsigned align, unsigned, llvm::StringRef) override {
    return take(0, size, align);
  }
  std::uint8_t* allocateDataSection(std::uintptr_t size, unsigned align, unsigned, llvm::StringRef,
                                    bool constant) override {
    return take(constant ? 1 : 2, size, align);
  }
  void registerEHFrames(std::uint8_t*, std::uint64_t, std::size_t) override {}
  void deregisterEHFrames() override {}
  bool finalizeMemory(std::string* problem) override {
    for (const Object& object : objects_) {
      if (!protect(object.parts[0], PROT_READ | PROT_EXEC) || !protect(object.parts[1], PROT_READ)) {
        if (problem) *problem = std::string("mprotect failed: ") + std::strerror(errno);
        return true;
      }
      llvm::sys::Memory::InvalidateInstructionCache(object.parts[0].begin, object.parts[0].size());
    }
    return false;
  }

 private:
  static constexpr std::size_t kSpare = std::size_t(1)
                                        << 18;  // parts begin at pages; stubs; data that takes no bytes of a file
  struct Extent {
    std::uint8_t *begin = nullptr, *next = nullptr, *end = nullptr;
    std::size_t size() const { return std::size_t(end - begin); }
  };
  struct Object {
    Extent parts[3];
  };
  std::uint8_t* take_pages(std::size_t size) {
    if (!base_) return nullptr;
    if (size <= size_ - std::size_t(next_ - base_)) return std::exchange(next_, next_ + size);
    // A native function's variables, say.
    void* mapping = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return nullptr;
    more_.emplace_back(static_cast<std::uint8_t*>(mapping), size);
    return more_.back().first;
  }
  std::uint8_t* take(int part, std::uintptr_t size, unsigned align) {
    if (objects_.empty() || exhausted_) return nullptr;
    Extent& extent = objects_.back().parts[part];
    std::uintptr_t mask = std::max(align, 1u) - 1;
    auto at = reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(extent.next) + mask) & ~mask);
    if (at + size > extent.end) {
      exhausted_ = true;
      return nullptr;
    }
    extent.next = at + size;
    return at;
  }
  static bool protect(const Extent& extent, int flags) {
    return extent.size() == 0 || ::mprotect(extent.begin, extent.size(), flags) == 0;
  }

  std::uint8_t *base_ = nullptr, *next_ = nullptr;
  std::size_t size_ = 0;
  std::vector<std::pair<std::uint8_t*, std::size_t>> more_;
  std::vector<Object> objects_;
  bool exhausted_ = false;
};

class Resolver final : public llvm::LegacyJITSymbolResolver {
 public:
  llvm::JITSymbol findSymbol(const std::string& name) override {
    auto it = known_symbols().find(name);
    // Native functions may call the C library.
    if (void* found = it == known_symbols().end() ? ::dlsym(RTLD_DEFAULT, name.c_str()) : nullptr)
      return llvm::JITSymbol(llvm::pointerToJITTargetAddress(found), llvm::JITSymbolFlags::Exported);
    if (it == known_symbols().end()) {
      if (missing_.empty()) missing_ = name;
      return nullptr;
    }
    return llvm::JITSymbol(llvm::pointerToJITTargetAddress(it->second), llvm::JITSymbolFlags::Exported);
  }
  llvm::JITSymbol findSymbolInLogicalDylib(const std::string&) override { return nullptr; }
  const std::string& missing() const { return missing_; }

 private:
  std::string missing_;
};

/// Code that small_link placed, constants behind it in the same pages.
class SmallCode final : public LoadedCode {
 public:
  /// Nothing if it can't be placed or there is no memory: the general way says why.
  static std::shared_ptr<SmallCode> load(const SmallObject& object) {
    const std::size_t size = pages(object.size());
    void* mapping = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return nullptr;
    auto code = std::make_shared<SmallCode>(mapping, size);
    auto* memory = static_cast<std::uint8_t*>(mapping);
    if (!object.place(memory, reinterpret_cast<std::uintptr_t>(memory))) return nullptr;
    if (::mprotect(mapping, size, PROT_READ | PROT_EXEC) != 0) return nullptr;
    llvm::sys::Memory::InvalidateInstructionCache(mapping, size);
    code->entry_ = reinterpret_cast<runtime::ChunkFn>(memory + object.entry());
    code->size_ = size;
    return code;
  }
  SmallCode(void* mapping, std::size_t size) : mapping_(mapping), mapped_(size) {}
  ~SmallCode() override { ::munmap(mapping_, mapped_); }

 private:
  void* mapping_;
  std::size_t mapped_;
};

class LinkedCode final : public LoadedCode {
 public:
  LinkedCode(std::span<const std::span<const char>> objects, const std::string& entry) : memory_(total(objects)) {
    Resolver resolver;
    llvm::RuntimeDyld linker(memory_, resolver);
    std::vector<std::unique_ptr<llvm::object::ObjectFile>> read;
    // The kernel's comes last: it then finds the functions of the others.
    for (auto bytes = objects.rbegin(); bytes != objects.rend(); ++bytes) {
      llvm::MemoryBufferRef buffer(llvm::StringRef(bytes->data(), bytes->size()), "kernel");
      auto object = llvm::object::ObjectFile::createELFObjectFile(buffer);
      if (!object) throw Error("damaged object: " + llvm::toString(object.takeError()));
      read.push_back(std::move(*object));
      // A linker without an object can't be asked.
      if (read.size() == 1 || (!linker.hasError() && !memory_.exhausted())) linker.loadObject(*read.back());
    }
    if (!linker.hasError() && !memory_.exhausted()) linker.resolveRelocations();
    if (!resolver.missing().empty()) throw Error("the object refers to an unknown symbol: " + resolver.missing());
    if (memory_.exhausted()) throw Error("no memory for machine code");
    if (linker.hasError()) throw Error("the object can't be linked: " + linker.getErrorString().str());
    std::string problem;
    if (memory_.finalizeMemory(&problem)) throw Error(problem);
    entry_ = reinterpret_cast<runtime::ChunkFn>(linker.getSymbolLocalAddress(entry));
    if (!entry_) throw Error("the object has no symbol " + entry);
    size_ = memory_.size();
  }

 private:
  static std::size_t total(std::span<const std::span<const char>> objects) {
    std::size_t bytes = 0;
    for (const std::span<const char> object : objects) bytes += object.size();
    return bytes;
  }
  Memory memory_;
};

}  // namespace

std::shared_ptr<LoadedCode> load_objects(std::span<const std::span<const char>> objects, const std::string& entry) {
  if (auto small = SmallObject::read(objects, entry))
    if (auto code = SmallCode::load(*small)) return code;
  return std::make_shared<LinkedCode>(objects, entry);
}

}  // namespace weft::codegen
