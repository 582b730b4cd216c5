#include "base/read_file.h"

#include <fstream>
#include <string>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {

TEST_CASE("ReadFile: all bytes of a file, and a directory, and a file that is not there, are errors",
          "[base]") {
  TempFolder folder;
  const std::string bytes = std::string(40'000, 'a') + '\0' + "\n";
  std::ofstream(folder / "a", std::ios::binary) << bytes;
  CHECK(ReadFile((folder / "a").string()).value_or("") == bytes);
  CHECK(MessageOf(ReadFile(folder.path().string()).status()) == "Is a directory");
  CHECK(MessageOf(ReadFile((folder / "b").string()).status()) == "No such file or directory");
}

TEST_CASE("ReadFile: a file without an end, or a long one, is an error", "[base]") {
  CHECK(MessageOf(ReadFile("/dev/zero").status()) == "File too large");
}

}  // namespace winnow
