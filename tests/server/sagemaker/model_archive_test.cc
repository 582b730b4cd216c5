#include "server/sagemaker/jobs/model_archive.h"

#include "artifact/digest.h"
#include "server/sagemaker/jobs/script_code.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

// A manifest of one file whose content is `content`, and whose size is said to be `size`.
v1::Manifest OneFile(const std::string& path, const std::string& content, size_t size) {
  v1::Manifest manifest;
  v1::ArtifactFile& file = *manifest.add_files();
  file.set_path(path);
  file.set_size(static_cast<int64_t>(size));
  v1::BlobName& blob = *file.add_blobs();
  blob.set_digest(DigestOf(content));
  blob.set_size(static_cast<int64_t>(content.size()));
  return manifest;
}

std::string Same(const std::string& path) { return path; }

ReadBlob Giving(const std::string& content) {
  return [content](const std::string&, const auto& receive) { return receive(content); };
}

TEST_CASE("The archive of a model has files with names of any letters") {
  const TempFolder folder;
  for (const std::string name : {"model.bin", "mod\u00e8le.bin", "sub/\u6a21\u578b \U0001f600"}) {
    INFO(name);
    const absl::Status status =
        WriteModelArchive(OneFile(name, "content", 7), folder / "model", Same, Giving("content"));
    INFO(status.ToString());
    REQUIRE(status.ok());
    const auto code = UnpackScriptCode(ReadAll(folder / "model"));
    REQUIRE(code.ok());
    CHECK(code->Has(name));
    CHECK(code->blobs.at(DigestOf("content")) == "content");
  }
}

TEST_CASE("A model whose files are not as its manifest says has no archive, now or later") {
  const TempFolder folder;
  for (const size_t size : {3, 8}) {
    const absl::Status status =
        WriteModelArchive(OneFile("model", "content", size), folder / "model", Same, Giving("content"));
    CHECK(absl::IsDataLoss(status));
    CHECK(status.message().find("\"model\"") != std::string::npos);
  }
}

}  // namespace
}  // namespace winnow
