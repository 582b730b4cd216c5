#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "trainers/data/reader.h"

namespace winnow {
namespace {

// A random table and the dialect it is written in.
class RandomTable {
 public:
  explicit RandomTable(unsigned seed) : random_(seed) {
    separator_ = ",;\t|"[Below(4)];
    line_end_ = std::vector<std::string>{"\n", "\r\n", "\r"}[Below(3)];
    rows_ = 20 + Below(60);
    const size_t columns = 1 + Below(6);
    for (size_t i = 0; i < columns; ++i) {
      names_.push_back(fmt::format("c{}{}", i, RandomText()));
      text_.push_back(Below(2) == 0);
      std::vector<std::string> cells;
      std::vector<std::string> levels = {"L" + RandomText(), "M" + RandomText(), "N" + RandomText()};
      for (size_t row = 0; row < rows_; ++row) {
        if (Below(8) == 0) {
          cells.push_back("");
        } else {
          cells.push_back(text_.back() ? levels[Below(3)] : fmt::format("{}", RandomFloat()));
        }
      }
      if (text_.back())
        cells[0] = levels[0];  // at least one text, else the column would be one of missing numbers
      cells_.push_back(cells);
    }
    for (size_t row = 0; row < rows_; ++row) label_.push_back(static_cast<float>(Below(2)));
  }

  std::string Written() {
    std::string out = Below(2) == 0 ? "\xef\xbb\xbf" : "";
    out += "y";
    for (const std::string& name : names_) out += separator_ + Field(name);
    out += line_end_;
    for (size_t row = 0; row < rows_; ++row) {
      out += fmt::format("{}", label_[row]);
      for (const std::vector<std::string>& cells : cells_) out += separator_ + Field(cells[row]);
      if (row + 1 < rows_ || Below(2) == 0) out += line_end_;
    }
    return Below(3) == 0 ? Gzip(out) : out;
  }

  // What reading must give.
  void CheckEqual(const DataSet& data) const {
    REQUIRE(data.rows == static_cast<int64_t>(rows_));
    CHECK(data.label == label_);
    size_t features = 0;
    for (size_t i = 0; i < names_.size(); ++i) {
      std::set<std::string> levels(cells_[i].begin(), cells_[i].end());
      levels.erase("");
      if (!text_[i]) levels = {""};
      for (const std::string& level : levels) {
        std::vector<float> expected;
        for (const std::string& cell : cells_[i]) {
          expected.push_back(cell.empty() ? kNaN
                             : text_[i]   ? static_cast<float>(cell == level)
                                          : std::stof(cell));
        }
        const std::string name = text_[i] ? names_[i] + "_" + level : names_[i];
        CHECK(data.feature_names.at(features) == name);
        CHECK(Same(data.columns.at(features), expected));
        ++features;
      }
    }
    CHECK(data.columns.size() == features);
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }

  std::string RandomText() {
    static const std::vector<std::string> kPieces = {"a",  "Z",  "\"",   "\"\"", ",", ";", "|", "\t",
                                                     " x", "\n", "\r\n", "ü",    "'", "#", "5"};
    std::string text;
    for (size_t i = Below(5); i > 0; --i) text += kPieces[Below(kPieces.size())];
    return text + "t";
  }

  float RandomFloat() {
    const float mantissa = static_cast<float>(static_cast<int>(Below(2000001)) - 1000000);
    return Below(3) == 0 ? mantissa
                         : mantissa * std::pow(10.0f, static_cast<float>(static_cast<int>(Below(40)) - 25));
  }

  std::string Field(const std::string& text) {
    const bool must = text.find_first_of("\"\r\n,;|\t") != std::string::npos;
    if (!must && Below(3) != 0) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
  }

  std::mt19937 random_;
  char separator_;
  std::string line_end_;
  size_t rows_;
  std::vector<std::string> names_;
  std::vector<bool> text_;
  std::vector<std::vector<std::string>> cells_;  // [column][row]
  std::vector<float> label_;
};

TEST_CASE("Csv: random tables in random dialects are read back equal", "[data]") {
  DataFolder folder;
  for (unsigned seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    RandomTable table(seed);
    table.CheckEqual(folder.Read(table.Written(), Label("y")));
  }
}

TEST_CASE("Csv: random bytes never crash the reader", "[data]") {
  DataFolder folder;
  std::mt19937 random(11);
  const std::string alphabet = "0123456789.,;|\t\n\r\" :-eEnaNIf?y#\xc3\xff";
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes;
    for (size_t size = random() % 80; size > 0; --size) bytes += alphabet[random() % alphabet.size()];
    const absl::StatusOr<DataSet> data = ReadDataSet(folder.Write("t.csv", bytes), {}, nullptr);
    if (!data.ok()) {
      ++refused;
      CHECK_THAT(std::string(data.status().message()), Catch::Matchers::StartsWith(folder.path("t.csv")));
      continue;
    }
    for (const std::vector<float>& column : data->columns) {
      CHECK(column.size() == static_cast<size_t>(data->rows));
    }
    CHECK(data->columns.size() == data->feature_names.size());
  }
  CHECK(refused > 100);
  CHECK(refused < 3000);
}

}  // namespace
}  // namespace winnow
