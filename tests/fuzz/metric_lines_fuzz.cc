// What a trainer prints, under a job's expressions: first the expressions, one a line, then after an empty
// line what was printed. A line "key NAME" in place of an expression stands for a key of JSON lines.

#include <vector>

#include "tests/fuzz/fuzz.h"
#include "worker/host/line_splitter.h"
#include "worker/runs/metric_parser.h"

namespace {

constexpr size_t kLimit = 256;

std::vector<std::string> Lines(std::string_view text, size_t piece) {
  std::vector<std::string> lines;
  const auto take = [&lines](std::string_view line) { lines.emplace_back(line); };
  winnow::LineSplitter splitter(kLimit);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    splitter.Add(text.substr(0, piece), take);
  splitter.End(take);
  return lines;
}

winnow::MetricRules Rules(std::string_view text, bool counted) {
  winnow::MetricRules rules;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string rule(text.substr(at, end - at));
    const bool by_key = rule.starts_with("key ");
    rules.metrics.push_back(
        {"m" + std::to_string(rules.metrics.size()), by_key ? "" : rule, by_key ? rule.substr(4) : ""});
    at = end + 1;
  }
  rules.objective = "m0";
  if (!counted && rules.metrics.size() > 1 && !rules.metrics.back().regex.empty()) {
    rules.resource_regex = rules.metrics.back().regex;
    rules.metrics.pop_back();
  }
  return rules;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  fuzz::Input input(data, size);
  const bool counted = input.Flag();
  const size_t piece = 1 + input.Number();
  const size_t end = input.rest().find("\n\n");
  MetricRules rules = Rules(input.rest().substr(0, end), counted);
  rules.resource_offset = end == std::string_view::npos ? 0 : static_cast<int64_t>(end % 3);
  const std::string_view printed = end == std::string_view::npos ? "" : input.rest().substr(end + 2);
  const std::vector<std::string> lines = Lines(printed, piece);
  fuzz::Require(lines == Lines(printed, printed.size() + 1), "lines do not depend on how the stream is cut");
  absl::StatusOr<MetricParser> parser = MetricParser::Create(rules);
  if (!parser.ok()) return 0;
  for (const std::string& line : lines) {
    fuzz::Require(line.size() <= kLimit && line.find_first_of("\r\n") == std::string::npos,
                  "a line is a line");
    const std::optional<MetricReading> reading = parser->Parse(line);
    if (!reading) continue;
    fuzz::Require(reading->resource >= 1, "levels count from 1");
    fuzz::Require(!reading->metrics.empty(), "a reading holds a value");
  }
  return 0;
}
