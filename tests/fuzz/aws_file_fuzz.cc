// A file of credentials: whatever it is, values have no line ends, and it reads the same again.

#include "aws/aws_files.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const AwsSections sections = ParseAwsFile(text);
  for (const auto& [name, section] : sections) {
    for (const auto& [key, value] : section) {
      fuzz::Require(!key.empty() && key.find('=') == std::string::npos && key.find('\n') == std::string::npos,
                    "a key is one");
      fuzz::Require(value.find('\n') == std::string::npos, "a value is of one line");
    }
  }
  fuzz::Require(ParseAwsFile(std::string(text) + "\n") == sections, "a last line needs no end");
  return 0;
}
