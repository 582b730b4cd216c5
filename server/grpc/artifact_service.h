#pragma once

#include <atomic>

#include "server/engine/coordinator.h"
#include "server/grpc/disk_threads.h"
#include "server/grpc/guard.h"
#include "server/host/artifact_store.h"
#include "server/reads/reader.h"
#include "winnow/v1/artifact.grpc.pb.h"

namespace winnow {

// The wire of the artifact store. Blobs pass through memory whole, at most 4 MiB each and so many at a time.
// REQUIRES that what it is given outlives the gRPC server. Without a store every method answers
// FAILED_PRECONDITION.
class ArtifactService final : public v1::ArtifactService::CallbackService {
 public:
  ArtifactService(Coordinator& coordinator, Reader& reader, Authority& authority, ArtifactStore* store);

  grpc::ServerUnaryReactor* FindMissingBlobs(grpc::CallbackServerContext* context,
                                             const v1::FindMissingBlobsRequest* request,
                                             v1::FindMissingBlobsResponse* response) override;
  grpc::ServerReadReactor<v1::BlobPart>* PutBlob(grpc::CallbackServerContext* context,
                                                 v1::PutBlobResponse* response) override;
  grpc::ServerWriteReactor<v1::BlobPart>* GetBlob(grpc::CallbackServerContext* context,
                                                  const v1::GetBlobRequest* request) override;
  grpc::ServerUnaryReactor* PutArtifact(grpc::CallbackServerContext* context,
                                        const v1::PutArtifactRequest* request,
                                        v1::PutArtifactResponse* response) override;
  grpc::ServerUnaryReactor* GetArtifact(grpc::CallbackServerContext* context,
                                        const v1::GetArtifactRequest* request,
                                        v1::Artifact* response) override;

 private:
  class Upload;
  class Download;

  // OK: the call may go on, and its blob counts as under way until blobs_ is counted down.
  grpc::Status BeginBlob();

  Coordinator& coordinator_;
  Reader& reader_;
  Guard guard_;
  ArtifactStore* const store_;
  std::atomic<int> blobs_ = 0;  // under way
  DiskThreads threads_;
};

}  // namespace winnow
