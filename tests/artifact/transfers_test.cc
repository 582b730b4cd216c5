#include "artifact/transfers.h"

#include <latch>

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "tests/artifact/folder.h"
#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Transfers: the pieces of some blobs, each once, with their place in a file", "[artifact]") {
  Folder folder;
  folder.Write("a", std::string(kBlobBytes, 'x') + "end");
  folder.Write("b", "end");
  folder.Write("c", "other");
  const auto manifest = MakeManifest(folder.path());
  REQUIRE(manifest.ok());
  const std::vector<BlobPiece> pieces =
      PiecesOf(*manifest, {DigestOf("end"), DigestOf("other"), DigestOf("nowhere")});
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].file->path() == "a");
  CHECK(pieces[0].begin == kBlobBytes);
  CHECK(pieces[1].file->path() == "c");
  CHECK(pieces[1].begin == 0);
  CHECK(SizesOf(pieces) == std::vector<int64_t>{3, 5});
}

TEST_CASE("Transfers: large ones go one by one, small ones several at a time", "[artifact]") {
  constexpr int64_t kLarge = 1 << 20;
  const std::vector<int64_t> sizes = {1, kLarge, 2, kLarge, 3, 4};
  std::latch together(4);  // reached only if the four small ones run at once
  std::vector<size_t> large;
  CHECK(ForEachTransfer(sizes, [&](size_t i) {
          if (sizes[i] == kLarge) {
            large.push_back(i);
          } else {
            together.arrive_and_wait();
          }
          return absl::OkStatus();
        }).ok());
  CHECK(large == std::vector<size_t>{1, 3});
  CHECK(absl::IsAborted(ForEachTransfer(sizes, [&](size_t i) -> absl::Status {
    return i == 1 ? absl::AbortedError("large") : absl::InternalError("must not begin");
  })));
}

}  // namespace
}  // namespace winnow
