// Training data in LIBSVM.

#include "tests/fuzz/table_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  fuzz::Input input(data, size);
  const uint32_t choices = input.Number();
  DataOptions options;
  options.format = (choices & 1) != 0 ? "auto" : "libsvm";
  fuzz::ReadTable(input.rest(), options, (choices & 0xe0) == 0);
  return 0;
}
