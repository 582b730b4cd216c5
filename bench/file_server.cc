// A static file server over the HTTP of winnow-server: the peer of bench/sagemaker.py. PUT /NAME keeps the
// body as a file of the folder, HEAD /NAME says its size, and GET /NAME with a Range gives its bytes. So that
// boto3's upload_file works, PUT with partNumber=N writes behind N - 1 parts of 8 MiB, and POST says what
// ends an upload. It checks no signature or digest, has no index, and makes nothing durable.
//
// Usage: bench-file-server FOLDER; prints its port.

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "base/task_threads.h"
#include "server/http/http_server.h"

namespace winnow {
namespace {

constexpr size_t kMostPart = 64 << 20;
constexpr int64_t kPartBytes = 8 << 20;
constexpr int kThreads = 8;

class FileRange final : public BodySource {
 public:
  FileRange(int descriptor, int64_t from, int64_t size)
      : descriptor_(descriptor), from_(from), size_(size), left_(size) {}
  FileRange(const FileRange&) = delete;
  FileRange& operator=(const FileRange&) = delete;
  ~FileRange() override { close(descriptor_); }
  int64_t size() const override { return size_; }
  std::string Next(size_t most) override {
    std::string bytes(static_cast<size_t>(std::min<int64_t>(left_, static_cast<int64_t>(most))), '\0');
    const ssize_t got = pread(descriptor_, bytes.data(), bytes.size(), from_);
    if (got <= 0) return "";
    bytes.resize(static_cast<size_t>(got));
    from_ += got;
    left_ -= got;
    return bytes;
  }

 private:
  const int descriptor_;
  int64_t from_;
  const int64_t size_;
  int64_t left_;
};

class FileExchange final : public Exchange, public std::enable_shared_from_this<FileExchange> {
 public:
  FileExchange(TaskThreads& threads, std::string folder, HttpRequest request)
      : threads_(threads), folder_(std::move(folder)), request_(std::move(request)) {}
  void Start(std::function<void()> changed) override {
    threads_.Post([self = shared_from_this(), changed = std::move(changed)] {
      HttpAnswer answer = self->Answer();
      {
        MutexLock lock(self->mutex_);
        self->answer_ = std::move(answer);
        self->ready_ = true;
      }
      changed();
    });
  }
  Step Next() override {
    MutexLock lock(mutex_);
    if (!ready_) return {};
    return {Step::Kind::kAnswer, std::move(answer_), {}};
  }
  void Cancel() override {}

 private:
  HttpAnswer Answer() const {
    HttpAnswer answer;
    const size_t query = request_.target.find('?');
    std::string path = folder_ + request_.target.substr(0, query);
    std::replace(path.begin() + static_cast<std::ptrdiff_t>(folder_.size()) + 1, path.end(), '/', '_');
    const std::string asked = query == std::string::npos ? "" : request_.target.substr(query);
    if (request_.method == "POST") {
      answer.headers = {{"Content-Type", "application/xml"}};
      answer.body =
          asked.find("uploads") != std::string::npos
              ? "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
              : "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>";
      return answer;
    }
    if (request_.method == "PUT") {
      const size_t part = asked.find("partNumber=");
      const int64_t number = part == std::string::npos
                                 ? 1
                                 : std::atoll(asked.c_str() + part + std::string("partNumber=").size());
      const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      const ssize_t written =
          pwrite(file, request_.body.data(), request_.body.size(), (number - 1) * kPartBytes);
      close(file);
      answer.headers = {{"ETag", "\"1\""}};
      answer.status = written == static_cast<ssize_t>(request_.body.size()) ? 200 : 500;
      return answer;
    }
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about = {};
    const bool there = file >= 0 && fstat(file, &about) == 0;
    long long from = 0;
    long long last = about.st_size;  // "bytes=7-": to the end
    if (there && request_.method == "HEAD") {
      close(file);
      answer.headers = {{"ETag", "\"1\""}, {"Accept-Ranges", "bytes"}};
      answer.source = std::make_shared<FileRange>(open(path.c_str(), O_RDONLY | O_CLOEXEC), 0, about.st_size);
      return answer;
    }
    if (!there ||
        std::sscanf(std::string(request_.header("range")).c_str(), "bytes=%lld-%lld", &from, &last) < 1) {
      if (file >= 0) close(file);
      answer.status = 404;
      return answer;
    }
    last = std::min<long long>(last, about.st_size - 1);
    answer.status = 206;
    answer.headers = {{"ETag", "\"1\""},
                      {"Content-Range", fmt::format("bytes {}-{}/{}", from, last, about.st_size)}};
    answer.source = std::make_shared<FileRange>(file, from, last - from + 1);
    return answer;
  }

  TaskThreads& threads_;
  const std::string folder_;
  const HttpRequest request_;
  Mutex mutex_;
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;
  HttpAnswer answer_ ABSL_GUARDED_BY(mutex_);
};

class FileHandler final : public RequestHandler {
 public:
  explicit FileHandler(std::string folder) : folder_(std::move(folder)), threads_(kThreads) {}
  Way Handle(HttpRequest request) const override {
    return std::make_shared<FileExchange>(threads_, folder_, std::move(request));
  }
  FreeBody FreeBodyOf(std::string_view) const override { return {kMostPart, true}; }
  std::shared_ptr<Exchange> Admit(const HttpRequest& request) const override {
    return std::make_shared<FileExchange>(threads_, folder_, request);
  }
  HttpAnswer Refusal(int status, const std::string&) const override {
    HttpAnswer answer;
    answer.status = status;
    return answer;
  }
  void AnnounceStop() override {}

 private:
  const std::string folder_;
  mutable TaskThreads threads_;
};

int Serve(const std::string& folder) {
  HttpListenOptions options;
  options.address = "127.0.0.1:0";
  options.limits.body_bytes = kMostPart;
  auto server = HttpServer::Start(std::move(options), std::make_unique<FileHandler>(folder));
  if (!server.ok()) {
    fmt::print(stderr, "{}\n", server.status().ToString());
    return 1;
  }
  fmt::print("{}\n", (*server)->port());
  std::fflush(stdout);
  char end = 0;
  while (read(STDIN_FILENO, &end, 1) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: bench-file-server FOLDER\n");
    return 2;
  }
  return winnow::Serve(argv[1]);
}
