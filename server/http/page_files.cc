#include "server/http/page_files.h"

#include <algorithm>
#include <string>

#include "server/http/encoding.h"
#include "server/http/errors.h"

namespace winnow {
namespace {

constexpr std::string_view kIndex = "index.html";
constexpr std::string_view kAssets = "assets/";

const PageFile* Find(const std::vector<PageFile>& files, std::string_view path) {
  const auto file =
      std::find_if(files.begin(), files.end(), [&](const PageFile& f) { return f.path == path; });
  return file == files.end() ? nullptr : &*file;
}

}  // namespace

HttpAnswer AnswerPage(const std::vector<PageFile>& files, std::string_view path, const HttpRequest& request) {
  const PageFile* file = Find(files, path);
  if (file == nullptr && path.starts_with(kAssets)) {
    return ErrorAnswer({grpc::StatusCode::NOT_FOUND, "there is no such file"});
  }
  if (file == nullptr) file = Find(files, kIndex);
  const bool zipped = !file->gzip.empty() && AcceptsGzip(request.header("accept-encoding"));
  HttpAnswer answer;
  const std::string tag = "\"" + std::string(file->tag) + (zipped ? "z" : "") + "\"";
  answer.headers = {{"ETag", tag},
                    {"Vary", "Accept-Encoding"},
                    {"Cache-Control",
                     file->path.starts_with(kAssets) ? "public, max-age=31536000, immutable" : "no-cache"}};
  if (request.header("if-none-match").find(tag) != std::string_view::npos) {
    answer.status = 304;
    return answer;
  }
  answer.headers.emplace_back("Content-Type", file->type);
  if (zipped) answer.headers.emplace_back("Content-Encoding", "gzip");
  answer.fixed = zipped ? file->gzip : file->bytes;
  return answer;
}

}  // namespace winnow
