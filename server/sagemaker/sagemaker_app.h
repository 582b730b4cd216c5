#pragma once

#include <grpcpp/channel.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/http/http_server.h"
#include "server/http/request_handler.h"

namespace winnow {

struct SagemakerOptions {
  std::filesystem::path folder;       // of jobs and objects
  std::filesystem::path keys_file;    // "": keys.json in `folder`, created if it is missing
  std::filesystem::path images_file;  // what image names stand for; "": only what is known without one
  bool tokens_required = false;
  std::string relay_key;  // of the gRPC server
  std::string url;        // by which workers reach this endpoint; "": http(s)://ADDRESS:PORT
};

// The endpoint that clients of SageMaker and S3 call: checks their signatures, and answers each service's
// protocol.
class SagemakerApp final : public RequestHandler {
 public:
  // INVALID_ARGUMENT: the file of keys or of images is wrong; other errors of the folder.
  static absl::StatusOr<std::unique_ptr<SagemakerApp>> Open(SagemakerOptions options,
                                                            const std::shared_ptr<grpc::Channel>& channel);
  ~SagemakerApp() override;

  Way Handle(HttpRequest request) const override;
  FreeBody FreeBodyOf(std::string_view target) const override;
  std::shared_ptr<Exchange> Admit(const HttpRequest& request) const override;
  HttpAnswer Refusal(int status, const std::string& why) const override;
  void AnnounceStop() override;

  // The limits of its connections: bodies are parts of objects.
  static HttpListenOptions ListenOptions();

  // The URL by which workers reach it, once the port is known. Before the first job.
  void SetUrl(const std::string& url);

 private:
  class Parts;
  explicit SagemakerApp(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace winnow
