#include "server/reads/warm_start_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "base/status_text.h"
#include "server/engine/answers/violations.h"
#include "server/reads/earlier_fit.h"
#include "server/reads/imports/csv_file.h"
#include "server/reads/imports/optuna_study.h"
#include "server/reads/reads.h"
#include "spec/search_spec.h"
#include "spec/table_cell.h"
#include "spec/warnings.h"

namespace winnow {
namespace {

// each is a fact; a search model uses the few hundred most informative ones
constexpr size_t kMostResults = 10'000;

constexpr std::string_view kOwnColumn = "hyperparameter.";

using Values = std::map<std::string, Value>;

std::string GoalName(Goal goal) { return goal == Goal::kMaximize ? "maximises" : "minimises"; }

std::optional<double> ReadNumber(const std::string& text) {
  double value = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || last != text.data() + text.size()) return std::nullopt;
  return value;
}

class Collector {
 public:
  Collector(const v1::TuningJobSpec& spec, Reads& reads, const ReadableFolders& files, const GoOn& go_on)
      : spec_(spec),
        reads_(reads),
        files_(files),
        go_on_(go_on),
        search_(ToSearchSpec(spec)),
        space_(search_.parameters, search_.constraints) {}

  absl::StatusOr<WarmStart> Run() {
    const v1::WarmStartSpec& from = spec_.warm_start();
    for (int i = 0; i < from.jobs_size(); ++i) AddJob(fmt::format("warm_start.jobs[{}]", i), from.jobs(i));
    for (int i = 0; i < from.csv_files_size() && ended_.ok(); ++i) {
      AddTable(fmt::format("warm_start.csv_files[{}]", i), from.csv_files(i));
    }
    for (int i = 0; i < from.optuna_studies_size() && ended_.ok(); ++i) {
      AddStudy(fmt::format("warm_start.optuna_studies[{}]", i), from.optuna_studies(i));
    }
    if (!ended_.ok()) return ended_;
    if (!violations_.empty()) return ViolationsError(violations_);
    KeepMost();
    WarmStart start{std::move(results_), ""};
    if (!sources_.empty()) start.text = Text(start.earlier.size());
    return start;
  }

 private:
  void Refuse(const std::string& field, const std::string& why) { violations_.push_back({field, why}); }
  // Rejects a file with the reason; a failure that is not the file's ends the whole reading.
  void RefuseFile(const std::string& field, const std::string& path, const absl::Status& why) {
    if (absl::IsInvalidArgument(why) || absl::IsPermissionDenied(why)) {
      return Refuse(field, Path(path) + " " + MessageOf(why));
    }
    ended_ = absl::Status(why.code(), fmt::format("{}: {} {}", field, Path(path), MessageOf(why)));
  }

  // Resolves a path of the spec.
  std::string Path(const std::string& path) const {
    return (std::filesystem::path(spec_.working_directory()) / path).lexically_normal().string();
  }

  void Begin(const std::string& source) { sources_.emplace_back(source, 0); }
  void LeaveOut(const std::string& why) {
    for (auto& [known, count] : left_out_) {
      if (known == why) {
        ++count;
        return;
      }
    }
    left_out_.emplace_back(why, 1);
  }

  void Add(const Values& values, std::optional<double> objective, int64_t resource,
           const std::string& source) {
    if (!objective || !std::isfinite(*objective)) return LeaveOut("without a value");
    Fit fit = FitTo(space_, values);
    if (!fit.misfit.empty()) return LeaveOut(fit.misfit);
    if (!known_.emplace(source, fit.configuration, *objective, resource).second) return;
    results_.push_back({std::move(fit.configuration), *objective, resource, source});
    ++sources_.back().second;
  }

  // Divides kMostResults among the sources, so that only the largest lose some.
  std::vector<size_t> SharesOfSources() const {
    std::vector<size_t> order(sources_.size()), shares(sources_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto smaller = [this](size_t a, size_t b) { return sources_[a].second < sources_[b].second; };
    std::stable_sort(order.begin(), order.end(), smaller);
    size_t left = kMostResults;
    for (size_t i = 0; i < order.size(); ++i) {
      const auto count = static_cast<size_t>(sources_[order[i]].second);
      left -= shares[order[i]] = std::min(count, left / (order.size() - i));
    }
    return shares;
  }

  // Keeps kMostResults of more: of each source the best, and as many of the others, evenly from good to bad.
  void KeepMost() {
    if (results_.size() <= kMostResults) return;
    const std::vector<size_t> shares = SharesOfSources();
    std::vector<EarlierResult> kept;
    size_t begin = 0;
    for (size_t s = 0; s < sources_.size(); ++s) {
      const auto count = static_cast<size_t>(sources_[s].second);
      const size_t share = shares[s], best = (share + 1) / 2;
      std::vector<size_t> order(count);
      std::iota(order.begin(), order.end(), begin);
      std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
        return search_.goal == Goal::kMaximize ? results_[a].objective > results_[b].objective
                                               : results_[a].objective < results_[b].objective;
      });
      std::vector<size_t> chosen(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(best));
      for (size_t i = best; i < share; ++i)
        chosen.push_back(order[best + (i - best) * (count - best) / (share - best)]);
      std::sort(chosen.begin(), chosen.end());
      for (const size_t i : chosen) kept.push_back(std::move(results_[i]));
      begin += count;
      sources_[s].second = static_cast<int64_t>(share);
    }
    left_out_.emplace_back(fmt::format("beyond the {} that may be used", kMostResults),
                           static_cast<int64_t>(results_.size() - kept.size()));
    results_ = std::move(kept);
  }

  static Values ValuesOf(const v1::TuningJobSpec& job, const SearchSpec& search,
                         const Configuration& configuration) {
    Values values;
    for (const auto& [name, text] : job.static_hyperparameters()) values[name] = text;
    for (size_t i = 0; i < search.parameters.size(); ++i)
      values[search.parameters[i].name] = configuration[i];
    return values;
  }

  void AddResultsOf(const JobView& job) {
    const SearchSpec& search = job.state.spec();
    // With repeats a level is one of them, else a unit: between such jobs each one's own value counts.
    const bool own = search.repeats > 0 || search_.repeats > 0;
    const ObjectiveValue counted = own ? search.objective_value : search_.objective_value;
    for (const EarlierResult& earlier : job.state.earlier_results()) {
      Add(ValuesOf(job.spec, search, earlier.configuration), earlier.objective, earlier.resource,
          earlier.source);
    }
    for (const TrialState& trial : job.state.trials()) {
      if (trial.phase == TrialPhase::kFailed) {
        LeaveOut("that failed");
        continue;
      }
      std::optional<double> value;
      if (!trial.curve.empty()) value = trial.counted_at(trial.curve.back().first, counted);
      Add(ValuesOf(job.spec, search, trial.configuration), value,
          trial.curve.empty() ? 0 : trial.curve.back().first,
          fmt::format("job {}, trial {}", job.row.id, trial.number));
    }
  }

  void AddJob(const std::string& field, const std::string& id) {
    Begin("job " + id);
    absl::Status status = reads_.Look(id, [&](const JobView& job) {
      const Goal goal = job.state.spec().goal;
      if (!job.state.ended()) {
        Refuse(field, fmt::format("job \"{}\" is still running; expected one that has ended", id));
      } else if (job.state.spec().has_several_objectives()) {
        Refuse(field, fmt::format("job \"{}\" has several objectives; expected one with one objective", id));
      } else if (goal != search_.goal) {
        Refuse(field, fmt::format("job \"{}\" {} its objective; expected one that {} it, as this one does",
                                  id, GoalName(goal), GoalName(search_.goal)));
      } else {
        AddResultsOf(job);
      }
    });
    if (!status.ok()) Refuse(field, MessageOf(status));
  }

  void AddTable(const std::string& field, const std::string& path) {
    Begin(path);
    const absl::StatusOr<ForeignFile> file = files_.Open(Path(path));
    if (!file.ok()) return RefuseFile(field, path, file.status());
    const absl::StatusOr<CsvFile> table = ReadCsvFile(*file, go_on_);
    if (!table.ok()) return RefuseFile(field, path, table.status());
    const auto column = [&](const std::string& name) {
      const auto found = std::find(table->header.begin(), table->header.end(), name);
      return found == table->header.end() ? -1 : static_cast<int>(found - table->header.begin());
    };
    const int newest = column("objective"), resource = column("resource");
    // A table of winnow analytics, where "objective" is the newest value.
    const bool own =
        newest >= 0 && column("state") >= 0 && column("value") >= 0 && column("value_resource") >= 0;
    const int objective = own ? column("value") : newest;
    const int state = own ? column("state") : -1;
    if (objective < 0) {
      const size_t columns = table->header.size();
      return Refuse(
          field,
          fmt::format("{} has {} {}, none of which is named objective; expected a header with objective, "
                      "the names of hyperparameters, and optionally resource, with commas between them",
                      Path(path), columns, columns == 1 ? "column" : "columns"));
    }
    for (size_t r = 0; r < table->rows.size(); ++r) {
      const std::vector<std::string>& row = table->rows[r];
      if (state >= 0 && row[state] == "FAILED") {
        LeaveOut("that failed");
        continue;
      }
      Values values;
      for (size_t c = 0; c < row.size(); ++c) {
        const bool parameter = static_cast<int>(c) != objective && static_cast<int>(c) != resource;
        if (parameter && !row[c].empty())
          values[WithoutFormulaGuard(table->header[c])] = WithoutFormulaGuard(row[c]);
      }
      // winnow analytics renames a hyperparameter whose name clashes with one of its own columns.
      for (size_t c = 0; c < row.size(); ++c) {
        const std::string& title = table->header[c];
        if (title.starts_with(kOwnColumn) && !row[c].empty()) {
          values[title.substr(kOwnColumn.size())] = WithoutFormulaGuard(row[c]);
        }
      }
      int64_t level = 0;
      if (resource >= 0 && !row[resource].empty()) {
        const double read = ReadNumber(row[resource]).value_or(-1);
        if (!(read >= 0 && read < 1e15 && read == std::floor(read))) {
          LeaveOut("with a resource that is not a whole number");
          continue;
        }
        level = static_cast<int64_t>(read);
      }
      Add(values, ReadNumber(row[objective]), level,
          fmt::format("{}, row {}", path, r + 2));  // the header is row 1
    }
  }

  void AddStudy(const std::string& field, const v1::OptunaStudy& given) {
    Begin(given.file());
    const absl::StatusOr<ForeignFile> file = files_.Open(Path(given.file()));
    if (!file.ok()) return RefuseFile(field, given.file(), file.status());
    const absl::StatusOr<OptunaStudy> study = ReadOptunaStudy(*file, given.study(), go_on_);
    if (!study.ok()) return RefuseFile(field, given.file(), study.status());
    if (study->goal != search_.goal) {
      return Refuse(field,
                    fmt::format("the study {} its objective; expected one that {} it, as this job does",
                                GoalName(study->goal), GoalName(search_.goal)));
    }
    for (const OptunaTrial& trial : study->trials) {
      if (!trial.finished) {
        LeaveOut("that failed or have not ended");
      } else if (trial.pruned && trial.resource == 0) {
        LeaveOut("that were pruned at an unknown level");
      } else {
        Add(trial.parameters, trial.value, trial.resource,
            fmt::format("study {} of {}, trial {}", study->name, given.file(), trial.number));
      }
    }
  }

  std::string Text(size_t used) const {
    std::string from, out;
    for (const auto& [source, count] : sources_) {
      if (count > 0) from += fmt::format("{}{} from {}", from.empty() ? ": " : ", ", count, source);
    }
    int64_t left = 0;
    for (const auto& [why, count] : left_out_) {
      out += fmt::format("{}{} {}", out.empty() ? ": " : ", ", count, why);
      left += count;
    }
    const std::string beginning =
        used == 0 ? kNoResultUsed : fmt::format("{} {} used", used, used == 1 ? "result" : "results");
    return beginning + from + (left > 0 ? fmt::format("; {} left out{}.", left, out) : ".");
  }

  const v1::TuningJobSpec& spec_;
  Reads& reads_;
  const ReadableFolders& files_;
  const GoOn& go_on_;
  absl::Status ended_;  // why reading stopped
  const SearchSpec search_;
  const SearchSpace space_;
  std::vector<EarlierResult> results_;
  std::vector<Violation> violations_;
  // as named in the spec, with the number of used results
  std::vector<std::pair<std::string, int64_t>> sources_;
  std::vector<std::pair<std::string, int64_t>> left_out_;  // reasons, with counts
  std::set<std::tuple<std::string, Configuration, double, int64_t>> known_;
};

}  // namespace

absl::StatusOr<WarmStart> ReadWarmStart(const v1::TuningJobSpec& spec, Reads& reads,
                                        const ReadableFolders& files, const GoOn& go_on) {
  return Collector(spec, reads, files, go_on).Run();
}

}  // namespace winnow
