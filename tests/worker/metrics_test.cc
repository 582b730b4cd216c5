#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "checkout.h"
#include "fmt/format.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "worker/host/event_loop.h"
#include "worker/metrics/event_reader.h"
#include "worker/metrics/metrics_follower.h"
#include "worker/metrics/text_records.h"
#include "worker/runs/metric_parser.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

std::string Text(const MetricRecord& record) {
  std::string text;
  for (const auto& [name, value] : record.values)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

// What lines give: "1 loss=0.5; 2 loss=0.4".
std::string GiveAll(const MetricRules& rules, const std::vector<std::string>& lines) {
  auto parser = MetricParser::Create(rules);
  REQUIRE(parser.ok());
  std::string all;
  for (const std::string& line : lines) {
    const auto reading = parser->Parse(line);
    if (!reading) continue;
    all += fmt::format("{}{}", all.empty() ? "" : "; ", reading->resource);
    for (const auto& [name, value] : reading->metrics) all += fmt::format(" {}={}", name, value);
  }
  return all;
}

MetricRules ByKey() {
  MetricRules rules;
  rules.metrics = {{"loss", "", "eval.loss"}, {"acc", ""}};
  rules.objective = "loss";
  return rules;
}

// The same event file in the tests and in the fuzzer's corpus; tests/fuzz/make_corpus.py writes it.
std::string EventFile() {
  std::ifstream file(fs::path(WINNOW_SOURCE_DIR) / "tests/fuzz/corpus/event_file/scalars", std::ios::binary);
  REQUIRE(file.good());
  file.get();  // the fuzzer's own byte
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a line of JSON gives its numbers, those of inner objects with dots") {
  const auto record =
      ReadJsonRecord(R"( {"epoch": 3, "eval": {"loss": 0.5, "by": {"a": 1}}, "name": "x", "ok": true})");
  REQUIRE(record.has_value());
  CHECK(Text(*record) == "epoch=3 eval.by.a=1 eval.loss=0.5");
  for (const char* other : {"epoch 3", "[1, 2]", "{'loss': 1}", "{\"loss\": 1", "", "{\"a\": 1} tail"})
    CHECK_FALSE(ReadJsonRecord(other).has_value());
}

TEST_CASE("numbers that are not finite are numbers, in Python's words and as strings") {
  const auto record = ReadJsonRecord(
      R"({"a": NaN, "b": -Infinity, "c": "nan", "d": "inf", "e": "a NaN \" NaN", "NaN": Infinity})");
  REQUIRE(record.has_value());
  CHECK(std::isnan(*record->Find("a")));
  CHECK(*record->Find("b") == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(*record->Find("c")));
  CHECK(*record->Find("d") == std::numeric_limits<double>::infinity());
  CHECK_FALSE(record->Find("e").has_value());
  CHECK(*record->Find("NaN") == std::numeric_limits<double>::infinity());
}

TEST_CASE("metrics without an expression are read by their keys, with the level that the line names") {
  CHECK(GiveAll(ByKey(),
                {R"({"epoch": 1, "eval": {"loss": 0.5}, "acc": 0.9})", "noise", R"({"lr": 0.1, "epoch": 2})",
                 R"({"eval": {"loss": 0.4}})", R"({"epoch": 2, "eval": {"loss": 0.3}})",
                 R"({"epoch": 2.5, "eval": {"loss": 0.2}})"}) == "1 loss=0.5 acc=0.9; 2 loss=0.4");
}

TEST_CASE("lines that name no level are counted") {
  MetricRules rules = ByKey();
  rules.counted_from = 3;
  CHECK(GiveAll(rules, {R"({"eval": {"loss": 0.5}})", R"({"eval": {"loss": NaN}})"}) ==
        "4 loss=0.5; 5 loss=nan");
}

TEST_CASE("a job names the key of the level, and then nothing is counted") {
  MetricRules rules = ByKey();
  rules.resource_key = "trainer.epoch";
  rules.resource_offset = 1;
  CHECK(GiveAll(rules, {R"({"step": 100, "eval": {"loss": 0.9}})",
                        R"({"step": 200, "trainer": {"epoch": 0}, "eval": {"loss": 0.5}})"}) == "1 loss=0.5");
}

TEST_CASE("a line of CSV gives the numbers under its header") {
  const std::vector<std::string> header = ReadCsvCells("epoch, \"val \"\"loss\"\"\" ,note");
  CHECK(header == std::vector<std::string>{"epoch", "val \"loss\"", "note"});
  CHECK(Text(ReadCsvRecord(header, "2, 0.25,\"a, b\",7")) == "epoch=2 val \"loss\"=0.25");
  CHECK(Text(ReadCsvRecord(header, "3,nan")) == "epoch=3 val \"loss\"=nan");
  CHECK(ReadCsvCells("\xef\xbb\xbf"
                     "epoch,loss") == std::vector<std::string>{"epoch", "loss"});
  CHECK(ReadJsonRecord("\xef\xbb\xbf{\"epoch\": 1}").has_value());
}

TEST_CASE("an event file gives its scalars, however it is cut") {
  const std::string file = EventFile();
  for (const size_t piece : {size_t{1}, size_t{7}, file.size()}) {
    EventReader reader;
    std::string all;
    for (size_t at = 0; at < file.size(); at += piece) {
      const auto status =
          reader.Add(std::string_view(file).substr(at, piece),
                     [&](const MetricRecord& record) { all += (all.empty() ? "" : "; ") + Text(record); });
      REQUIRE(status.ok());
    }
    CHECK(all == "step=1 loss=0.5; step=2 loss=0.25 acc=0.75; step=3 loss=nan; step=4 loss=0.125 count=7");
  }
}

TEST_CASE("a damaged event file ends with an error, and a text file is none") {
  std::string file = EventFile();
  file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 1);
  EventReader damaged;
  CHECK(damaged.Add(file, [](const MetricRecord&) {}).code() == absl::StatusCode::kDataLoss);
  EventReader text;
  CHECK(text.Add("epoch,loss\n1,2\n", [](const MetricRecord&) {}).code() == absl::StatusCode::kDataLoss);
}

TEST_CASE(
    "a metrics file is followed: lines once, not those of an earlier attempt, unless it is written anew") {
  TempFolder folder;
  const fs::path path = folder.path() / "m.jsonl";
  std::ofstream(path) << "{\"step\": 1}\n";
  EventLoop loop;
  std::vector<std::string> seen;
  const auto take = [&](const MetricRecord& record) { seen.push_back(Text(record)); };
  {
    MetricsFollower follower(&loop, {folder.path(), ""}, "m.jsonl", take);
    std::ofstream(path, std::ios::app) << "{\"step\": 2}\n{\"step\"";
    loop.After(std::chrono::milliseconds(450), [&] { loop.Quit(); });
    loop.Run();
    CHECK(seen == std::vector<std::string>{"step=2"});  // the other line is not complete
    std::ofstream(path, std::ios::app) << ": 3}\n{\"step\": 4}";
    follower.End();
    CHECK(seen == std::vector<std::string>{"step=2", "step=3", "step=4"});
    CHECK(follower.problem().empty());
  }
  seen.clear();
  MetricsFollower next(&loop, {folder.path(), ""}, "m.jsonl", take);
  std::ofstream(path) << "{\"step\": 7}\n{\"step\": 8, \"a\": 1}\n{\"step\": 9, \"a\": 1}\n{\"step\": 10}\n";
  next.End();
  CHECK(seen == std::vector<std::string>{"step=7", "a=1 step=8", "a=1 step=9", "step=10"});
}

TEST_CASE(
    "a file that is rewritten with its whole history gives each line once, and one that has only the newest "
    "line "
    "gives it each time") {
  TempFolder folder;
  const fs::path path = folder.path() / "m.csv";
  EventLoop loop;
  std::vector<std::string> seen;
  MetricsFollower follower(&loop, {folder.path(), ""}, "m.csv",
                           [&](const MetricRecord& record) { seen.push_back(Text(record)); });
  // Replaces the file by one with these lines. Returns the records that were given since then.
  const auto given = [&](const std::string& lines) {
    seen.clear();
    std::ofstream(folder.path() / "new") << "loss\n" + lines;
    fs::rename(folder.path() / "new", path);
    loop.After(std::chrono::milliseconds(300), [&] { loop.Quit(); });  // a poll comes before
    loop.Run();
    return seen;
  };
  using Seen = std::vector<std::string>;
  CHECK(given("3\n") == Seen{"loss=3"});
  CHECK(given("3\n") == Seen{"loss=3"});  // the newest value alone, which has not changed
  CHECK(given("3\n2\n") == Seen{"loss=2"});
  CHECK(given("3\n2\n2\n1\n") == Seen{"loss=2", "loss=1"});
  CHECK(given("3\n").empty());  // seen while it was being written
  CHECK(given("3\n2\n2\n1\n0\n") == Seen{"loss=0"});
  CHECK(given("3\n5\n2\n1\n0\n") == Seen{"loss=5", "loss=2", "loss=1", "loss=0"});  // it is another history
}

TEST_CASE("a file that is one JSON object, or a list of them, over several lines is given at the end") {
  TempFolder folder;
  const fs::path path = folder.path() / "metrics.json";
  EventLoop loop;
  std::vector<std::string> seen;
  const auto take = [&](const MetricRecord& record) { seen.push_back(Text(record)); };
  const auto follow = [&](const std::string& text) {
    seen.clear();
    MetricsFollower follower(&loop, {folder.path(), ""}, "metrics.json", take);
    if (!text.empty()) std::ofstream(path) << text;
    follower.End();
    return follower.problem();
  };
  CHECK(follow("{\n  \"epoch\": 3,\n  \"loss\": NaN\n}\n").empty());
  CHECK(seen == std::vector<std::string>{"epoch=3 loss=nan"});
  follow("");  // an earlier attempt's
  CHECK(seen.empty());
  CHECK(follow("[\n  {\n\"epoch\": 1},\n  {\n\"epoch\": 2\n}\n]").empty());
  CHECK(seen == std::vector<std::string>{"epoch=1", "epoch=2"});
  CHECK(follow("done\n") == "metrics.json got no JSON object with numbers");
}

TEST_CASE("CSV is read under its header by a later attempt too, and event files in folders of folders") {
  TempFolder folder;
  EventLoop loop;
  std::vector<std::string> seen;
  const auto take = [&](const MetricRecord& record) { seen.push_back(Text(record)); };
  std::ofstream(folder.path() / "m.csv") << "epoch,loss\n1,0.5\n";
  MetricsFollower csv(&loop, {folder.path(), ""}, "m.csv", take);
  std::ofstream(folder.path() / "m.csv", std::ios::app) << "2,0.25\n";
  csv.End();
  CHECK(seen == std::vector<std::string>{"epoch=2 loss=0.25"});
  CHECK(csv.first_names() == "epoch, loss");
  seen.clear();
  MetricsFollower events(&loop, {folder.path(), ""}, "runs", take);
  CHECK(events.problem() == "the folder runs in SM_OUTPUT_DATA_DIR has no TensorBoard event file");
  std::ofstream(folder.path() / "m.log") << "{\"epoch\": 1, \"loss\": 0.5}\n";
  const MetricsFollower log(&loop, {folder.path(), ""}, "m.log", take);
  CHECK(log.problem() ==
        "m.log in SM_OUTPUT_DATA_DIR is a file of no known kind; expected a name that ends in .jsonl, "
        ".json or .csv, or a folder of TensorBoard event files");
  fs::create_directories(folder.path() / "runs/a/b");
  std::ofstream(folder.path() / "runs/a/b/events.out.tfevents.1.host", std::ios::binary) << EventFile();
  events.End();
  CHECK(seen.size() == 4);
}

TEST_CASE("of a metrics file that is rotated, or removed while it is open, no line is lost") {
  TempFolder folder;
  const fs::path path = folder.path() / "m.jsonl";
  EventLoop loop;
  std::vector<std::string> seen;
  MetricsFollower follower(&loop, {folder.path(), ""}, "m.jsonl",
                           [&](const MetricRecord& record) { seen.push_back(Text(record)); });
  const auto poll = [&] {
    loop.After(std::chrono::milliseconds(300), [&] { loop.Quit(); });
    loop.Run();
  };
  std::ofstream file(path);
  file << "{\"step\": 1}\n" << std::flush;
  poll();
  file << "{\"step\": 2}\n" << std::flush;
  fs::rename(path, folder.path() / "m.jsonl.1");
  std::ofstream second(path);
  second << "{\"step\": 3}\n" << std::flush;
  poll();
  CHECK(seen == std::vector<std::string>{"step=1", "step=2", "step=3"});
  fs::remove(path);
  second << "{\"step\": 4}\n" << std::flush;
  follower.End();
  CHECK(seen == std::vector<std::string>{"step=1", "step=2", "step=3", "step=4"});
}

TEST_CASE("of a folder with very many files only some are looked at, and event files that are known") {
  TempFolder folder;
  EventLoop loop;
  std::vector<std::string> seen;
  MetricsFollower follower(&loop, {folder.path(), ""}, "runs",
                           [&](const MetricRecord& record) { seen.push_back(Text(record)); });
  MetricsFollower later(&loop, {folder.path(), ""}, "others", [](const MetricRecord&) {});
  fs::create_directories(folder.path() / "runs");
  const fs::path events = folder.path() / "runs/events.out.tfevents.1.host";
  const std::string text = EventFile();
  std::ofstream(events, std::ios::binary) << text.substr(0, text.size() / 2);
  const auto poll = [&loop, &follower, count = follower.records()] {
    while (follower.records() == count) {
      loop.After(std::chrono::milliseconds(10), [&loop] { loop.Quit(); });
      loop.Run();
    }
  };
  poll();
  for (int i = 0; i < 11'000; ++i) std::ofstream(folder.path() / "runs" / std::to_string(i)) << "";
  std::ofstream(events, std::ios::binary | std::ios::app) << text.substr(text.size() / 2);
  follower.End();
  CHECK(seen.size() == 4);

  fs::remove(events);
  fs::rename(folder.path() / "runs", folder.path() / "others");
  later.End();
  CHECK(later.problem() ==
        "no TensorBoard event file was found among the first 10000 entries of the folder others in "
        "SM_OUTPUT_DATA_DIR, where there are more");
}

TEST_CASE("a metrics file of any size holds nothing up: its beginning and its end are read") {
  TempFolder folder;
  EventLoop loop;
  for (const std::string name : {"m.jsonl", "m.csv"}) {
    std::vector<std::string> seen;
    MetricsFollower follower(&loop, {folder.path(), ""}, name,
                             [&](const MetricRecord& record) { seen.push_back(Text(record)); });
    const bool is_csv = name == "m.csv";
    std::ofstream(folder.path() / name) << (is_csv ? "step\n1\n" : "{\"step\": 1}\n");
    fs::resize_file(folder.path() / name, int64_t{1} << 40);
    std::ofstream(folder.path() / name, std::ios::app) << (is_csv ? "\n2\n" : "\n{\"step\": 2}\n");
    follower.End();
    CHECK(seen == std::vector<std::string>{"step=1", "step=2"});
    CHECK(follower.has_left_out());
  }
}

}  // namespace winnow
