// Forms, logs and blocks by hand, as src/driver/taped_launch.cpp has them.
#include "there_and_back.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/tape_log.h"
#include "sema/file_scope.h"
#include "syntax/parser.h"

namespace weft::driver::test {

std::shared_ptr<const sema::FunctionDecl> kernel_of(const std::string& text) {
  DiagnosticSink sink;
  auto tree = syntax::parse(std::make_shared<SourceFile>("random.py", text), sink);
  auto scope = sema::FileScope::make(tree, sink);
  auto decl = scope->find_kernel("k");
  EXPECT_TRUE(decl) << sink.render_all();
  return {decl.get(), [scope, decl](const sema::FunctionDecl*) {}};  // the declaration does not hold its scope
}

ArrayDesc desc_of(void* data, void* grad, std::int64_t count, std::int64_t size) {
  ArrayDesc desc;
  desc.data = data;
  desc.grad = grad;
  desc.ndim = 1;
  desc.shape[0] = count;
  desc.strides[0] = size;
  return desc;
}

namespace {

void run(Kernel& kernel, std::span<const ArrayDesc> arrays, std::int64_t threads, cuda::Device* device, bool back) {
  DiagnosticSink sink;
  const auto* params = kernel.params(sink);
  ASSERT_TRUE(params) << sink.render_all();
  ASSERT_EQ(params->size(), arrays.size());
  std::vector<const Type*> types;
  for (const sema::KernelParam& p : *params) types.push_back(p.pattern.type);
  KernelSignature& signature = kernel.signature(types);
  const ParamLayout layout = log_layout(signature.layout);
  std::vector<std::uint64_t> block(layout.size / 8 + 1);
  char* bytes = reinterpret_cast<char*>(block.data());
  for (std::size_t k = 0; k < arrays.size(); ++k)
    std::memcpy(bytes + layout.params[k].offset, &arrays[k], sizeof arrays[k]);
  LaunchForm form = form_of(signature.layout, bytes, 1);
  const TapeFacts& facts = kernel.tape_facts(signature, form);
  ASSERT_EQ(facts.problem, "");
  runtime::TapeLog log;
  if (back && !facts.log.empty()) {
    form.taped = true;
    log = runtime::TapeLog(facts.log.fixed_words, facts.log.page_words, threads, device);
    ArrayDesc logs[runtime::TapeLog::kArrays];
    log.write_descs(logs);
    for (std::size_t k = 0; k < runtime::TapeLog::kArrays; ++k)
      std::memcpy(bytes + layout.params[arrays.size() + k].offset, &logs[k], sizeof logs[k]);
  }
  const std::int64_t dims[] = {threads};
  for (bool adjoint : {false, true}) {
    if (adjoint && !back) break;
    form.adjoint = adjoint;
    const KernelVariant* variant = kernel.variant(signature, form, {}, sink, device);
    ASSERT_TRUE(variant) << sink.render_all();
    kernel.run(*variant, bytes, {dims, {}});
    if (!adjoint) log.finish();
  }
  if (device) device->synchronize();
}

}  // namespace

void there_and_back(Kernel& kernel, std::span<const ArrayDesc> arrays, std::int64_t threads, cuda::Device* device) {
  run(kernel, arrays, threads, device, true);
}

void there(Kernel& kernel, std::span<const ArrayDesc> arrays, std::int64_t threads, cuda::Device* device) {
  run(kernel, arrays, threads, device, false);
}

}  // namespace weft::driver::test
