#include "worker/runs/metric_parser.h"

#include <cmath>
#include <limits>

#include "fmt/format.h"
#include "tests/catch.h"
#include "worker/host/line_splitter.h"

namespace winnow {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// What a line gives: "5 loss=0.5 acc=1", or "" for nothing.
std::string Give(MetricParser* parser, std::string_view line) {
  const auto reading = parser->Parse(line);
  if (!reading.has_value()) return "";
  std::string text = std::to_string(reading->resource);
  for (const auto& [name, value] : reading->metrics) text += fmt::format(" {}={}", name, value);
  return text;
}

// What lines give, one after the other, "; " between; lines that give nothing are left out.
std::string GiveAll(const MetricRules& rules, const std::vector<std::string>& lines) {
  auto parser = MetricParser::Create(rules);
  REQUIRE(parser.ok());
  std::string all;
  for (const std::string& line : lines) {
    const std::string given = Give(&*parser, line);
    if (!given.empty()) all += (all.empty() ? "" : "; ") + given;
  }
  return all;
}

MetricRules ByEpoch() {
  return {{{"loss", "\\bloss=(\\S+)"}, {"acc", "acc=(\\S+)"}}, "loss", "epoch[ =]([-0-9.e]+)", 0, 0};
}

MetricRules Counted(int64_t from = 0) {
  return {{{"loss", "\\bloss=(\\S+)"}, {"acc", "acc=(\\S+)"}}, "loss", "", 0, from};
}

std::vector<std::string> Lines(std::string_view text, size_t limit, size_t piece) {
  LineSplitter splitter(limit);
  std::vector<std::string> lines;
  const auto keep = [&lines](std::string_view line) { lines.emplace_back(line); };
  for (size_t i = 0; i < text.size(); i += piece) splitter.Add(text.substr(i, piece), keep);
  splitter.End(keep);
  return lines;
}

}  // namespace

TEST_CASE("MetricParser: numbers as trainers print them", "[worker]") {
  struct Case {
    const char* text;
    double value;
  };
  const auto [text, value] =
      GENERATE(values<Case>({{"0.5", 0.5},       {"-0.5", -0.5},
                             {"+0.5", 0.5},      {".5", 0.5},
                             {"5.", 5},          {"1e-3", 0.001},
                             {"1E+3", 1000},     {"1.7976931348623157e308", 1.7976931348623157e308},
                             {"1e999", kInf},    {"5e-324", 5e-324},
                             {"inf", kInf},      {"-inf", -kInf},
                             {"Infinity", kInf}, {"nan", kNan},
                             {"NaN", kNan},      {"0.25,", 0.25},
                             {"0.25.", 0.25},    {"0.25;", 0.25},
                             {"007", 7},         {"0.1234567890123456789", 0.1234567890123456789}}));
  auto parser = MetricParser::Create(ByEpoch());
  REQUIRE(parser.ok());
  const auto reading = parser->Parse(fmt::format("epoch 1 loss={}", text));
  INFO(text);
  REQUIRE(reading.has_value());
  REQUIRE(reading->metrics.size() == 1);
  if (std::isnan(value)) {
    CHECK(std::isnan(reading->metrics[0].second));
  } else {
    CHECK(reading->metrics[0].second == value);
  }
}

TEST_CASE("MetricParser: what is not a number is ignored", "[worker]") {
  const std::string text = GENERATE("abc", "1.2.3", "1,5", "--1", "0x10", "12ms", "1e", "", "...");
  INFO(text);
  CHECK(GiveAll(ByEpoch(), {"epoch 1 loss=" + text}) == "");
}

TEST_CASE("MetricParser: levels read by an expression", "[worker]") {
  struct Case {
    std::vector<std::string> lines;
    const char* given;
  };
  const auto [lines, given] = GENERATE(values<Case>({
      {{"epoch 1 loss=0.5"}, "1 loss=0.5"},
      {{"[epoch 1] loss=0.5 acc=0.75"}, "1 loss=0.5 acc=0.75"},
      {{"epoch 1", "loss=0.5", "acc=0.75"}, "1 loss=0.5; 1 acc=0.75"},
      {{"loss=9", "epoch 1 loss=0.5"}, "1 loss=0.5"},
      {{"epoch 1 loss=0.5", "epoch 1 loss=0.4"}, "1 loss=0.5"},
      {{"epoch 1 loss=0.5", "epoch 2 loss=0.4", "epoch 1 loss=0.3"}, "1 loss=0.5; 2 loss=0.4"},
      {{"epoch 1 loss=0.5", "epoch 1 acc=1"}, "1 loss=0.5; 1 acc=1"},
      {{"epoch 3 loss=0.5"}, "3 loss=0.5"},
      {{"epoch 0 loss=0.5"}, ""},
      {{"epoch -1 loss=0.5"}, ""},
      {{"epoch 2.0 loss=0.5"}, "2 loss=0.5"},
      {{"epoch 2.5 loss=0.5"}, ""},
      {{"epoch 1e300 loss=0.5"}, ""},
      {{"epoch 1e3 loss=0.5"}, "1000 loss=0.5"},
      {{"epoch 1 validation_loss=0.5"}, ""},
      {{"epoch 1 loss=0.5 loss=0.4"}, "1 loss=0.5"},
      {{"epoch 1 loss=x", "epoch 1 loss=0.5"}, "1 loss=0.5"},
      {{"\xff\xfe epoch 1 \xf0 loss=0.5"}, "1 loss=0.5"},
      {{std::string("epoch 1\0 loss=0.5", 17)}, "1 loss=0.5"},
      {{"", "epoch", "loss=", "epoch 1"}, ""},
  }));
  INFO(lines[0]);
  CHECK(GiveAll(ByEpoch(), lines) == given);
}

TEST_CASE("MetricParser: an offset shifts what the trainer counts from 0", "[worker]") {
  MetricRules rules = {
      {{"validation:auc", "validation-auc:(\\S+)"}}, "validation:auc", "^\\[([0-9]+)\\]", 1, 0};
  CHECK(GiveAll(rules,
                {"[0]\ttrain-auc:0.81\tvalidation-auc:0.78", "[12]\ttrain-auc:0.9\tvalidation-auc:0.8"}) ==
        "1 validation:auc=0.78; 13 validation:auc=0.8");
}

TEST_CASE("MetricParser: levels counted by lines that hold the objective", "[worker]") {
  struct Case {
    std::vector<std::string> lines;
    const char* given;
  };
  const auto [lines, given] = GENERATE(values<Case>({
      {{"loss=3", "loss=2", "loss=1"}, "1 loss=3; 2 loss=2; 3 loss=1"},
      {{"hello", "loss=3", "", "loss=2"}, "1 loss=3; 2 loss=2"},
      {{"loss=3 acc=0.1", "loss=2 acc=0.2"}, "1 loss=3 acc=0.1; 2 loss=2 acc=0.2"},
      {{"loss=3", "acc=0.1", "loss=2", "acc=0.2"}, "1 loss=3; 1 acc=0.1; 2 loss=2; 2 acc=0.2"},
      {{"acc=0.1", "loss=3", "acc=0.2", "loss=2"}, "1 acc=0.1 loss=3; 2 acc=0.2 loss=2"},
      {{"loss=3", "acc=0.1", "acc=0.2"}, "1 loss=3; 1 acc=0.1"},
      {{"acc=0.1", "acc=0.2", "loss=3"}, "1 acc=0.1 loss=3"},
      {{"loss=3", "loss=3"}, "1 loss=3; 2 loss=3"},
      {{"loss=x", "loss=2"}, "1 loss=2"},
      {{"acc=0.1"}, ""},
  }));
  INFO(lines[0]);
  CHECK(GiveAll(Counted(), lines) == given);
}

TEST_CASE("MetricParser: counting goes on from where the trainer resumed", "[worker]") {
  CHECK(GiveAll(Counted(10), {"loss=3", "loss=2"}) == "11 loss=3; 12 loss=2");
}

TEST_CASE("MetricParser: a wrong expression is refused with its metric's name", "[worker]") {
  const auto error = [](const MetricRules& rules) {
    return std::string(MetricParser::Create(rules).status().message());
  };
  CHECK_THAT(error({{{"loss", "loss=("}}, "loss", "", 0, 0}),
             Catch::Contains("metric loss") && Catch::Contains("loss=("));
  CHECK_THAT(error({{{"loss", "loss=.*"}}, "loss", "", 0, 0}),
             Catch::Contains("has 0 groups, expected exactly 1"));
  CHECK_THAT(error({{{"loss", "(a)(b)"}}, "loss", "", 0, 0}), Catch::Contains("has 2 groups"));
  CHECK_THAT(error({{{"loss", "a(b)"}}, "loss", "[", 0, 0}), Catch::Contains("resource_regex"));
  CHECK_THAT(error({{{"loss", "a(b)"}}, "accuracy", "", 0, 0}), Catch::Contains("objective \"accuracy\""));
}

TEST_CASE("LineSplitter: lines are the same however the bytes come", "[worker]") {
  const size_t piece = GENERATE(1, 2, 3, 100);
  CHECK(Lines("one\ntwo\r\n\nlast", 100, piece) == std::vector<std::string>{"one", "two", "", "last"});
  CHECK(Lines("bar 1\rbar 2\r\nnext\r\r\n\rend\r", 100, piece) ==
        std::vector<std::string>{"bar 1", "bar 2", "next", "", "", "end"});
  CHECK(Lines("", 100, piece).empty());
  CHECK(Lines("one\n", 100, piece) == std::vector<std::string>{"one"});
  CHECK(Lines("0123456789\nab\n", 4, piece) == std::vector<std::string>{"0123", "ab"});
}

TEST_CASE("MetricParser: a number of which the expression took only the beginning", "[worker]") {
  struct Case {
    const char* regex;
    const char* line;
    const char* whole;  // "": the number was not cut
  };
  const std::vector<Case> cases = {
      {"loss=([0-9.]+)", "loss=1.2e-05", "1.2e-05"},
      {"loss=([0-9.]+)", "loss=3E+7, acc=0.5", "3E+7"},
      {"loss=([0-9.]+)", "loss=0,25", "0,25"},
      {"loss=([0-9.]+)", "loss=1,250.5", "1,250"},
      {"loss=([0-9]+)", "loss=0.25 acc=0.5", "0.25"},
      {"loss=([0-9]+)", "loss=12.5e3", "12.5e3"},
      {"loss=([0-9])", "loss=12", "12"},
      {"loss=([0-9.]+).*", "loss=1.2e-05", "1.2e-05"},
      {"loss=(\\S+)", "loss=1.2e-05", ""},
      {"loss=([0-9.]+)", "loss=0.5,0.25", ""},
      {"loss=([0-9.]+)", "loss=1,2,3", ""},
      {"loss=([0-9.]+)", "loss=1, 2", ""},
      {"loss=([0-9.]+)", "loss=0.5.", ""},
      {"loss=([0-9.]+)", "loss=5epochs", ""},
      {"loss=([0-9.]+)", "loss=85%", ""},
      {"loss=([0-9.]+)", "loss=0.5e", ""},
      {"^([0-9.]+),", "1,5", ""},
      {"loss=([0-9.]+)", "loss=nan", ""},
  };
  for (const Case& c : cases) {
    INFO(c.regex << " in " << c.line);
    auto parser = MetricParser::Create({{{"loss", c.regex}}, "loss", "", 0, 0});
    REQUIRE(parser.ok());
    parser->Parse(c.line);
    CHECK((parser->cut() ? parser->cut()->whole : "") == c.whole);
  }
}

TEST_CASE("MetricParser: an expression that finds two different numbers in a line", "[worker]") {
  struct Case {
    const char* regex;
    const char* line;
    double second;  // 0: there is one number
  };
  const std::vector<Case> cases = {
      {"loss=([0-9.]+)", "loss=0.5 val_loss=0.7", 0.7},
      {"\\bloss=([0-9.]+)", "loss=0.5 val_loss=0.7", 0},
      {"\\bloss=([0-9.]+)", "val_loss=0.5 loss=0.7", 0},
      {"loss=(\\S+)", "loss=0.5 loss=none", 0},
      {"loss=(\\S+)", "loss=nan loss=nan", 0},
      {"loss=(\\S+)", "loss=nan loss=1", 1},
      {"loss=([0-9.]+)", "loss=0.5 (best loss=0.50)", 0},
      {"^loss=([0-9.]+)", "loss=0.5loss=0.7", 0},
      {"loss=([0-9.]+)$", "loss=0.5 loss=0.7", 0},
      {".*loss=([0-9.]+)", "loss=0.5 loss=0.7", 0},
      {"([0-9.]+)", "1 2 3", 2},
      {"([0-9.]+)", "1.2e-05", 0},  // the number is cut: another notice says so
  };
  for (const Case& c : cases) {
    INFO(c.regex << " in " << c.line);
    auto parser = MetricParser::Create({{{"loss", c.regex}}, "loss", "", 0, 0});
    REQUIRE(parser.ok());
    parser->Parse(c.line);
    CHECK((parser->two_in_a_line() ? parser->two_in_a_line()->second : 0) == c.second);
  }
}

}  // namespace winnow
