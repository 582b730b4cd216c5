#include "bench/search/front_problems.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bench/search/recorded_table.h"

namespace winnow {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr int kLevels = 27;  // of the problems in closed form

using Point = std::vector<double>;

double Currin(double x, double y) {
  const double factor = y <= 0 ? 1 : 1 - std::exp(-1 / (2 * y));
  return factor * (2300 * x * x * x + 1900 * x * x + 2092 * x + 60) /
         (100 * x * x * x + 500 * x * x + 4 * x + 20);
}

double Branin(double x, double y) {
  const double a = 15 * x - 5, b = 15 * y;
  return std::pow(b - 5.1 / (4 * kPi * kPi) * a * a + 5 / kPi * a - 6, 2) +
         10 * (1 - 1 / (8 * kPi)) * std::cos(a) + 10;
}

Point Zdt(const Point& x, double power) {
  double g = 1;
  for (size_t i = 1; i < x.size(); ++i) g += 9 * x[i] / static_cast<double>(x.size() - 1);
  return {x[0], g * (1 - std::pow(x[0] / g, power))};
}

Point Dtlz2(const Point& x) {
  double g = 0;
  for (size_t i = 2; i < x.size(); ++i) g += std::pow(x[i] - 0.5, 2);
  const double a = x[0] * kPi / 2, b = x[1] * kPi / 2;
  return {(1 + g) * std::cos(a) * std::cos(b), (1 + g) * std::cos(a) * std::sin(b), (1 + g) * std::sin(a)};
}

// The hypervolume of the front of Branin and Currin, from a grid.
double AreaOf(std::vector<Point> points, const Point& reference);
double WholeBraninCurrin(const Point& reference) {
  constexpr int kSide = 1000;
  std::vector<Point> points;
  for (int i = 0; i <= kSide; ++i) {
    for (int j = 0; j <= kSide; ++j) {
      const double x = static_cast<double>(i) / kSide, y = static_cast<double>(j) / kSide;
      points.push_back({Branin(x, y), Currin(x, y)});
    }
  }
  return AreaOf(std::move(points), reference);
}

// Approaches the values of the problem as it trains, by a power law whose size differs between
// configurations.
FrontProblem Trained(size_t variables, std::vector<double> reference, double whole,
                     const std::function<Point(const Point&)>& values) {
  FrontProblem problem;
  for (size_t i = 0; i < variables; ++i) problem.parameters.push_back({"x" + std::to_string(i)});
  problem.levels = kLevels;
  problem.whole = whole;
  problem.reference = std::move(reference);
  problem.values = [values, reference = problem.reference](const Point& x, int level) {
    Point found = values(x);
    for (size_t i = 0; i < found.size(); ++i) {
      const double size =
          0.3 * reference[i] * (0.5 + std::abs(std::sin(7 * x[0] + 3 * x[1] + static_cast<double>(i))));
      found[i] += size * (std::pow(level, -0.7) - std::pow(kLevels, -0.7));
    }
    return found;
  };
  return problem;
}

// The area between points, none of which is left out, and the reference.
double AreaOf(std::vector<Point> points, const Point& reference) {
  std::sort(points.begin(), points.end());
  double area = 0, top = reference[1];
  for (const Point& point : points) {
    if (point[0] >= reference[0] || point[1] >= top) continue;
    area += (reference[0] - point[0]) * (top - point[1]);
    top = point[1];
  }
  return area;
}

// Two recorded tables with the same rows. The reference is what half of the rows are better than in the first
// metric, and the worst of the second with a margin of a tenth.
absl::StatusOr<FrontProblem> OfTables(const std::string& first, const std::string& second) {
  std::vector<std::shared_ptr<const Family>> tables;
  for (const std::string& path : {first, second}) {
    absl::StatusOr<std::unique_ptr<Family>> table = ReadRecordedTable(path, TablePlay::kNearest);
    if (!table.ok()) return table.status();
    tables.push_back(*std::move(table));
  }
  FrontProblem problem;
  problem.parameters = tables[0]->parameters();
  problem.levels = tables[0]->max_resource();
  // Tables hold what is to be maximised.
  problem.values = [tables](const Point& unit, int level) {
    return Point{-tables[0]->Value(unit, level),
                 -tables[1]->Value(unit, std::min(level, tables[1]->max_resource()))};
  };
  std::vector<Point> ends;
  std::vector<double> firsts;
  double least = 0, most = 0;
  const std::vector<RecordedRow>& rows = RecordedRows(*tables[0]);
  const std::vector<RecordedRow>& others = RecordedRows(*tables[1]);
  if (rows.size() != others.size())
    return absl::InvalidArgumentError(second + ": expected as many rows as " + first);
  for (size_t row = 0; row < rows.size(); ++row) {
    Point end = {-rows[row].curve.back(), -others[row].curve.back()};
    if (!std::isfinite(end[0]) || !std::isfinite(end[1])) continue;
    firsts.push_back(end[0]);
    least = ends.empty() ? end[1] : std::min(least, end[1]);
    most = ends.empty() ? end[1] : std::max(most, end[1]);
    ends.push_back(std::move(end));
  }
  if (ends.empty()) return absl::InvalidArgumentError(first + ": expected rows with finite values");
  std::nth_element(firsts.begin(), firsts.begin() + static_cast<std::ptrdiff_t>(firsts.size() / 2),
                   firsts.end());
  problem.reference = {firsts[firsts.size() / 2], most + 0.1 * (most - least)};
  problem.whole = AreaOf(std::move(ends), problem.reference);
  return problem;
}

}  // namespace

std::vector<std::string> ClosedFrontProblems() { return {"zdt1", "zdt2", "branin_currin", "dtlz2"}; }

absl::StatusOr<FrontProblem> MakeFrontProblem(const std::string& name) {
  // The area above f2 = 1 - f1^power up to the reference.
  const auto zdt = [](double power) {
    const double right = 1.1, top = 4;
    return Trained(6, {right, top}, right * top - (1 - 1 / (power + 1)),
                   [power](const Point& x) { return Zdt(x, power); });
  };
  if (name == "zdt1") return zdt(0.5);
  if (name == "zdt2") return zdt(2);
  if (name == "dtlz2") return Trained(5, {1.5, 1.5, 1.5}, std::pow(1.5, 3) - kPi / 6, Dtlz2);
  if (name == "branin_currin") {
    const Point reference = {18, 6};
    return Trained(2, reference, WholeBraninCurrin(reference), [](const Point& x) {
      return Point{Branin(x[0], x[1]), Currin(x[0], x[1])};
    });
  }
  const size_t plus = name.find('+');
  if (plus == std::string::npos)
    return absl::NotFoundError(name + ": expected a problem in closed form, or two tables, FILE+FILE");
  return OfTables(name.substr(0, plus), name.substr(plus + 1));
}

}  // namespace winnow
