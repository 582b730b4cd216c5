#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "winnow/v1/artifact.grpc.pb.h"

namespace winnow {

// An artifact store in this process that keeps everything in memory.
class FakeArtifacts : public v1::ArtifactService::Service {
 public:
  FakeArtifacts();
  ~FakeArtifacts() override;
  std::shared_ptr<grpc::Channel> Channel() const;

  // From now on every call of that method ("PutBlob") ends with the status; OK: normally.
  void Answer(const std::string& method, grpc::Status status);
  // Called inside PutBlob, before it answers.
  std::function<void()> on_put_blob;
  void AddBlob(const std::string& bytes);

  // Waits until this many artifacts were put; false if they are not within 60 s.
  bool AwaitPut(size_t count);
  std::vector<v1::PutArtifactRequest> put();
  std::string Blob(const std::string& digest);
  int Calls(const std::string& method);

  grpc::Status FindMissingBlobs(grpc::ServerContext*, const v1::FindMissingBlobsRequest* request,
                                v1::FindMissingBlobsResponse* response) override;
  grpc::Status PutBlob(grpc::ServerContext*, grpc::ServerReader<v1::BlobPart>* reader,
                       v1::PutBlobResponse*) override;
  grpc::Status GetBlob(grpc::ServerContext*, const v1::GetBlobRequest* request,
                       grpc::ServerWriter<v1::BlobPart>* writer) override;
  grpc::Status PutArtifact(grpc::ServerContext*, const v1::PutArtifactRequest* request,
                           v1::PutArtifactResponse*) override;

 private:
  grpc::Status Begin(const std::string& method);

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::map<std::string, std::string> blobs_;
  std::map<std::string, grpc::Status> answers_;
  std::map<std::string, int> calls_;
  std::vector<v1::PutArtifactRequest> put_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace winnow
