#include "artifact/manifest.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "artifact/digest.h"
#include "tests/artifact/folder.h"
#include "tests/catch.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

TEST_CASE("Manifest: files by path, as blobs of 4 MiB named by their SHA-256", "[artifact]") {
  Folder folder;
  const std::string big(kBlobBytes + 1, 'x');
  folder.Write("part/weights.bin", big);
  folder.Write("a.txt", "abc");
  folder.Write("empty", "");
  fs::permissions(folder.path("a.txt"), fs::perms::owner_exec, fs::perm_options::add);
  const auto manifest = MakeManifest(folder.path());
  REQUIRE(manifest.ok());
  REQUIRE(manifest->files_size() == 3);
  CHECK(manifest->files(0).path() == "a.txt");
  CHECK(manifest->files(0).executable());
  CHECK(manifest->files(0).blobs(0).digest() ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2, appendix B.1
  CHECK(manifest->files(1).blobs_size() == 0);
  REQUIRE(manifest->files(2).blobs_size() == 2);
  CHECK(manifest->files(2).blobs(1).size() == 1);
  CHECK(BytesOf(*manifest) == kBlobBytes + 4);
  CHECK(FolderEquals(folder.path(), *manifest));
}

TEST_CASE("Manifest: equal blobs are named once", "[artifact]") {
  Folder folder;
  folder.Write("one", "same");
  folder.Write("two", "same");
  CHECK(BlobsOf(*MakeManifest(folder.path())).size() == 1);
}

TEST_CASE("Manifest: a symbolic link is passed over, and that is said", "[artifact]") {
  Folder folder;
  folder.Write("file", "x");
  fs::create_symlink("/etc/passwd", folder.path("link"));
  fs::create_directory_symlink("/etc", folder.path("folder"));
  const auto listing = ListFolder(folder.path());
  REQUIRE(listing.ok());
  CHECK(listing->files.size() == 1);
  CHECK(listing->skipped.size() == 2);
  CHECK(MakeManifest(folder.path())->files_size() == 1);
}

TEST_CASE("Manifest: a folder that is a link itself, or lies behind one, is refused", "[artifact]") {
  Folder folder;
  folder.Write("elsewhere/model/secret", "x");
  fs::create_directory_symlink(folder.path("elsewhere/model"), folder.path("model"));
  fs::create_directory_symlink(folder.path("elsewhere"), folder.path("trial"));
  for (const FolderName& name :
       {FolderName(folder.path("model")), FolderName(folder.path(), "trial/model")}) {
    INFO(name.path());
    CHECK(absl::IsFailedPrecondition(MakeManifest(name).status()));
    CHECK(absl::IsFailedPrecondition(ListFolder(name).status()));
    CHECK_FALSE(FolderEquals(name, v1::Manifest()));
  }
  CHECK(MakeManifest({folder.path(), "elsewhere/model"})->files_size() == 1);
}

TEST_CASE("Manifest: of a folder that was given to another user, only that user's files are read",
          "[artifact]") {
  if (geteuid() != 0) return Skip("only root gives folders away");
  constexpr uid_t kOther = 61184;
  Folder folder;
  folder.Write("secret", "of root");
  folder.Write("model/own", "x");
  fs::create_hard_link(folder.path("secret"), folder.path("model/secret"));
  for (const char* name : {"model", "model/own"})
    REQUIRE(chown(folder.path(name).c_str(), kOther, kOther) == 0);
  const auto listing = ListFolder(folder.path("model"));
  REQUIRE(listing.ok());
  CHECK(listing->skipped == std::vector<std::string>{"secret: it belongs to another user"});
  const auto manifest = MakeManifest(folder.path("model"));
  REQUIRE(manifest->files_size() == 1);
  CHECK(manifest->files(0).path() == "own");
  const auto open = OpenFolder::Open(folder.path("model"));
  CHECK(absl::IsNotFound(open->OpenRegular("secret").status()));
}

TEST_CASE("Manifest: a link that is swapped in while the folder is read brings nothing of where it leads",
          "[artifact]") {
  Folder folder;
  folder.Write("model/inner/file", "own");
  folder.Write("elsewhere/file", "secret");
  std::atomic<bool> over = false;
  std::thread swapper([&] {
    fs::create_directory_symlink(folder.path("elsewhere"), folder.path("model/link"));
    const std::string inner = folder.path("model/inner"), link = folder.path("model/link");
    while (!over) renameat2(AT_FDCWD, inner.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  });
  int read = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto manifest = MakeManifest(folder.path("model"));
    if (!manifest.ok()) continue;
    for (const v1::ArtifactFile& file : manifest->files()) {
      ++read;
      REQUIRE(file.blobs(0).digest() == DigestOf("own"));
    }
  }
  over = true;
  swapper.join();
  CHECK(read > 0);
}

TEST_CASE("Manifest: a pipe is not waited for", "[artifact]") {
  Folder folder;
  REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  CHECK(MakeManifest(folder.path())->files_size() == 0);
  CHECK(absl::IsNotFound(OpenFolder::Open(folder.path())->OpenRegular("pipe").status()));
}

TEST_CASE("Manifest: folders in folders are followed to a depth, and no further", "[artifact]") {
  Folder folder;
  fs::path deep;
  for (int i = 0; i <= kMaxFolderDepth; ++i) deep /= "d";
  folder.Write(deep.parent_path() / "file", "x");
  CHECK(MakeManifest(folder.path())->files_size() == 1);
  fs::create_directories(folder.path(deep));
  CHECK(absl::IsInvalidArgument(MakeManifest(folder.path()).status()));
}

TEST_CASE("Manifest: another byte, size, name or a further file make a folder differ", "[artifact]") {
  Folder folder;
  folder.Write("file", "abc");
  const v1::Manifest manifest = *MakeManifest(folder.path());
  SECTION("byte") { folder.Write("file", "abd"); }
  SECTION("size") { folder.Write("file", "abcd"); }
  SECTION("further file") { folder.Write("other", ""); }
  SECTION("name") { fs::rename(folder.path("file"), folder.path("renamed")); }
  SECTION("nothing there") { fs::remove_all(folder.path()); }
  CHECK_FALSE(FolderEquals(folder.path(), manifest));
}

TEST_CASE("Manifest: a folder that is not there is NOT_FOUND", "[artifact]") {
  CHECK(absl::IsNotFound(MakeManifest(fs::path("/nowhere/at/all")).status()));
}

v1::Manifest OneFile(const std::string& path) {
  v1::Manifest manifest;
  v1::ArtifactFile* file = manifest.add_files();
  file->set_path(path);
  file->set_size(3);
  v1::BlobName* blob = file->add_blobs();
  blob->set_digest(DigestOf("abc"));
  blob->set_size(3);
  return manifest;
}

TEST_CASE("Manifest: paths that leave the folder, or could, are refused", "[artifact]") {
  CHECK(CheckManifest(OneFile("a/b/c.txt")).ok());
  for (const char* path : {"", "/etc/passwd", "..", "../x", "a/../../x", "a//b", "a/", "./a", "a/./b"}) {
    INFO(path);
    CHECK(absl::IsInvalidArgument(CheckManifest(OneFile(path))));
  }
  CHECK(absl::IsInvalidArgument(CheckManifest(OneFile(std::string("a\0b", 3)))));
  CHECK(CheckManifest(OneFile("größe/模型")).ok());
  for (const char* path : {"caf\xe9.txt", "a/\xed\xa0\x80", "a\xe6\xa8"}) {
    INFO(path);
    CHECK(absl::IsInvalidArgument(CheckManifest(OneFile(path))));
  }
  CHECK(absl::IsInvalidArgument(CheckManifest(OneFile(std::string(kMaxPathBytes + 1, 'a')))));
}

TEST_CASE("Manifest: sizes, digests and order that cannot be are refused", "[artifact]") {
  v1::Manifest manifest = OneFile("a");
  v1::ArtifactFile* file = manifest.mutable_files(0);
  SECTION("size") { file->set_size(4); }
  SECTION("negative") {
    file->mutable_blobs(0)->set_size(-1);
    file->set_size(-1);
  }
  SECTION("short blob before the last") {
    *file->add_blobs() = file->blobs(0);
    file->set_size(6);
  }
  SECTION("too big a blob") {
    file->mutable_blobs(0)->set_size(kBlobBytes + 1);
    file->set_size(kBlobBytes + 1);
  }
  SECTION("digest") { file->mutable_blobs(0)->set_digest(std::string(64, 'G')); }
  SECTION("path twice") { manifest.MergeFrom(OneFile("a")); }
  SECTION("falling paths") { manifest.MergeFrom(OneFile("A")); }
  SECTION("a file as a folder") { manifest.MergeFrom(OneFile("a/b")); }
  SECTION("a file as a folder, with another between") {
    manifest.MergeFrom(OneFile("a-b"));
    manifest.MergeFrom(OneFile("a/b"));
  }
  CHECK(absl::IsInvalidArgument(CheckManifest(manifest)));
}

TEST_CASE("Manifest: more files than can be kept are refused", "[artifact]") {
  v1::Manifest manifest;
  for (int i = 0; i <= kMaxManifestFiles; ++i) manifest.add_files()->set_path(std::to_string(1'000'000 + i));
  CHECK(absl::IsInvalidArgument(CheckManifest(manifest)));
}

}  // namespace
}  // namespace winnow
