#include "server/reads/imports/optuna_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/bounded_json.h"
#include "store/database/sqlite_database.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr int64_t kMostStudyBytes = 256 << 20;
constexpr size_t kMostTrials = 100'000;
constexpr size_t kMostParameters = 2'000'000;
constexpr int kMostDepth = 60;  // more than any distribution has

// The tables of Optuna's storages/_rdb/models.py, schema 12 (3.0 and later), as far as they are read here.
// They have had these columns since 2.4; only the types of values are newer.
const std::vector<std::pair<std::string, std::vector<std::string>>>& Layout() {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> kLayout = {
      {"studies", {"study_id", "study_name"}},
      {"study_directions", {"study_id", "direction", "objective"}},
      {"trials", {"trial_id", "number", "study_id", "state"}},
      {"trial_params", {"trial_id", "param_name", "param_value", "distribution_json"}},
      {"trial_values", {"trial_id", "objective", "value"}},
      {"trial_intermediate_values", {"trial_id", "step"}},
  };
  return kLayout;
}

// Without SQLite's own words, which may quote the file.
absl::Status Unreadable(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kInvalidArgument:
      return status;
    case absl::StatusCode::kDataLoss:
      return absl::InvalidArgumentError("is not a SQLite file, or is damaged");
    case absl::StatusCode::kUnavailable:
      return absl::InvalidArgumentError("is being written by another program; try again when it is done");
    default:
      return absl::InvalidArgumentError("cannot be read as an Optuna study");
  }
}

absl::Status UnknownLayout(const std::string& why) {
  return absl::InvalidArgumentError(
      fmt::format("contains no known Optuna study: {}; expected the tables of Optuna 2.4 to 4", why));
}

// Whether it is a table with stored rows: not a view, nor a module's virtual table, which has no page.
absl::StatusOr<bool> IsTable(Database& database, const std::string& name) {
  Statement find(database,
                 "SELECT COUNT(*) FROM sqlite_master WHERE name = ?1 AND type = 'table' AND rootpage > 0");
  absl::StatusOr<bool> row = find.Bind(name).Next();
  if (!row.ok()) return row.status();
  return find.Int(0) == 1;
}

absl::Status CheckLayout(Database& database) {
  for (const auto& [table, columns] : Layout()) {
    const absl::StatusOr<bool> there = IsTable(database, table);
    if (!there.ok()) return Unreadable(there.status());
    if (!*there) return UnknownLayout(fmt::format("there is no table {}", table));
    Statement list(database, fmt::format("PRAGMA table_xinfo({})", table));
    list.Bind();
    std::set<std::string> known;
    bool computed = false;
    absl::Status status = list.ForEach([&] {
      known.insert(list.Text(1));
      computed = computed || list.Int(6) != 0;
      return absl::OkStatus();
    });
    if (!status.ok()) return Unreadable(status);
    if (computed) return UnknownLayout(fmt::format("table {} computes columns", table));
    for (const std::string& column : columns) {
      if (known.count(column) == 0)
        return UnknownLayout(fmt::format("there is no column {}.{}", table, column));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> FindStudy(Database& database, std::string& name) {
  Statement list(database, "SELECT study_id, study_name FROM studies ORDER BY study_id");
  list.Bind();
  int64_t found = 0, count = 0;
  std::string first;
  absl::Status status = list.ForEach([&] {
    const std::string known = list.Text(1);
    ++count;
    if (name.empty() || known == name) {
      found = list.Int(0);
      first = known;
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return Unreadable(status);
  if (count == 0) return absl::InvalidArgumentError("contains no study");
  if (name.empty() && count > 1) {
    return absl::InvalidArgumentError(
        fmt::format("contains {} studies; expected the name of one of them", count));
  }
  if (found == 0) {
    return absl::InvalidArgumentError(
        fmt::format("contains no study \"{}\"; expected the name of one of its {}", name, count));
  }
  name = first;
  return found;
}

absl::StatusOr<Goal> ReadGoal(Database& database, int64_t study) {
  Statement list(database, "SELECT direction FROM study_directions WHERE study_id = ?1 ORDER BY objective");
  list.Bind(study);
  std::vector<std::string> directions;
  absl::Status status = list.ForEach([&] {
    directions.push_back(list.Text(0));
    return absl::OkStatus();
  });
  if (!status.ok()) return Unreadable(status);
  if (directions.size() != 1) {
    return absl::InvalidArgumentError(
        fmt::format("contains a study with {} objectives; expected one with one", directions.size()));
  }
  if (directions[0] == "MAXIMIZE") return Goal::kMaximize;
  if (directions[0] == "MINIMIZE") return Goal::kMinimize;
  return absl::InvalidArgumentError("the study's direction is unknown; expected MAXIMIZE or MINIMIZE");
}

// Returns a category's choice. Throws what the JSON library throws.
Value Choice(const json& choice) {
  if (choice.is_string()) return choice.get<std::string>();
  if (choice.is_number_integer()) return choice.get<int64_t>();
  if (choice.is_number()) return choice.get<double>();
  return choice.dump();
}

// Returns a parameter's value from the table's number: for a category, its index.
Value ReadParameter(double number, const std::string& distribution) {
  const json parsed = ParseBoundedJson(distribution, kMostDepth);
  const auto name = parsed.at("name").get<std::string>();
  if (name == "CategoricalDistribution") {
    const json& choices = parsed.at("attributes").at("choices");
    if (!(number >= 0 && number < static_cast<double>(choices.size()))) {
      throw std::out_of_range("no such choice");
    }
    return Choice(choices.at(static_cast<size_t>(number)));
  }
  if (!name.starts_with("Int")) return number;
  constexpr double kMostExact = 9007199254740992;  // 2^53
  if (!(std::abs(number) <= kMostExact)) throw std::out_of_range("no integer");
  return static_cast<int64_t>(number);
}

absl::Status TooMuch(const char* what, size_t most) {
  return absl::InvalidArgumentError(fmt::format("has more than {} {}, the maximum", most, what));
}

class Trials {
 public:
  Trials(Database& database, int64_t study) : database_(database), study_(study) {}

  absl::StatusOr<std::vector<OptunaTrial>> Read() {
    for (absl::Status status : {ReadTrials(), ReadParameters(), ReadSteps()}) {
      if (!status.ok()) return status;
    }
    std::vector<OptunaTrial> trials;
    for (auto& [id, trial] : by_id_) trials.push_back(std::move(trial));
    std::sort(trials.begin(), trials.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
    return trials;
  }

 private:
  absl::Status ReadTrials() {
    // Infinite values are NULL since 3.0, with their type in a separate column.
    Statement list(database_,
                   "SELECT t.trial_id, t.number, t.state, v.value FROM trials t LEFT JOIN trial_values v"
                   " ON v.trial_id = t.trial_id AND v.objective = 0 WHERE t.study_id = ?1");
    list.Bind(study_);
    absl::Status status = list.ForEach([&]() -> absl::Status {
      if (by_id_.size() >= kMostTrials) return TooMuch("trials", kMostTrials);
      OptunaTrial& trial = by_id_[list.Int(0)];
      trial.number = list.Int(1);
      trial.pruned = list.Text(2) == "PRUNED";
      trial.finished = trial.pruned || list.Text(2) == "COMPLETE";
      if (!list.IsNull(3) && std::isfinite(list.Real(3))) trial.value = list.Real(3);
      return absl::OkStatus();
    });
    return status.ok() ? status : Unreadable(status);
  }

  absl::Status ReadParameters() {
    Statement list(database_,
                   "SELECT p.trial_id, p.param_name, p.param_value, p.distribution_json FROM trial_params p"
                   " JOIN trials t ON t.trial_id = p.trial_id WHERE t.study_id = ?1");
    list.Bind(study_);
    size_t parameters = 0;
    absl::Status status = list.ForEach([&]() -> absl::Status {
      if (++parameters > kMostParameters) return TooMuch("parameters", kMostParameters);
      OptunaTrial& trial = by_id_[list.Int(0)];
      try {
        trial.parameters[list.Text(1)] = ReadParameter(list.Real(2), list.Text(3));
      } catch (const std::exception&) {
        return absl::InvalidArgumentError(
            fmt::format("trial {}: a parameter's value does not match its distribution", trial.number));
      }
      return absl::OkStatus();
    });
    return status.ok() ? status : Unreadable(status);
  }

  absl::Status ReadSteps() {
    Statement list(database_,
                   "SELECT i.trial_id, MIN(i.step), MAX(i.step) FROM trial_intermediate_values i"
                   " JOIN trials t ON t.trial_id = i.trial_id WHERE t.study_id = ?1 GROUP BY i.trial_id");
    list.Bind(study_);
    int64_t first = 1;
    std::map<int64_t, int64_t> last;
    absl::Status status = list.ForEach([&] {
      first = std::min(first, list.Int(1));
      last[list.Int(0)] = list.Int(2);
      return absl::OkStatus();
    });
    if (!status.ok()) return Unreadable(status);
    // A study that counts its steps from 0 has trained one unit at the first.
    const int64_t offset = first == 0 ? 1 : 0;
    constexpr int64_t kMostSteps = std::numeric_limits<int64_t>::max() - 1;
    for (const auto& [id, step] : last)
      by_id_[id].resource = std::max<int64_t>(0, std::min(step, kMostSteps) + offset);
    return absl::OkStatus();
  }

  Database& database_;
  const int64_t study_;
  std::map<int64_t, OptunaTrial> by_id_;
};

}  // namespace

absl::StatusOr<OptunaStudy> ReadOptunaStudy(const ForeignFile& file, const std::string& name,
                                            const GoOn& go_on) {
  if (file.bytes() > kMostStudyBytes) {
    return absl::InvalidArgumentError(
        fmt::format("has {} bytes; expected at most {}", file.bytes(), kMostStudyBytes));
  }
  // The file alone lacks changes that are only in the log, and an interrupted change.
  if (file.log_bytes() > 0 || file.journal_bytes() > 0) {
    return absl::InvalidArgumentError(
        "is being changed: it has a SQLite log (-wal or -journal); end the program that writes it, or name a "
        "copy made "
        "by: sqlite3 FILE \".backup COPY\"");
  }
  absl::StatusOr<std::unique_ptr<Database>> database = SqliteDatabase::OpenForeign(file, go_on);
  if (!database.ok()) return Unreadable(database.status());
  absl::StatusOr<std::unique_ptr<Transaction>> moment = Transaction::BeginRead(**database);
  if (!moment.ok()) return Unreadable(moment.status());
  absl::Status status = CheckLayout(**database);
  if (!status.ok()) return status;
  OptunaStudy study;
  study.name = name;
  absl::StatusOr<int64_t> id = FindStudy(**database, study.name);
  if (!id.ok()) return id.status();
  absl::StatusOr<Goal> goal = ReadGoal(**database, *id);
  if (!goal.ok()) return goal.status();
  study.goal = *goal;
  absl::StatusOr<std::vector<OptunaTrial>> trials = Trials(**database, *id).Read();
  if (!trials.ok()) return trials.status();
  study.trials = *std::move(trials);
  return study;
}

}  // namespace winnow
