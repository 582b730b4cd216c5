// Folders of checkpoints with arbitrary files: texts are alternately names and contents. A content that
// begins with "w" is a complete checkpoint.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch_folder.h"
#include "trainers/common/checkpoint_folder.h"

namespace {

const std::string kEnding = ".ubj";

// A name that a folder can hold.
std::string NameFrom(std::string_view text) {
  std::string name(text.substr(0, 100));
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), '\0', '0');
  return name == "" || name == "." || name == ".." ? "checkpoint-00000001.ubj" : name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  static fuzz::ScratchFolder folder;
  folder.Empty();
  fuzz::Input input(data, size);
  const int64_t level = input.Number<int32_t>();
  size_t whole = 0;
  for (int files = 0; files < 8 && !input.empty(); ++files) {
    const std::string name = NameFrom(input.Text());
    std::ofstream(folder.path() + "/" + name, std::ios::binary) << input.Text();
  }
  std::vector<std::string> warnings;
  const auto take = [&whole](const std::string& text) {
    if (!text.starts_with("w")) return absl::InvalidArgumentError("not whole");
    ++whole;
    return absl::OkStatus();
  };
  const absl::Status status = ReadNewestCheckpointFile(folder.path(), kEnding, take, &warnings);
  fuzz::Require(status.ok() == (whole == 1), "a checkpoint is found where there is one");
  if (level < 0) return 0;
  fuzz::Require(WriteCheckpointFile(folder.path(), level, kEnding, "w").ok(), "a checkpoint can be written");
  whole = 0;
  fuzz::Require(ReadNewestCheckpointFile(folder.path(), kEnding, take, &warnings).ok(),
                "and is found again");
  return 0;
}
