// Training data in CSV. The first bytes choose the options.

#include "tests/fuzz/table_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  fuzz::Input input(data, size);
  DataOptions options;
  options.format = "csv";
  options.header = std::string_view("auto\0yes\0no", 11).substr(5 * input.Below(3)).data();
  constexpr const char* kSeparators[] = {"auto", ",", ";", "\t", "|", " "};
  options.separator = kSeparators[input.Below(std::size(kSeparators))];
  constexpr const char* kLabels[] = {"", "y", "0", "1", "label"};
  options.label = kLabels[input.Below(std::size(kLabels))];
  const uint32_t choices = input.Number();
  if ((choices & 1) != 0) options.weight = "w";
  if ((choices & 2) != 0) options.group = "q";
  if ((choices & 4) != 0) options.drop = {"x"};
  options.categorical = (choices & 8) != 0;
  options.max_levels = (choices & 16) != 0 ? 3 : 256;
  fuzz::ReadTable(input.rest(), options, (choices & 0xe0) == 0);
  return 0;
}
