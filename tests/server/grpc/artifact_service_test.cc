#include "server/grpc/artifact_service.h"

#include <grpcpp/grpcpp.h>

#include <array>
#include <chrono>

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "server/grpc/grpc_server.h"
#include "server/host/blobs/blob_folder.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

std::unique_ptr<ArtifactStore> OpenStore(const TempFolder& folder) {
  ArtifactStoreOptions options;
  options.place = std::make_unique<BlobFolder>(folder.path(), 0);
  options.quota_bytes = 3 * kBlobBytes;
  return *ArtifactStore::Open(std::move(options));
}

// A Play with a store behind real gRPC.
struct Scene {
  TempFolder folder;
  std::unique_ptr<ArtifactStore> store = OpenStore(folder);
  Play play{15'000'000, store.get()};
  std::unique_ptr<Reader> reader = *Reader::Start(play.file(), play.time.clock());
  std::unique_ptr<GrpcServer> server = *GrpcServer::Start(
      {.address = "127.0.0.1:0", .artifacts = store.get()}, play.coordinator(), *reader, play.hub);
  std::unique_ptr<v1::ArtifactService::Stub> stub = v1::ArtifactService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(server->port()), grpc::InsecureChannelCredentials()));

  grpc::Status Put(const std::string& digest, int64_t size, const std::vector<std::string>& parts) {
    grpc::ClientContext context;
    v1::PutBlobResponse response;
    const auto writer = stub->PutBlob(&context, &response);
    for (size_t i = 0; i < parts.size(); ++i) {
      v1::BlobPart part;
      if (i == 0) {
        part.set_digest(digest);
        part.set_size(size);
      }
      part.set_data(parts[i]);
      if (!writer->Write(part)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }
  grpc::Status Put(const std::string& bytes) {
    std::vector<std::string> parts;
    for (size_t at = 0; at < bytes.size(); at += kMaxPartBytes)
      parts.push_back(bytes.substr(at, kMaxPartBytes));
    return Put(DigestOf(bytes), static_cast<int64_t>(bytes.size()), parts);
  }
  grpc::Status Get(const std::string& digest, std::string* bytes) {
    grpc::ClientContext context;
    v1::GetBlobRequest request;
    request.set_digest(digest);
    const auto reading = stub->GetBlob(&context, request);
    for (v1::BlobPart part; reading->Read(&part);) *bytes += part.data();
    return reading->Finish();
  }
  grpc::Status PutArtifact(const v1::PutArtifactRequest& request) {
    grpc::ClientContext context;
    v1::PutArtifactResponse response;
    return stub->PutArtifact(&context, request, &response);
  }
};

TEST_CASE("Artifact service: a blob in parts comes back as it was", "[server]") {
  Scene scene;
  std::string bytes;
  for (int64_t i = 0; i < kBlobBytes; ++i) bytes += static_cast<char>(i * i % 251);
  REQUIRE(scene.Put(bytes).ok());
  CHECK(scene.Put(bytes).ok());  // it is there already
  std::string back;
  CHECK(scene.Get(DigestOf(bytes), &back).ok());
  CHECK(back == bytes);
  CHECK(scene.Get(DigestOf("other"), &back).error_code() == grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("Artifact service: half an upload, false bytes and bad sizes leave nothing", "[server]") {
  Scene scene;
  const std::string digest = DigestOf("hello");
  const auto invalid = grpc::StatusCode::INVALID_ARGUMENT;
  CHECK(scene.Put(digest, 5, {"hel"}).error_code() == invalid);
  CHECK(scene.Put(digest, 5, {"hel", "lo!"}).error_code() == invalid);
  CHECK(scene.Put(digest, 5, {"hellp"}).error_code() == invalid);
  CHECK(scene.Put(digest, 0, {"hello"}).error_code() == invalid);
  CHECK(scene.Put(digest, kBlobBytes + 1, {"hello"}).error_code() == invalid);
  CHECK(scene.Put("../../etc/passwd", 5, {"hello"}).error_code() == invalid);
  CHECK(scene.Put(digest, kMaxPartBytes + 1, {std::string(kMaxPartBytes + 1, 'x')}).error_code() == invalid);
  CHECK(scene.Put(digest, 5, {}).error_code() == invalid);
  {
    grpc::ClientContext context;
    v1::PutBlobResponse response;
    const auto writer = scene.stub->PutBlob(&context, &response);
    v1::BlobPart part;
    part.set_digest(digest);
    part.set_size(5);
    part.set_data("hel");
    writer->Write(part);
    context.TryCancel();
    CHECK_FALSE(writer->Finish().ok());
  }
  CHECK_FALSE(scene.store->Has(digest));
  CHECK(scene.store->used_bytes() == 0);
}

TEST_CASE("Artifact service: beyond the quota is RESOURCE_EXHAUSTED", "[server]") {
  Scene scene;
  for (const char fill : {'a', 'b', 'c'}) REQUIRE(scene.Put(std::string(kBlobBytes, fill)).ok());
  const grpc::Status full = scene.Put("one more");
  CHECK(full.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(full.error_message().find("--artifact-quota-gib") != std::string::npos);
}

TEST_CASE("Artifact service: which blobs are missing", "[server]") {
  Scene scene;
  REQUIRE(scene.Put("hello").ok());
  grpc::ClientContext context;
  v1::FindMissingBlobsRequest request;
  v1::FindMissingBlobsResponse response;
  request.add_digests(DigestOf("hello"));
  request.add_digests(DigestOf("other"));
  REQUIRE(scene.stub->FindMissingBlobs(&context, request, &response).ok());
  REQUIRE(response.digests_size() == 1);
  CHECK(response.digests(0) == DigestOf("other"));
  request.add_digests("short");
  grpc::ClientContext second;
  CHECK(scene.stub->FindMissingBlobs(&second, request, &response).error_code() ==
        grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("Artifact service: uploads beyond those in memory wait, and have their turn", "[server]") {
  constexpr int kUploads = 40;
  struct Upload {
    grpc::ClientContext context;
    v1::PutBlobResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::BlobPart>> writer;
  };
  Scene scene;
  std::vector<Upload> uploads(kUploads);
  const auto text = [](int i) { return "blob " + std::to_string(100 + i); };
  for (int i = 0; i < kUploads; ++i) {
    Upload& upload = uploads.at(i);
    upload.context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    upload.writer = scene.stub->PutBlob(&upload.context, &upload.response);
    v1::BlobPart part;
    part.set_digest(DigestOf(text(i)));
    part.set_size(8);
    part.set_data("blob ");
    REQUIRE(upload.writer->Write(part));
  }
  // A third goes, a third is cut short, a third is whole.
  for (int i = 0; i < kUploads; i += 3) uploads.at(i).context.TryCancel();
  for (int i = 2; i < kUploads; i += 3) {
    v1::BlobPart part;
    part.set_data(text(i).substr(5));
    CHECK(uploads.at(i).writer->Write(part));
  }
  // All end before any is waited for: the server may give the first turns to others than the first here.
  for (Upload& upload : uploads) upload.writer->WritesDone();
  for (int i = 0; i < kUploads; ++i) {
    const grpc::StatusCode code = uploads.at(i).writer->Finish().error_code();
    const std::array expected{grpc::StatusCode::CANCELLED, grpc::StatusCode::INVALID_ARGUMENT,
                              grpc::StatusCode::OK};
    CHECK(code == expected.at(i % 3));
    CHECK(scene.store->Has(DigestOf(text(i))) == (i % 3 == 2));
  }
}

TEST_CASE("Blob turns: come in the order in which they were asked for", "[server]") {
  BlobTurns turns(2);
  std::string order;
  for (const char c : std::string("abcd")) turns.Await([&order, c] { order += c; });
  CHECK(order == "ab");
  turns.End();
  CHECK(order == "abc");
  for (int i = 0; i < 3; ++i) turns.End();
  CHECK(order == "abcd");
  turns.Await([&order] { order += 'e'; });
  CHECK(order == "abcde");
}

TEST_CASE(
    "Artifact service: a checkpoint of blobs that are there is found again, and the status tells what is "
    "missing",
    "[server]") {
  Scene scene;
  const std::string id = scene.play.Create(RandomJob(1));
  FakeWorker worker(scene.play, "worker", 1);
  REQUIRE(worker.Tell().ok());
  v1::PutArtifactRequest request;
  request.set_assignment_id(worker.running.begin()->first);
  v1::Artifact& artifact = *request.mutable_artifact();
  artifact.set_job_id(id);
  artifact.set_trial(1);
  artifact.set_kind(v1::Artifact::CHECKPOINT);
  artifact.set_resource(4);
  v1::ArtifactFile* file = artifact.mutable_manifest()->add_files();
  file->set_path("state");
  file->set_size(5);
  file->add_blobs()->set_digest(DigestOf("hello"));
  file->mutable_blobs(0)->set_size(5);
  const grpc::Status missing = scene.PutArtifact(request);
  CHECK(missing.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(missing.error_details() == "winnow.v1.MissingBlob");
  REQUIRE(scene.Put("hello").ok());
  REQUIRE(scene.PutArtifact(request).ok());

  grpc::ClientContext context;
  v1::GetArtifactRequest get;
  v1::Artifact found;
  get.set_job_id(id);
  get.set_trial(1);
  get.set_kind(v1::Artifact::CHECKPOINT);
  REQUIRE(scene.stub->GetArtifact(&context, get, &found).ok());
  CHECK(found.resource() == 4);
  CHECK(found.attempt() == 1);
  CHECK(found.manifest().files(0).path() == "state");
  get.set_kind(v1::Artifact::MODEL);
  grpc::ClientContext second;
  CHECK(scene.stub->GetArtifact(&second, get, &found).error_code() == grpc::StatusCode::NOT_FOUND);

  file->set_path("../state");
  CHECK(scene.PutArtifact(request).error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace winnow
