// Folders, builds and checks for the driver suites.
#include "support.h"

#include <unistd.h>

#include <cstdlib>

#include "runtime/launch.h"
#include "runtime/params.h"
#include "syntax/parser.h"

namespace weft::agree {

namespace fs = std::filesystem;

TempFolder::TempFolder() {
  std::string pattern = (fs::temp_directory_path() / "weft_agree_XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
  path = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  for (const auto& entry :
       fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, ignored))
    if (entry.is_directory(ignored))
      fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add, ignored);
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, ignored);
  fs::remove_all(path, ignored);
}

runtime::CacheOptions cache_options(const std::string& folder) {
  runtime::CacheOptions options;
  options.folder = folder;
  options.build_id = driver::build_id();
  options.warn = [](const std::string&) {};
  return options;
}

std::vector<fs::path> entries(const std::string& folder) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored))
    if (entry.is_regular_file(ignored) && entry.path().extension() != ".lock") out.push_back(entry.path());
  return out;
}

ParsedKernel::ParsedKernel(const std::string& text) {
  DiagnosticSink sink;
  auto source = std::make_shared<SourceFile>("<test>", text);
  scope_ = sema::FileScope::make(syntax::parse(source, sink), sink);
  if (sink.has_errors()) throw std::runtime_error(sink.render_all());
  kernel_ = scope_->kernels().back();
  hash_ = Hasher().text(text).finish();
}

driver::BuildRequest ParsedKernel::request() const {
  driver::BuildRequest request;
  request.kernel = kernel_.get();
  const Type* array = types::array(types::f32(), 1);
  request.arg_types = {array, array};
  request.form.rank = 1;
  request.form.no_overlap = true;
  request.source_hash = hash_;
  return request;
}

std::shared_ptr<const driver::KernelBinary> ParsedKernel::build(driver::BinaryStore& store,
                                                                driver::BuildReport* report) const {
  DiagnosticSink sink;
  auto binary = store.get(request(), sink, report);
  if (sink.has_errors()) throw std::runtime_error(sink.render_all());
  return binary;
}

std::string run_doubling(const driver::KernelBinary& binary) {
  constexpr std::int64_t kCount = 1003;
  runtime::Array x = runtime::Array::zeros(types::f32(), {kCount}), y = runtime::Array::zeros(types::f32(), {kCount});
  for (std::int64_t i = 0; i < kCount; ++i) x.at<float>(i) = float(i);
  ParamLayout layout;
  layout.add("x", x.type());
  layout.add("y", y.type());
  runtime::ParamBlock block(binary.name(), layout);
  block.set("x", x);
  block.set("y", y);
  runtime::launch(binary.code(), block.data(), {kCount});
  for (std::int64_t i = 0; i < kCount; ++i)
    if (y.at<float>(i) != 2 * float(i)) return "element " + std::to_string(i) + " is " + std::to_string(y.at<float>(i));
  return {};
}

}  // namespace weft::agree
