#include "trainers/data/csv_dialect.h"

#include <algorithm>
#include <map>
#include <set>

#include "trainers/data/cell.h"
#include "trainers/data/csv_cursor.h"

namespace winnow {
namespace {

constexpr size_t kDetectionRecords = 30;

struct Fit {
  size_t fields = 0;  // the most frequent number of fields
  double share = 0;   // fraction of the records with that number
};

Fit FitOf(const SourceFile& file, char separator) {
  std::map<size_t, int> counts;
  const std::vector<CsvRecord> sample = SampleRecords(file, separator, kDetectionRecords);
  for (const CsvRecord& record : sample) ++counts[record.size()];
  Fit fit;
  for (const auto& [fields, count] : counts) {
    const double share = count / static_cast<double>(sample.size());
    if (share >= fit.share) fit = {fields, share};
  }
  return fit;
}

bool AllDigits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Names that identify a header: those of the options and of the training data.
std::set<std::string> KnownNames(const DataOptions& options, const DataSchema* like) {
  std::set<std::string> names(options.drop.begin(), options.drop.end());
  names.insert(options.label);
  names.insert(options.weight);
  names.insert(options.training_weight);
  names.insert(options.group);
  if (like != nullptr) {
    for (const ColumnSchema& column : like->columns) names.insert(column.name);
  }
  std::erase_if(names, [](const std::string& name) { return name.empty() || AllDigits(name); });
  return names;
}

// Whether most values of a column below the first record are numbers; false if it has no values.
bool MostlyNumbers(const std::vector<CsvRecord>& sample, size_t column) {
  int numbers = 0, values = 0;
  for (size_t i = 1; i < sample.size(); ++i) {
    if (column >= sample[i].size()) continue;
    float value;
    const CellKind kind = ParseCell(sample[i][column], &value);
    values += kind != CellKind::kMissing;
    numbers += kind == CellKind::kNumber || kind == CellKind::kInfinite;
  }
  return numbers > 0 && numbers * 10 >= values * 9;
}

bool ComesAgain(const std::vector<CsvRecord>& sample, size_t column) {
  return std::any_of(sample.begin() + 1, sample.end(), [&](const CsvRecord& record) {
    return column < record.size() && record[column] == sample[0][column];
  });
}

}  // namespace

std::vector<CsvRecord> SampleRecords(const SourceFile& file, char separator, size_t limit) {
  CsvCursor cursor(file, separator);
  std::vector<CsvRecord> sample;
  std::vector<std::string_view> fields;
  while (sample.size() < limit && cursor.NextFields(&fields))
    sample.emplace_back(fields.begin(), fields.end());
  return sample;
}

char DetectSeparator(const SourceFile& file) {
  // In order of preference: fields of other separators often contain a comma ("1,5;2,5").
  char best = ',';
  Fit best_fit;
  for (const char separator : {'\t', ';', '|', ','}) {
    const Fit fit = FitOf(file, separator);
    if (fit.fields < 2) continue;
    const bool richer = fit.share >= best_fit.share && fit.fields > best_fit.fields + 1;
    if (best_fit.fields == 0 || fit.share > best_fit.share || richer) {
      best = separator;
      best_fit = fit;
    }
  }
  if (best_fit.fields == 0 && FitOf(file, ' ').fields >= 2) return ' ';
  return best;
}

bool LooksLikeHeader(const std::vector<CsvRecord>& sample, const DataOptions& options,
                     const DataSchema* like) {
  if (sample.empty()) return false;
  const CsvRecord& first = sample[0];
  const std::set<std::string> known = KnownNames(options, like);
  const auto is_known = [&](const std::string& field) { return known.count(ToUtf8(field)) > 0; };
  if (std::any_of(first.begin(), first.end(), is_known)) return true;

  float expected = -1;  // of the next number among the names; -1: none seen yet
  bool has_text = false, has_number = false, over_numbers = false, again = false;
  for (size_t i = 0; i < first.size(); ++i) {
    float value;
    const CellKind kind = ParseCell(first[i], &value);
    if (kind == CellKind::kText) {
      has_text = true;
      over_numbers = over_numbers || MostlyNumbers(sample, i);
      again = again || ComesAgain(sample, i);
    } else if (kind == CellKind::kNumber) {
      has_number = true;
      if (expected < 0 ? value != 0 && value != 1 : value != expected) return false;
      expected = value + 1;
    } else if (!first[i].empty()) {
      return false;
    }
  }
  if (!has_text) return false;
  return over_numbers || (!has_number && !again);
}

}  // namespace winnow
