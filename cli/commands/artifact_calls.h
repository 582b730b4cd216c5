#pragma once

#include <grpcpp/channel.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/session/client.h"
#include "winnow/v1/artifact.grpc.pb.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// The calls of commands to the server's artifact store.
class ArtifactCalls {
 public:
  ArtifactCalls(Client& client, std::shared_ptr<grpc::Channel> channel, absl::Duration timeout)
      : client_(client), stub_(v1::ArtifactService::NewStub(std::move(channel))), timeout_(timeout) {}

  // Waits, up to a call's time limit, while the server fetches the artifact, and with `may_come` if it is
  // missing.
  absl::StatusOr<v1::Artifact> Get(const v1::GetArtifactRequest& request, bool may_come);
  // Tries again when the connection breaks.
  absl::StatusOr<std::string> Blob(const v1::BlobName& blob);
  // Sends what the server lacks of the files of `root`. FAILED_PRECONDITION names a file that is not as in
  // the manifest any more.
  absl::Status Send(const v1::Manifest& manifest, const std::filesystem::path& root);

 private:
  absl::StatusOr<std::string> BlobOnce(const v1::BlobName& blob);
  absl::Status PutBlob(const v1::BlobName& blob, const std::string& bytes);
  absl::Status OfBlob(const grpc::Status& status);

  Client& client_;
  const std::unique_ptr<v1::ArtifactService::Stub> stub_;
  const absl::Duration timeout_;
};

// FAILED_PRECONDITION: `folder` exists and is not an empty directory.
absl::Status CheckDownloadFolder(const std::string& folder);
// "0f3e2a…, 3 files of 1.2 kB, git commit 5a7d… with changes".
std::string SourceText(const v1::Source& source);
// "12.3 kB".
std::string BytesText(int64_t bytes);

}  // namespace winnow::cli
