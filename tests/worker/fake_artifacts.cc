#include "tests/worker/fake_artifacts.h"

#include <chrono>

#include "artifact/digest.h"

namespace winnow {

FakeArtifacts::FakeArtifacts() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

FakeArtifacts::~FakeArtifacts() { server_->Shutdown(std::chrono::system_clock::now()); }

std::shared_ptr<grpc::Channel> FakeArtifacts::Channel() const {
  return grpc::CreateChannel("127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials());
}

void FakeArtifacts::Answer(const std::string& method, grpc::Status status) {
  std::lock_guard lock(mutex_);
  answers_[method] = std::move(status);
}

void FakeArtifacts::AddBlob(const std::string& bytes) {
  std::lock_guard lock(mutex_);
  blobs_[DigestOf(bytes)] = bytes;
}

bool FakeArtifacts::AwaitPut(size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return put_.size() >= count; });
}

std::vector<v1::PutArtifactRequest> FakeArtifacts::put() {
  std::lock_guard lock(mutex_);
  return put_;
}

std::string FakeArtifacts::Blob(const std::string& digest) {
  std::lock_guard lock(mutex_);
  const auto found = blobs_.find(digest);
  return found == blobs_.end() ? "" : found->second;
}

int FakeArtifacts::Calls(const std::string& method) {
  std::lock_guard lock(mutex_);
  return calls_[method];
}

grpc::Status FakeArtifacts::Begin(const std::string& method) {
  std::lock_guard lock(mutex_);
  ++calls_[method];
  const auto found = answers_.find(method);
  return found == answers_.end() ? grpc::Status::OK : found->second;
}

grpc::Status FakeArtifacts::FindMissingBlobs(grpc::ServerContext*, const v1::FindMissingBlobsRequest* request,
                                             v1::FindMissingBlobsResponse* response) {
  if (const grpc::Status status = Begin("FindMissingBlobs"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  for (const std::string& digest : request->digests()) {
    if (blobs_.count(digest) == 0) response->add_digests(digest);
  }
  return grpc::Status::OK;
}

grpc::Status FakeArtifacts::PutBlob(grpc::ServerContext*, grpc::ServerReader<v1::BlobPart>* reader,
                                    v1::PutBlobResponse*) {
  if (const grpc::Status status = Begin("PutBlob"); !status.ok()) return status;
  std::string digest, bytes;
  for (v1::BlobPart part; reader->Read(&part);) {
    if (digest.empty()) digest = part.digest();
    bytes += part.data();
  }
  if (on_put_blob) on_put_blob();
  if (DigestOf(bytes) != digest) return {grpc::StatusCode::INVALID_ARGUMENT, "not its bytes"};
  std::lock_guard lock(mutex_);
  blobs_[digest] = bytes;
  return grpc::Status::OK;
}

grpc::Status FakeArtifacts::GetBlob(grpc::ServerContext*, const v1::GetBlobRequest* request,
                                    grpc::ServerWriter<v1::BlobPart>* writer) {
  if (const grpc::Status status = Begin("GetBlob"); !status.ok()) return status;
  v1::BlobPart part;
  part.set_data(Blob(request->digest()));
  if (part.data().empty()) return {grpc::StatusCode::NOT_FOUND, "no such blob"};
  writer->Write(part);
  return grpc::Status::OK;
}

grpc::Status FakeArtifacts::PutArtifact(grpc::ServerContext*, const v1::PutArtifactRequest* request,
                                        v1::PutArtifactResponse*) {
  if (const grpc::Status status = Begin("PutArtifact"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  for (const v1::ArtifactFile& file : request->artifact().manifest().files()) {
    for (const v1::BlobName& blob : file.blobs()) {
      if (blobs_.count(blob.digest()) > 0) continue;
      return {grpc::StatusCode::FAILED_PRECONDITION, "a blob is missing", "winnow.v1.MissingBlob"};
    }
  }
  put_.push_back(*request);
  changed_.notify_all();
  return grpc::Status::OK;
}

}  // namespace winnow
