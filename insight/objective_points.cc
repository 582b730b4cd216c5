#include "insight/objective_points.h"

#include <cmath>

#include "insight/even_choice.h"
#include "scheduler/state/standing.h"

namespace winnow {

std::vector<uint8_t> FrontMarks(const TrialColumns& columns, const std::vector<Objective>& objectives) {
  std::vector<uint32_t> rows;
  std::vector<ObjectivePoint> points;
  for (uint32_t row = 0; row < columns.size(); ++row) {
    if (columns.phase[row] == TrialPhase::kFailed || columns.violation[row] != 0) continue;
    ObjectivePoint point;
    for (size_t i = 0; i < objectives.size(); ++i) {
      const double value = columns.metric[i][row];
      if (std::isfinite(value)) point.push_back(objectives[i].Key(value));
    }
    if (point.size() < objectives.size()) continue;
    rows.push_back(row);
    points.push_back(std::move(point));
  }
  std::vector<uint8_t> marks(columns.size());
  for (const size_t place : FirstFront(points)) marks[rows[place]] = 1;
  return marks;
}

ObjectiveRows RowsToDraw(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                         const std::vector<uint8_t>& front, size_t x, size_t y, size_t most) {
  std::vector<uint32_t> of_front, others;
  for (uint32_t row = 0; row < columns.size(); ++row) {
    if (marked[row] == 0 || !std::isfinite(columns.metric[x][row]) || !std::isfinite(columns.metric[y][row]))
      continue;
    (front[row] != 0 ? of_front : others).push_back(row);
  }
  ObjectiveRows chosen;
  chosen.count = static_cast<int64_t>(of_front.size() + others.size());
  chosen.rows = ChooseEvenly(of_front, most);
  for (const uint32_t row : ChooseEvenly(others, most - chosen.rows.size())) chosen.rows.push_back(row);
  return chosen;
}

}  // namespace winnow
