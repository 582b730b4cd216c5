// Who may read, and who may name, a blob of the artifact store.

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "artifact/refusals.h"
#include "server/host/blobs/blob_folder.h"
#include "tests/server/grpc/project_play.h"
#include "winnow/v1/artifact.grpc.pb.h"

namespace winnow {
namespace {

std::unique_ptr<ArtifactStore> EmptyStore(const TempFolder& folder) {
  ArtifactStoreOptions options;
  options.place = std::make_unique<BlobFolder>(folder.path(), 0);
  options.quota_bytes = 3 * kBlobBytes;
  return *ArtifactStore::Open(std::move(options));
}

struct BlobPlay {
  TempFolder folder;
  std::unique_ptr<ArtifactStore> store = EmptyStore(folder);
  ProjectPlay play{store.get()};
  const std::string bytes = "import secrets", digest = DigestOf(bytes);

  std::unique_ptr<v1::ArtifactService::Stub> Stub(const std::string& secret) {
    return v1::ArtifactService::NewStub(*Connect(play.OverTcp(secret)));
  }
  bool IsMissing(const std::string& secret) {
    v1::FindMissingBlobsRequest request;
    request.add_digests(digest);
    v1::FindMissingBlobsResponse response;
    REQUIRE(
        TokenPlay::Do(*Stub(secret), &v1::ArtifactService::Stub::FindMissingBlobs, request, response).ok());
    return response.digests_size() == 1;
  }
  // How many of the two parts were wanted.
  int Put(const std::string& secret, bool whole = true) {
    const auto stub = Stub(secret);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::PutBlobResponse response;
    const auto writer = stub->PutBlob(&context, &response);
    v1::BlobPart part;
    part.set_digest(digest);
    part.set_size(static_cast<int64_t>(bytes.size()));
    part.set_data(whole ? bytes : bytes.substr(0, 3));
    writer->Write(part);
    writer->WritesDone();
    return writer->Finish().ok() ? 1 : 0;
  }
  grpc::Status Get(const std::string& secret) {
    const auto stub = Stub(secret);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::GetBlobRequest request;
    request.set_digest(digest);
    const auto reading = stub->GetBlob(&context, request);
    std::string got;
    for (v1::BlobPart part; reading->Read(&part);) got += part.data();
    const grpc::Status status = reading->Finish();
    CHECK(got == (status.ok() ? bytes : ""));
    return status;
  }
  // Submits a job whose source has the blob.
  grpc::Status SubmitSource(const std::string& secret, const char* project) {
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = RandomJob(3);
    request.mutable_spec()->mutable_trainer()->set_source("code");
    request.set_project(project);
    v1::Source& source = *request.mutable_source();
    v1::ArtifactFile& file = *source.mutable_manifest()->add_files();
    file.set_path("train.py");
    file.set_size(static_cast<int64_t>(bytes.size()));
    v1::BlobName& blob = *file.add_blobs();
    blob.set_digest(digest);
    blob.set_size(static_cast<int64_t>(bytes.size()));
    source.set_digest(ManifestDigest(source.manifest()));
    source.set_files(1);
    source.set_size(static_cast<int64_t>(bytes.size()));
    v1::TuningJob job;
    return play.Tuning(secret, &v1::TuningService::Stub::CreateTuningJob, request, job);
  }
};

TEST_CASE("Blobs: who sees only some projects reads, names and learns of no blob of others", "[server]") {
  BlobPlay blobs;
  ProjectPlay& play = blobs.play;
  const std::string ana = play.Token(v1::SUBMITTER, "ana"), ben = play.Token(v1::SUBMITTER, "ben"),
                    cem = play.Token(v1::SUBMITTER, "cem");
  CHECK(blobs.IsMissing(ana));
  REQUIRE(blobs.Put(ana) == 1);
  CHECK_FALSE(blobs.IsMissing(ana));  // she has sent it
  const grpc::Status submitted = blobs.SubmitSource(ana, "vision");
  INFO(submitted.error_message());
  REQUIRE(submitted.ok());
  CHECK(blobs.Get(ana).ok());
  CHECK(blobs.Get(play.Token(v1::SUBMITTER, "ana")).ok());  // it is of her job, whatever token sent it
  CHECK(blobs.Get(play.Token(v1::ADMIN, "adam")).ok());
  CHECK(blobs.Get(play.WorkerToken({"vision"}).secret()).ok());
  CHECK(blobs.Get(play.WorkerToken({}).secret()).ok());
  // A source is its owner's, also within the project.
  for (const std::string& secret :
       {ben, cem, play.Token(v1::VIEWER, "vic"), play.WorkerToken({"speech"}).secret()}) {
    const grpc::Status refused = blobs.Get(secret);
    CHECK(refused.error_code() == grpc::StatusCode::NOT_FOUND);
    CHECK(refused.error_message() == "there is no blob " + blobs.digest);
  }
  // Who knows the digest alone cannot have the bytes through a job of their own.
  CHECK(blobs.IsMissing(cem));
  const grpc::Status named = blobs.SubmitSource(cem, "speech");
  CHECK(named.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(named.error_message() == "blob " + blobs.digest + " is not there");
  CHECK(blobs.Put(cem, false) == 0);  // which does not tell that the blob is there
  CHECK(blobs.IsMissing(cem));
  // Who has the bytes may.
  REQUIRE(blobs.Put(cem) == 1);
  CHECK_FALSE(blobs.IsMissing(cem));
  CHECK(blobs.SubmitSource(cem, "speech").ok());
  CHECK(blobs.Get(cem).ok());
  // Who is removed reads nothing more, although they know the digest.
  REQUIRE(play.Remove(play.OverSocket(), "vision", "ana").ok());
  play.StartServer();  // which forgets who has sent what
  CHECK(blobs.Get(ana).error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(blobs.Get(cem).ok());
}

}  // namespace
}  // namespace winnow
