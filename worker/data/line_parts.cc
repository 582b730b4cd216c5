#include "worker/data/line_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace winnow {
namespace {

constexpr size_t kScannedBytes = 1 << 20;  // at a time
// Ends of records are kept for every so many, which bounds the memory; the second look begins near.
constexpr int64_t kRecordsPerMark = 4096;

bool EndsWithAny(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [name](std::string_view ending) { return name.ends_with(ending); });
}

// The separator that the first line has most often.
char SeparatorOf(std::string_view begin, std::string_view separator) {
  if (separator == "tab") return '\t';
  if (separator == "blank") return ' ';
  if (separator.size() == 1) return separator[0];
  const std::string_view line = begin.substr(0, begin.find('\n'));
  char best = ',';
  for (const char candidate : {';', '\t', '|'}) {
    if (std::count(line.begin(), line.end(), candidate) > std::count(line.begin(), line.end(), best))
      best = candidate;
  }
  return best;
}

// Calls `piece` with all bytes from `from` on until it returns false.
template <typename Piece>
absl::Status EachPiece(int descriptor, int64_t from, Piece piece) {
  std::vector<char> buffer(kScannedBytes);
  while (true) {
    const ssize_t got = pread(descriptor, buffer.data(), buffer.size(), from);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ResourceExhaustedError(fmt::format("cannot be read: {}", strerror(errno)));
    if (got == 0 || !piece(std::string_view(buffer.data(), static_cast<size_t>(got))))
      return absl::OkStatus();
    from += got;
  }
}

}  // namespace

absl::StatusOr<RecordRules> RulesOf(std::string_view name, std::string_view begin, std::string_view format,
                                    std::string_view header, std::string_view separator) {
  if (begin.starts_with("\x1f\x8b") || begin.starts_with("\x28\xb5\x2f\xfd") || begin.starts_with("BZh") ||
      begin.starts_with("\xfd"
                        "7zXZ") ||
      begin.starts_with("PK\x03\x04")) {
    return absl::FailedPreconditionError(
        "is compressed, and cannot be divided by line; expected plain text, or a directory with a file for "
        "each rank");
  }
  if (format == "libsvm" || EndsWithAny(name, {".libsvm", ".svm", ".svmlight"})) return RecordRules{};
  const size_t first = begin.find_first_not_of(" \t\r\n");
  const bool object = first != std::string_view::npos && begin[first] == '{';
  const bool csv = format == "csv" || EndsWithAny(name, {".csv", ".tsv", ".tab", ".txt"});
  if (!csv && (EndsWithAny(name, {".jsonl", ".ndjson", ".jsonlines"}) || object)) return RecordRules{};
  if (!csv) {
    return absl::FailedPreconditionError(
        "is neither CSV nor JSON lines, and cannot be divided by line; expected a name that ends in .csv, "
        ".tsv or .jsonl, or a directory with a file for each rank");
  }
  return RecordRules{true, header != "no", SeparatorOf(begin, separator)};
}

absl::StatusOr<RecordPart> PartOfRecords(int descriptor, const RecordRules& rules, int rank, int ranks) {
  std::vector<int64_t> marks;  // ends of records 0, kRecordsPerMark, …
  int64_t records = 0, header_end = 0, size = 0;
  RecordScanner scanner(rules);
  const auto ends = [&](int64_t offset) {
    if (rules.header && records == 0) header_end = offset;
    if (records % kRecordsPerMark == 0) marks.push_back(offset);
    ++records;
  };
  absl::Status status = EachPiece(descriptor, 0, [&](std::string_view bytes) {
    scanner.Add(bytes, ends);
    size += static_cast<int64_t>(bytes.size());
    return true;
  });
  if (!status.ok()) return status;
  if (scanner.in_quotes()) {
    return absl::FailedPreconditionError(
        fmt::format("has a quoted field in record {} that does not end; expected a closing quote",
                    scanner.quote_record()));
  }
  if (scanner.in_record()) ends(size);  // the last line has no end
  const int64_t first = rules.header ? 1 : 0;
  const int64_t divided = std::max<int64_t>(0, records - first);
  if (divided < ranks) {
    return absl::FailedPreconditionError(fmt::format(
        "has {} line{} of data for {} ranks; expected at least one for each, because distribution is sharded",
        divided, divided == 1 ? "" : "s", ranks));
  }
  // Offset at which record `number` begins: where the one before it ends.
  const auto begin_of = [&](int64_t number) -> int64_t {
    if (number == 0) return 0;
    if (number >= records) return size;
    const int64_t before = number - 1;
    int64_t at = before - before % kRecordsPerMark;
    int64_t found = marks[static_cast<size_t>(before / kRecordsPerMark)];
    if (at == before) return found;
    RecordScanner again(rules);
    const int64_t base = found;
    const absl::Status read = EachPiece(descriptor, base, [&](std::string_view bytes) {
      again.Add(bytes, [&](int64_t offset) {
        if (at < before) {
          ++at;
          found = base + offset;
        }
      });
      return at < before;
    });
    if (!read.ok()) status = read;
    return found;
  };
  const auto share = [&](int64_t number) {
    return first + divided / ranks * number + std::min<int64_t>(number, divided % ranks);
  };
  RecordPart part{header_end, begin_of(share(rank)), begin_of(share(rank + 1))};
  if (!status.ok()) return status;
  return part;
}

}  // namespace winnow
