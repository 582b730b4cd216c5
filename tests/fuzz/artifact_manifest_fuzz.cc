// Manifests received by a worker or the server. Valid ones are restored into a folder, once with the right
// bytes and once with others: nothing may be written outside the folder.

#include <google/protobuf/stubs/logging.h>

#include <filesystem>
#include <map>
#include <string>

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "artifact/restore.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch_folder.h"

namespace {

using namespace winnow;
namespace fs = std::filesystem;

constexpr int64_t kMostBytes = 64 << 10;  // restored of one manifest
constexpr int kMostFiles = 20;

// Gives every blob the name of bytes that there are: as many zeros as it is long.
std::map<std::string, std::string> GiveBytes(v1::Manifest& manifest) {
  std::map<std::string, std::string> bytes;
  for (v1::ArtifactFile& file : *manifest.mutable_files()) {
    for (v1::BlobName& blob : *file.mutable_blobs()) {
      std::string zeros(blob.size(), '\0');
      blob.set_digest(DigestOf(zeros));
      bytes[blob.digest()] = std::move(zeros);
    }
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const google::protobuf::LogSilencer no_words_about_bad_utf8;
  static fuzz::ScratchFolder scratch;
  v1::Manifest manifest;
  if (!manifest.ParseFromArray(data, static_cast<int>(size)) || !CheckManifest(manifest).ok()) return 0;
  fuzz::Require(BlobsOf(manifest).size() <= size, "blobs are of the manifest");
  if (BytesOf(manifest) > kMostBytes || manifest.files_size() > kMostFiles) return 0;

  scratch.Empty();
  const fs::path folder = fs::path(scratch.path()) / "folder";
  const std::map<std::string, std::string> bytes = GiveBytes(manifest);
  fuzz::Require(CheckManifest(manifest).ok(), "other digests are as good");
  const absl::Status restored =
      RestoreFolder(manifest, folder, [&](const v1::BlobName& blob) { return bytes.at(blob.digest()); });
  // The file system may refuse what the manifest may say: a part of a path of more than 255 bytes.
  fuzz::Require(restored.ok() == fs::exists(folder), "a folder is put in place whole or not at all");
  if (restored.ok()) fuzz::Require(FolderEquals(folder, manifest), "what is restored is what was named");

  const absl::Status wrong =
      RestoreFolder(manifest, folder, [](const v1::BlobName& blob) { return std::string(blob.size(), 'x'); });
  fuzz::Require(bytes.empty() || !wrong.ok(), "other bytes than those named are refused");
  if (restored.ok() && !wrong.ok()) fuzz::Require(FolderEquals(folder, manifest), "and what was there stays");
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch.path()))
    fuzz::Require(entry.path() == folder, "nothing lies beside the folder");
  return 0;
}
