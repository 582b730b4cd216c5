#include "scheduler/models/output_transform.h"

#include <algorithm>
#include <cmath>

#include "scheduler/models/quantile.h"
#include "tests/catch.h"
#include "tests/scheduler/models/mixed_points.h"

namespace winnow {
namespace {

enum class Shape { kEven, kSkewed, kSkewedDown, kWithFailures };

std::vector<double> Values(Shape shape) {
  std::vector<double> values;
  for (int64_t i = 0; i < 60; ++i) {
    const double z = Normal(1, i, 0);
    if (shape == Shape::kEven) values.push_back(70 + 3 * z);
    if (shape == Shape::kSkewed) values.push_back(std::exp(z));
    if (shape == Shape::kSkewedDown) values.push_back(-std::exp(1.5 * z));
    if (shape == Shape::kWithFailures) values.push_back(i % 10 == 0 ? -50 - 10.0 * z : z);
  }
  return values;
}
const Shape kShapes[] = {Shape::kEven, Shape::kSkewed, Shape::kSkewedDown, Shape::kWithFailures};

TEST_CASE("Output transform: gives mean 0 and spread 1", "[scheduler]") {
  for (const Shape shape : kShapes) {
    const std::vector<double> values = Values(shape);
    const OutputTransform transform(values);
    double mean = 0, squares = 0;
    for (const double value : values) mean += transform(value) / 60;
    for (const double value : values) squares += std::pow(transform(value) - mean, 2) / 60;
    CHECK(mean == Approx(0).margin(1e-12));
    CHECK(squares == Approx(1));
  }
}

TEST_CASE("Output transform: rises, and its inverse undoes it, also in the tail that is drawn in",
          "[scheduler]") {
  for (const Shape shape : kShapes) {
    const std::vector<double> values = Values(shape);
    const OutputTransform transform(values);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const double width = *most - *least;
    double before = -1e300;
    for (double at = *least; at < *most; at += width / 200) {
      CAPTURE(static_cast<int>(shape), at);
      CHECK(transform(at) > before);
      before = transform(at);
      CHECK(transform.Inverse(before) == Approx(at).margin(1e-6 * width));
    }
  }
}

TEST_CASE("Output transform: the inverse does not go far beyond the values", "[scheduler]") {
  for (const Shape shape : kShapes) {
    const std::vector<double> values = Values(shape);
    const OutputTransform transform(values);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const double width = *most - *least;
    CHECK(transform.Inverse(-20) < *least);
    CHECK(transform.Inverse(-20) > *least - 8 * width);
    CHECK(transform.Inverse(20) > *most);
    CHECK(transform.Inverse(20) < *most + 8 * width);
    CHECK(transform.Inverse(-1) < transform.Inverse(1));
  }
}

TEST_CASE("Output transform: equal values, and a single one, are laid on 0", "[scheduler]") {
  for (const size_t count : {1, 7}) {
    const OutputTransform transform(std::vector<double>(count, 0.25));
    CHECK(transform(0.25) == 0);
    CHECK(transform.Inverse(0) == 0.25);
    CHECK(std::isfinite(transform(0.5)));
  }
}

TEST_CASE("Output transform: one failed experiment does not set the scale of all", "[scheduler]") {
  for (const double failed : {-1e2, -1e4, -1e9}) {
    CAPTURE(failed);
    std::vector<double> values = Values(Shape::kEven);
    const auto [worst, best] = std::minmax_element(values.begin(), values.end());
    const double low = *worst, high = *best;
    values.push_back(failed);
    const OutputTransform transform(values);
    CHECK(transform(high) - transform(low) > 1);
    CHECK(transform(failed) < transform(low));
  }
}

TEST_CASE("Output transform: a long tail of bad values is shortened, one of good values is not made longer",
          "[scheduler]") {
  for (const Shape shape : {Shape::kSkewed, Shape::kSkewedDown}) {
    const std::vector<double> values = Values(shape);
    const OutputTransform transform(values);
    double raw = 0, bent = 0, mean = 0, squares = 0;
    for (const double value : values) mean += value / 60;
    for (const double value : values) squares += std::pow(value - mean, 2) / 60;
    for (const double value : values) raw += std::pow((value - mean) / std::sqrt(squares), 3) / 60;
    for (const double value : values) bent += std::pow(transform(value), 3) / 60;
    CHECK(std::abs(bent) < std::abs(raw) * (shape == Shape::kSkewed ? 1.01 : 0.5));
  }
}

TEST_CASE("Output transform: the width of a plateau is no scale for the few that are better", "[scheduler]") {
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) values.push_back(-0.693 + 1e-4 * Normal(2, i, 0));
  values.insert(values.end(), {-0.45, -0.5, -0.6});
  const OutputTransform transform(values);
  const double from_plateau = transform(-0.45) - transform(-0.693);
  CHECK(transform(-0.35) - transform(-0.45) > 0.3 * from_plateau);  // as much better again is worth as much
  CHECK(transform(-0.6929) - transform(-0.693) < 0.01 * from_plateau);
}

TEST_CASE("Output transform: with the power 1 differences keep their proportions", "[scheduler]") {
  const OutputTransform straight(Values(Shape::kSkewedDown), TransformPower::kOne);
  const OutputTransform fitted(Values(Shape::kSkewedDown));
  const auto part = [](const OutputTransform& transform) {
    return (transform(-0.1) - transform(-0.2)) / (transform(-0.2) - transform(-0.4));
  };
  CHECK(part(straight) == Approx(0.5));
  CHECK(part(fitted) > 0.52);
  CHECK(straight.Inverse(straight(-0.1)) == Approx(-0.1));
}

TEST_CASE("Output transform: below what is worthless values are drawn nearer, and found again",
          "[scheduler]") {
  std::vector<double> values = {0.8, 0.82, 0.85, 0.88, 0.9, 0.5, 0.55, 0.6, 0.7};
  const OutputTransform plain(values, TransformPower::kOne);
  const OutputTransform transform(values, TransformPower::kOne, 0.8);
  const auto part = [](const OutputTransform& of, double low, double high) {
    return (of(high) - of(low)) / (of(0.9) - of(0.8));
  };
  CHECK(part(transform, 0.85, 0.9) == Approx(0.5));
  CHECK(part(plain, 0.5, 0.6) == Approx(1));
  CHECK(part(transform, 0.5, 0.6) < 0.5);
  CHECK(transform(0.5) < transform(0.6));
  for (const double value : values) CHECK(transform.Inverse(transform(value)) == Approx(value));
  // A threshold that nothing reaches, or that everything does.
  const OutputTransform far(values, TransformPower::kOne, 1e9), near(values, TransformPower::kOne, -1e9);
  CHECK(far(0.5) < far(0.6));
  CHECK(far.Inverse(far(0.7)) == Approx(0.7));
  for (const double value : values) CHECK(near(value) == plain(value));
}

TEST_CASE("Quantile: lies between two values on the line", "[scheduler]") {
  CHECK(Quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(Quantile({4, 1, 3, 2}, 0) == 1);
  CHECK(Quantile({4, 1, 3, 2}, 1) == 4);
  CHECK(Quantile({7}, 0.3) == 7);
}

}  // namespace
}  // namespace winnow
