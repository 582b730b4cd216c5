// A text that is divided among ranks: the parts are the whole, in order, and the pieces in which it is read
// change nothing.

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "tests/fuzz/fuzz.h"
#include "worker/data/line_parts.h"

namespace {

std::vector<int64_t> EndsIn(std::string_view text, const winnow::RecordRules& rules, size_t piece) {
  std::vector<int64_t> ends;
  winnow::RecordScanner scanner(rules);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    scanner.Add(text.substr(0, piece), [&](int64_t end) { ends.push_back(end); });
  return ends;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  fuzz::Input input(data, size);
  const RecordRules rules{input.Flag(), input.Flag(), input.Flag() ? ',' : '\t'};
  const int ranks = 1 + static_cast<int>(input.Below(5));
  const size_t piece = 1 + input.Number();
  const std::string text(input.rest());
  fuzz::Require(EndsIn(text, rules, piece) == EndsIn(text, rules, text.size() + 1), "pieces change nothing");
  const int file = memfd_create("text", MFD_CLOEXEC);
  fuzz::Require(write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
                "the text is written");
  int64_t at = -1;
  for (int rank = 0; rank < ranks; ++rank) {
    const absl::StatusOr<RecordPart> part = PartOfRecords(file, rules, rank, ranks);
    fuzz::Require(rank == 0 || part.ok() == (at >= 0), "all ranks agree");
    if (!part.ok()) continue;
    if (rank == 0) at = part->header_end;
    fuzz::Require(part->begin == at && part->end > part->begin, "a part begins where the one before ends");
    at = part->end;
  }
  if (at >= 0) fuzz::Require(at == static_cast<int64_t>(text.size()), "the last part ends with the text");
  close(file);
  return 0;
}
