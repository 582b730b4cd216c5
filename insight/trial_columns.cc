#include "insight/trial_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace winnow {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// A value beyond this multiple of the span of the better 95 % of the trials would flatten all others.
constexpr double kFarOff = 10;
constexpr double kMostOfThem = 0.95;

}  // namespace

TrialColumns::TrialColumns(const SearchSpec& spec)
    : goal_(spec.goal), completed_first_(spec.objective_value != ObjectiveValue::kBest) {
  for (const Parameter& parameter : spec.parameters) axes_.emplace_back(parameter);
  number.resize(axes_.size());
  position.resize(axes_.size());
  if (spec.ranks_by_standing()) metric.resize(spec.RankingMetrics().size());
}

void TrialColumns::Grow(size_t rows) {
  phase.resize(rows, TrialPhase::kPending);
  best.resize(rows, kNone);
  resource.resize(rows);
  bracket.resize(rows, -1);
  rung.resize(rows);
  nodes.resize(rows, 1);
  end_us.resize(rows);
  training_us.resize(rows);
  trained_resource.resize(rows);
  for (auto& column : metric) column.resize(rows, kNone);
  violation.resize(rows);
  for (auto& column : number) column.resize(rows, kNone);
  for (auto& column : position) column.resize(rows, kNone);
}

void TrialColumns::Put(const TrialEntry& entry) {
  const auto row = static_cast<size_t>(entry.number - 1);
  const bool is_new = row >= size();
  if (is_new) Grow(row + 1);
  const auto place = [this](TrialPhase p) {
    return p == TrialPhase::kFailed ? 2 : completed_first_ && p != TrialPhase::kCompleted ? 1 : 0;
  };
  const bool same_best = best[row] == entry.best || (std::isnan(best[row]) && std::isnan(entry.best));
  if (is_new || place(phase[row]) != place(entry.phase) || !same_best) ranking_.clear();
  phase[row] = entry.phase;
  best[row] = entry.best;
  resource[row] = entry.resource;
  bracket[row] = static_cast<int32_t>(entry.bracket);
  rung[row] = static_cast<int32_t>(entry.rung);
  nodes[row] = entry.nodes;
  end_us[row] = entry.end_us;
  training_us[row] = entry.training_us;
  trained_resource[row] = entry.trained_resource;
  for (size_t i = 0; i < metric.size(); ++i)
    metric[i][row] = i < entry.metrics.size() ? entry.metrics[i] : kNone;
  violation[row] = entry.violation;
  for (size_t i = 0; i < axes_.size() && i < entry.configuration->size(); ++i) {
    number[i][row] = axes_[i].NumberOf((*entry.configuration)[i]);
    position[i][row] = axes_[i].PositionOf(number[i][row]);
  }
}

size_t TrialColumns::bytes() const {
  constexpr size_t kFixed =
      sizeof(TrialPhase) + 4 * sizeof(int64_t) + 2 * sizeof(double) + 4 * sizeof(int32_t);
  return phase.capacity() * (kFixed + (axes_.size() * 2 + metric.size()) * sizeof(double));
}

const std::vector<uint32_t>& TrialColumns::Ranking() const {
  if (ranking_.size() == size()) return ranking_;
  struct Key {
    bool behind;
    double cost;
    uint32_t row;
  };
  std::vector<Key> keys;
  keys.reserve(size());
  ranking_.clear();
  std::vector<uint32_t> rest;
  for (uint32_t row = 0; row < size(); ++row) {
    const double value = score(row);
    if (std::isnan(value)) {
      rest.push_back(row);
    } else {
      const bool behind = completed_first_ && phase[row] != TrialPhase::kCompleted;
      keys.push_back({behind, goal_ == Goal::kMaximize ? -value : value, row});
    }
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tie(a.behind, a.cost, a.row) < std::tie(b.behind, b.cost, b.row);
  });
  ranking_.reserve(size());
  for (const Key& key : keys) ranking_.push_back(key.row);
  ranking_.insert(ranking_.end(), rest.begin(), rest.end());
  ranked_ = keys.size();
  return ranking_;
}

std::optional<uint32_t> TrialColumns::BestRow() const {
  const std::vector<uint32_t>& rows = Ranking();
  const auto first =
      std::find_if(rows.begin(), rows.end(), [this](uint32_t row) { return can_be_best(row); });
  return first == rows.end() ? std::nullopt : std::optional(*first);
}

size_t TrialColumns::ranked() const {
  Ranking();
  return size() == 0 ? 0 : ranked_;
}

std::vector<double> TrialColumns::Scores() const {
  std::vector<double> scores(size());
  for (size_t row = 0; row < scores.size(); ++row) scores[row] = score(row);
  return scores;
}

AxisScale TrialColumns::AxisOf(std::vector<double> values) const {
  values.erase(std::remove_if(values.begin(), values.end(), [](double value) { return std::isnan(value); }),
               values.end());
  if (values.empty()) return {"#objective", 0, 0};
  const auto better = [this](double a, double b) { return Better(a, b); };
  const auto [first, last] = std::minmax_element(values.begin(), values.end(), better);
  const double top = *first;
  double end = *last;
  const auto most =
      values.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(values.size() - 1) * kMostOfThem);
  std::nth_element(values.begin(), most, values.end(), better);
  const double usual = *most;
  if (!(std::abs(end - top) <= kFarOff * std::abs(usual - top)) && usual != top) end = usual;
  return {"#objective", std::min(top, end), std::max(top, end)};
}

}  // namespace winnow
