// Columns of trials against each other: the contour over two hyperparameters, and the scatter of any two
// columns.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include "insight/even_choice.h"
#include "insight/parallel_lines.h"
#include "server/engine/answers/messages.h"
#include "server/insights/insight_messages.h"
#include "server/insights/insights.h"

namespace winnow {
namespace {

// Values of a categorical or discrete hyperparameter on an axis of a contour: each is a place of the grid.
constexpr size_t kMostGridValues = 128;
constexpr std::string_view kMetricPrefix = "metric:";

using FieldValue = double (*)(const TrialColumns&, size_t);

// The fields that are the same in every job.
const std::vector<std::pair<std::string, FieldValue>>& CommonFields() {
  static const std::vector<std::pair<std::string, FieldValue>> kFields = {
      {"#objective", [](const TrialColumns& c, size_t row) { return c.score(row); }},
      {"#resource", [](const TrialColumns& c, size_t row) { return static_cast<double>(c.resource[row]); }},
      {"#trained",
       [](const TrialColumns& c, size_t row) { return static_cast<double>(c.trained_resource[row]); }},
      {"#training_seconds",
       [](const TrialColumns& c, size_t row) { return static_cast<double>(c.training_us[row]) / 1e6; }},
      {"#nodes", [](const TrialColumns& c, size_t row) { return static_cast<double>(c.nodes[row]); }},
      {"#number", [](const TrialColumns&, size_t row) { return static_cast<double>(row + 1); }},
      {"#state", [](const TrialColumns& c, size_t row) { return static_cast<double>(c.phase[row]); }}};
  return kFields;
}

v1::ScatterColumn& ColumnOf(v1::Scatter& scatter, int which) {
  return which == 0 ? *scatter.mutable_x() : which == 1 ? *scatter.mutable_y() : *scatter.mutable_color();
}

// A field of the request, with its values of the rows. The values of a metric are filled in later: `metric`
// is its name then, else "".
absl::Status FillColumn(const char* field, const std::string& name, const JobTrials& job,
                        const std::vector<uint32_t>& rows, const std::vector<std::string>& known,
                        v1::ScatterColumn& column, std::string& metric) {
  const TrialColumns& columns = job.columns;
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    return absl::InvalidArgumentError(fmt::format("{}: job \"{}\" has no \"{}\"; expected one of {}", field,
                                                  job.row.id, name, fmt::join(known, ", ")));
  }
  column.set_field(name);
  column.set_scaling("linear");
  const auto axis = std::find_if(columns.axes().begin(), columns.axes().end(),
                                 [&name](const AxisScale& a) { return a.name() == name; });
  if (axis != columns.axes().end()) {
    column.set_scaling(axis->scaling());
    if (axis->categorical()) column.mutable_values()->Assign(axis->values().begin(), axis->values().end());
    const std::vector<double>& numbers = columns.number[axis - columns.axes().begin()];
    for (const uint32_t row : rows) column.add_value(numbers[row]);
    return absl::OkStatus();
  }
  for (const auto& [common, value] : CommonFields()) {
    if (common != name) continue;
    for (const uint32_t row : rows) column.add_value(value(columns, row));
    if (name != "#state") return absl::OkStatus();
    for (size_t phase = 0; phase < kTrialPhases; ++phase)
      column.add_values(std::string(PhaseName(static_cast<TrialPhase>(phase))));
    return absl::OkStatus();
  }
  metric = name.substr(kMetricPrefix.size());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<size_t> ParameterAt(const char* field, const std::string& name, const JobTrials& job) {
  const std::vector<AxisScale>& axes = job.columns.axes();
  const auto axis =
      std::find_if(axes.begin(), axes.end(), [&name](const AxisScale& a) { return a.name() == name; });
  if (axis != axes.end()) return static_cast<size_t>(axis - axes.begin());
  std::vector<std::string> names;
  for (const AxisScale& known : axes) names.push_back(known.name());
  return absl::InvalidArgumentError(
      fmt::format("{}: job \"{}\" has no hyperparameter \"{}\"; expected one of {}", field, job.row.id, name,
                  fmt::join(names, ", ")));
}

std::vector<uint32_t> RowsByScore(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                                  const std::vector<double>& scores,
                                  const std::vector<const std::vector<double>*>& needed) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < marked.size(); ++row) {
    const bool has_all = std::all_of(needed.begin(), needed.end(), [row](const std::vector<double>* column) {
      return !std::isnan((*column)[row]);
    });
    if (marked[row] != 0 && has_all && !std::isnan(scores[row])) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return columns.Better(scores[a], scores[b]); });
  return rows;
}

ForestQuestion WholeForest(const JobTrials& job, const LevelScores& compared) {
  ForestQuestion question;
  question.job = job.row.key;
  question.range_changes = job.range_changes;
  question.level = compared.level;
  const std::vector<uint8_t> all(job.columns.size(), 1);
  question.task =
      std::make_shared<const ForestTask>(MakeForestTask(job.columns, all, compared, job.search.seed));
  return question;
}

absl::StatusOr<ContourAnswer> Insights::GetContour(const v1::GetContourRequest& request,
                                                   const LevelScores& compared) {
  const absl::StatusOr<size_t> most = Bounded("max_points", request.max_points(), 500, 1, 5000);
  if (!most.ok()) return most.status();
  const absl::StatusOr<size_t> cells = Bounded("cells", request.cells(), 32, 2, 64);
  if (!cells.ok()) return cells.status();
  ContourAnswer answer;
  answer.cells = *cells;
  const absl::Status status =
      With(request, [&](const JobTrials& job, const std::vector<uint8_t>& marked) -> absl::Status {
        const TrialColumns& columns = job.columns;
        const absl::StatusOr<size_t> x = ParameterAt("x", request.x(), job);
        if (!x.ok()) return x.status();
        const absl::StatusOr<size_t> y = ParameterAt("y", request.y(), job);
        if (!y.ok()) return y.status();
        if (*x == *y) {
          return absl::InvalidArgumentError(
              fmt::format("y: is \"{}\", as x is; expected another hyperparameter", request.y()));
        }
        for (const auto& [field, dimension] : {std::pair("x", *x), std::pair("y", *y)}) {
          const size_t values = columns.axes()[dimension].values().size();
          if (values <= kMostGridValues) continue;
          return absl::InvalidArgumentError(
              fmt::format("{}: {} has {} values; expected a hyperparameter of at most {}", field,
                          columns.axes()[dimension].name(), values, kMostGridValues));
        }
        answer.x = *x;
        answer.y = *y;
        v1::Contour& contour = answer.contour;
        const std::vector<double> scores = ScoresAt(columns, compared);
        Fill(columns.axes()[*x], *contour.mutable_x_axis());
        Fill(columns.axes()[*y], *contour.mutable_y_axis());
        Fill(columns.AxisOf(scores), *contour.mutable_objective());
        const std::vector<double>&of_x = columns.position[*x], &of_y = columns.position[*y];
        const std::vector<uint32_t> rows = RowsByScore(columns, marked, scores, {&of_x, &of_y});
        for (const uint32_t row : ChooseFirstAndEvenly(rows, *most)) {
          contour.add_trial(static_cast<int32_t>(row + 1));
          contour.add_x(Rounded(of_x[row]));
          contour.add_y(Rounded(of_y[row]));
          contour.add_value(scores[row]);
        }
        contour.set_resource_level(compared.level);
        answer.question = WholeForest(job, compared);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return answer;
}

absl::StatusOr<ScatterQuestion> Insights::AskScatter(const v1::GetScatterRequest& request) {
  const absl::StatusOr<size_t> most = Bounded("max_points", request.max_points(), 1000, 1, 5000);
  if (!most.ok()) return most.status();
  ScatterQuestion question;
  const absl::Status status =
      With(request, [&](const JobTrials& job, const std::vector<uint8_t>& marked) -> absl::Status {
        const absl::StatusOr<std::vector<std::string>> metrics = MetricsOf(store_, job);
        if (!metrics.ok()) return metrics.status();
        std::vector<std::string> fields;
        for (const AxisScale& axis : job.columns.axes()) fields.push_back(axis.name());
        for (const auto& [name, value] : CommonFields()) fields.push_back(name);
        for (const std::string& metric : *metrics) fields.push_back(std::string(kMetricPrefix) + metric);
        question.job = job.row.key;
        v1::Scatter& scatter = question.scatter;
        scatter.mutable_fields()->Assign(fields.begin(), fields.end());
        scatter.set_trials(std::accumulate(marked.begin(), marked.end(), int64_t{0}));
        std::vector<uint32_t> rows;
        for (uint32_t row = 0; row < marked.size(); ++row) {
          if (marked[row] != 0) rows.push_back(row);
        }
        rows = ChooseEvenly(rows, *most);
        for (const uint32_t row : rows) {
          scatter.add_trial(static_cast<int32_t>(row + 1));
          scatter.add_state(StateOf(job.columns.phase[row]));
        }
        for (uint32_t row = 0; row < marked.size(); ++row) {
          if (job.columns.phase[row] == TrialPhase::kRunning) question.unsettled.push_back(row + 1);
        }
        const std::string* const asked[] = {&request.x(), &request.y(), &request.color()};
        const std::string otherwise[] = {fields.front(), "#objective", "#state"};
        constexpr const char* kNames[] = {"x", "y", "color"};
        for (int which = 0; which < 3; ++which) {
          const std::string& name = asked[which]->empty() ? otherwise[which] : *asked[which];
          std::string metric;
          absl::Status filled =
              FillColumn(kNames[which], name, job, rows, fields, ColumnOf(scatter, which), metric);
          if (!filled.ok()) return filled;
          if (!metric.empty()) question.metrics.emplace_back(which, metric);
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return question;
}

absl::Status LearningCurves::FillScatter(ScatterQuestion& question) {
  return store_.Read([&]() -> absl::Status {
    for (const auto& [which, metric] : question.metrics) {
      const absl::StatusOr<Kept*> got = Get(question.job, metric, question.unsettled);
      if (!got.ok()) return got.status();
      const std::vector<MetricCurve>& curves = (*got)->curves;
      v1::ScatterColumn& column = ColumnOf(question.scatter, which);
      for (const int32_t trial : question.scatter.trial()) {
        const auto row = static_cast<size_t>(trial - 1);
        const bool has_any = row < curves.size() && !curves[row].empty();
        column.add_value(has_any ? curves[row].back().value : std::numeric_limits<double>::quiet_NaN());
      }
    }
    return absl::OkStatus();
  });
}

v1::Scatter ToProto(const ScatterQuestion& question) {
  v1::Scatter scatter = question.scatter;
  int kept = 0;
  for (int i = 0; i < scatter.trial_size(); ++i) {
    if (!std::isfinite(scatter.x().value(i)) || !std::isfinite(scatter.y().value(i))) continue;
    scatter.set_trial(kept, scatter.trial(i));
    scatter.set_state(kept, scatter.state(i));
    for (int which = 0; which < 3; ++which) {
      v1::ScatterColumn& column = ColumnOf(scatter, which);
      column.set_value(kept, column.value(i));
    }
    ++kept;
  }
  scatter.mutable_trial()->Truncate(kept);
  scatter.mutable_state()->Truncate(kept);
  for (int which = 0; which < 3; ++which) ColumnOf(scatter, which).mutable_value()->Truncate(kept);
  return scatter;
}

}  // namespace winnow
